"""What the bare command does, the command under `byref run` does: exit codes, signals, streams, terminals."""
from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

BINARY = bytes(range(256))


def wait_for(process, text: bytes) -> None:
    """Reads the program's stderr until a text; the child says there that it is ready, through a file of its own."""
    end = time.monotonic() + 60
    while not os.path.exists(text):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("script", [
    "exit 0", "exit 3", "exit 255", "kill -9 $$", "kill -TERM $$", "kill -PIPE $$", "echo out; echo err >&2; exit 7"])
def test_exit_codes_and_streams_are_those_of_a_shell(byref, script):
    wrapped, bare = byref("run", "--", "sh", "-c", script), byref.bare("sh", "-c", script)
    expected = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (expected, bare.stdout, bare.stderr)


def test_what_does_not_start_says_so_as_a_shell_does(byref):
    (byref.folder / "plain").write_text("no program")
    (byref.folder / "lost").write_text("#!/no/such/interpreter\n")
    (byref.folder / "lost").chmod(0o755)
    for command, code, words in (("no-such-command", 127, b"command not found"), ("./missing", 127, b"No such file"),
                                 ("./plain", 126, b"Permission denied"), (".", 126, b""), ("./lost", 127, b"interpreter")):
        done = byref("run", "--", command)
        assert (done.returncode, done.stdout) == (code, b""), command
        assert done.stderr.startswith(b"byref: " + command.encode()) and words in done.stderr and done.stderr.count(b"\n") == 1


def test_a_script_without_an_interpreter_line_runs_by_sh(byref):
    script = byref.folder / "script"
    script.write_text("echo $1-$2\n")
    script.chmod(0o755)
    assert byref("run", "--", "./script", "a", "b c").stdout == b"a-b c\n"


def test_stdin_reaches_the_command_untouched(byref):
    assert byref("run", "--", "cat", data=BINARY).stdout == BINARY


def test_a_child_finds_signals_and_descriptors_as_any_program_does(byref):
    assert byref("run", "--", "ls", "/proc/self/fd").stdout == byref.bare("ls", "/proc/self/fd").stdout

    def masks(done):
        # the first 31; glibc's posix_spawn leaves its two internal ones ignored
        return [int(line.split()[1], 16) & 0x7FFFFFFF for line in done.stdout.splitlines()]
    command = ("grep", "-E", "SigIgn|SigBlk|SigCgt", "/proc/self/status")
    assert masks(byref("run", "--", *command)) == masks(byref.bare(*command)) and masks(byref.bare(*command))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_reaches_all_that_the_command_started_and_what_came_is_shown(byref, number, code):
    inner = byref.folder / "inner"
    script = f"echo before; sh -c 'echo $$ > {inner}.p; mv {inner}.p {inner}; exec sleep 60'; echo after"
    process = byref.start("run", "--", "sh", "-c", script)
    wait_for(process, inner)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"before\n", b"")
    with pytest.raises(ProcessLookupError):
        for _ in range(6000):
            os.kill(int(inner.read_text()), 0)
            time.sleep(0.01)


def test_a_command_may_take_its_time_to_clean_up_and_what_it_says_comes_out(byref):
    """As one that gives a lock back: it is not killed, and once it takes long, what it wrote is out before anybody kills us."""
    ready, go = byref.folder / "ready", byref.folder / "go"
    trap = f"while [ ! -e {go} ]; do sleep 0.05; done; echo lock released; exit 4"
    process = byref.start("run", "--", "sh", "-c", f"trap '{trap}' TERM; seq 20000; touch {ready}; while :; do sleep 0.1; done")
    wait_for(process, ready)
    process.terminate()
    out = []
    reading = threading.Thread(target=lambda: out.append(process.stdout.read()))
    reading.start()
    assert process.stderr.readline().startswith(b"byref: the command goes on 2 s after signal 15")
    go.touch()
    reading.join()
    assert process.wait(timeout=60) == 4 and b"byref: " not in process.stderr.read()  # the shell may tell of what was ended below it
    assert out == [byref.bare("seq", "20000").stdout + b"lock released\n"]
    process.stdout.close()
    process.stderr.close()


def test_a_command_that_ignores_term_goes_on_as_it_would(byref):
    ready, go = byref.folder / "ready", byref.folder / "go"
    script = f"trap '' TERM; echo started; touch {ready}; while [ ! -e {go} ]; do sleep 0.05; done; echo done"
    process = byref.start("run", "--", "sh", "-c", script)
    wait_for(process, ready)
    process.terminate()
    assert os.read(process.stdout.fileno(), 100) == b"started\n", "GRACE is over"
    go.touch()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"done\n")


def test_a_reader_that_does_not_read_holds_up_nobody_whose_command_has_ended(byref):
    ready = byref.folder / "ready"
    script = f"trap 'kill -9 $$' TERM; (sleep 1; touch {ready}) & while :; do seq 1000; done"
    byref.env["BYREF_RUN_LIMIT"] = "1000"
    process = byref.start("run", "--", "sh", "-c", script)
    wait_for(process, ready)
    process.terminate()
    assert process.wait(timeout=60) == 143
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM])
def test_a_signal_that_only_tells_something_reaches_the_command(byref, number):
    ready = byref.folder / "ready"
    script = f"trap 'echo told; exit 9' {number.value}; echo before; touch {ready}; while :; do sleep 0.1; done"
    process = byref.start("run", "--", "sh", "-c", script)
    wait_for(process, ready)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (9, b"before\ntold\n")


LATE = """
import time
from byref.proxy.frontends import child, cli
spawn = child.Child._spawn
def late(self, *given):
    pid, end = spawn(self, *given), time.monotonic() + 1.5
    while time.monotonic() < end:
        time.sleep(0.05)
    return pid
child.Child._spawn = late
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_that_comes_before_we_know_whom_we_started_reaches_the_command(byref, number):
    ready = byref.folder / "ready"
    script = f"trap 'echo told; exit 9' {number.value}; touch {ready}; while :; do sleep 0.1; done"
    with subprocess.Popen([sys.executable, "-c", LATE, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=byref.folder, env=byref.env) as process:
        try:
            wait_for(process, ready)
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (9, b"told\n")


def test_a_command_that_handles_a_signal_keeps_its_own_exit_code(byref):
    ready = byref.folder / "ready"
    process = byref.start("run", "--", "sh", "-c", f"trap 'echo caught; exit 9' TERM; touch {ready}; while :; do sleep 0.1; done")
    wait_for(process, ready)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (9, b"caught\n")


def test_a_background_process_that_keeps_the_pipe_holds_nobody_up_and_lives_on(byref):
    proof, go = byref.folder / "proof", byref.folder / "go"
    script = f"(while [ ! -e {go} ]; do sleep 0.05; done; echo late; echo lives > {proof}) & echo first"
    done = byref("run", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, b"first\n")
    assert b"byref: a process in the background still holds the output" in done.stderr, "what is lost is said"
    go.touch()
    for _ in range(1000):
        if proof.exists():
            break
        time.sleep(0.01)
    assert proof.read_text() == "lives\n"


def test_a_reader_that_goes_away_ends_it_quietly(byref):
    done = byref.bare("sh", "-c", "byref run -- seq 20000 | head -n 1; byref run --raw -- seq 20000 | head -n 1")
    assert len(done.stdout.splitlines()) == 2 and done.stderr == b""


@pytest.mark.parametrize("limit", ["1000", "1GB"])
@pytest.mark.parametrize("size", [3, 20000])
def test_where_one_stream_cannot_be_written_the_other_and_the_exit_code_stand(byref, limit, size):
    """As on a full disk: held back and let out raw, or as a view."""
    done = byref.bare("sh", "-c", f"BYREF_RUN_LIMIT={limit} byref run -- sh -c 'seq {size}; seq 40 >&2; exit 5' > /dev/full")
    assert done.returncode == 5 and set(byref.bare("seq", "40").stdout.split()) <= set(done.stderr.split(b"\n"))
    assert b"byref: the output could not be written: No space left" in done.stderr and b"Traceback" not in done.stderr


def in_terminal(byref, words, feed, until, *, shell=False):
    """Runs the program in the foreground of a terminal of its own; feeds it keys once a text has come."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(byref.folder)
        os.execvpe(words[0], words, byref.env)
    seen, fed, end = b"", False, time.monotonic() + 40
    while time.monotonic() < end:
        if not fed and until(seen):
            os.write(terminal, feed)
            fed = True
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data
    else:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return code, seen.replace(b"\r\n", b"\n")


def test_control_c_on_a_terminal_is_the_commands_to_handle(byref):
    """It comes once, from the terminal, and a command that goes on after it is not killed for that."""
    ready = byref.folder / "ready"
    script = f"import signal, time; n = []; signal.signal(2, lambda *_: n.append(1)); open({str(ready)!r}, 'w').close()\n" \
             "while not n: time.sleep(0.05)\n" \
             "time.sleep(2.5); print('interrupts:', len(n)); raise SystemExit(5)"
    code, seen = in_terminal(byref, ["byref", "run", "--", sys.executable, "-c", script], b"\x03", lambda seen: ready.exists())
    assert code == 5 and b"interrupts: 1\n" in seen


def test_a_command_reads_from_the_terminal(byref):
    ready = byref.folder / "ready"
    command = ["byref", "run", "--", "sh", "-c", f"touch {ready}; read line; echo got $line"]
    code, seen = in_terminal(byref, command, b"hello\n", lambda seen: ready.exists())
    assert code == 0 and b"got hello\n" in seen


def test_a_command_with_other_input_can_still_ask_the_terminal(byref):
    """As ssh and sudo ask for a password."""
    ready = byref.folder / "ready"
    ask = f"byref run -- sh -c 'touch {ready}; read line </dev/tty; echo got $line' </dev/null; echo then $?"
    code, seen = in_terminal(byref, ["sh", "-c", ask], b"hello\n", lambda seen: ready.exists())
    assert code == 0 and b"got hello\n" in seen and b"then 0\n" in seen
