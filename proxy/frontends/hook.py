"""The program that a harness starts for each hook: hands the event on stdin to the daemon and its answer to stdout.

usage: python -I -S hook.py HARNESS [--wait SECONDS] [--start COMMAND ARGUMENT ...]

It may cost no more than Python's own start, so it imports nothing of byref, of the standard library only modules written in C,
and no `os`. Whatever goes wrong (no daemon, another version, no answer within WAIT) it says nothing and exits with 0: the
tool's raw output stands. One line goes to `byref.log`, and COMMAND starts the daemon in the background where none listens.
--wait is the time for an answer, WAIT or what BYREF_HOOK_WAIT says if not given; with --wait of more than WAIT it also waits for the
daemon that it started.
`byref.proxy.frontends.remote` speaks to the daemon by the same functions. Folders and sockets are named in bytes here.
"""
import posix
import sys
import time

VERSION = "0.1.0"  # a test holds it equal to byref.__version__
WAIT = 0.15  # seconds in all, from the whole event on, where BYREF_HOOK_WAIT says nothing
AMPLE = 256 << 10  # bytes of an event, above which each RATE of it gives a second more
RATE = 10 << 20
STARTING = 1.0  # seconds for which a daemon that was just started is not started again
LOG_LIMIT = 1 << 20  # bytes, as in byref.proxy.faults
SETTINGS = (b"BYREF_SCOPE", b"BYREF_PROFILE", b"BYREF_MAX_BYTES", b"BYREF_MAX_AGE")  # as `config.given`
_SUN_PATH = 100  # bytes; the system's limit for a socket's path is 104 on BSD and macOS, 108 on Linux


class Absent(Exception):
    """Nobody listens, or who did has ended because it is of another version."""


def switched_off(environ: dict[bytes, bytes]) -> bool:
    """As `config.switched_off`."""
    return environ.get(b"BYREF", b"").lower() in (b"off", b"0", b"false", b"no")


def home_folder(environ: dict[bytes, bytes]) -> bytes:
    """As `config.home_folder`."""
    home = environ.get(b"BYREF_HOME", b"")
    if home:
        if home[:1] != b"/" or home[-1:] == b"/" or b"//" in home or b"/." in home:
            import os
            home = os.path.abspath(home)
        return home
    base = environ.get(b"XDG_DATA_HOME", b"")
    if base[:1] == b"/" and sys.platform != "darwin":
        return base + b"/byref"
    user = environ.get(b"HOME", b"")
    if not user:
        import os
        user = os.path.expanduser(b"~")
    return user + (b"/Library/Application Support/byref" if sys.platform == "darwin" else b"/.local/share/byref")


def socket_path(home: bytes) -> bytes:
    """The daemon's socket: in the home, or, where that path is too long, under a hashed name in the user's folder in /tmp.

    XDG_RUNTIME_DIR would not do: a job of cron has none, and would find another daemon.
    """
    path = home + b"/daemon.sock"
    if len(path) <= _SUN_PATH:
        return path
    from _blake2 import blake2b
    return b"/tmp/byref-%d/%s.sock" % (posix.getuid(), blake2b(home, digest_size=8).hexdigest().encode())


def settings_header(settings: dict[str, str]) -> str:
    """The header that tells the daemon what the environment of one call sets. ASCII JSON."""
    if not settings:
        return ""
    from _json import encode_basestring_ascii as quoted
    return "Byref-Settings: {" + ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in settings.items()) + "}\r\n"


def connect(path: bytes, until: float):  # type: ignore[no-untyped-def]  # a _socket.socket, which has no name without importing it
    """A connection to the daemon, which is ours. Raises `Absent` where nobody listens, and OSError."""
    import _socket
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(_left(until))
        sock.connect(path)
        if hasattr(_socket, "SO_PEERCRED"):
            peer = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # struct ucred: pid, uid, gid
            owner = int.from_bytes(peer[4:8], sys.byteorder)
        else:
            owner = posix.stat(path[:path.rindex(b"/")]).st_uid
        if owner != posix.getuid():
            raise PermissionError("the socket belongs to another user")
    except (FileNotFoundError, ConnectionRefusedError) as fault:
        sock.close()
        raise Absent(fault.strerror) from None
    except BaseException:
        sock.close()
        raise
    return sock


def call(path: bytes, request: str, body: bytes, until: float, headers: str = "") -> tuple[int, bytes]:
    """One HTTP request over the socket: status and body of the answer.

    request: such as `POST /hooks/claude-code`. until: on the clock of `time.monotonic`. Raises `Absent` where nobody
    listens, TimeoutError, and OSError or ValueError for an answer that breaks off.
    """
    sock = connect(path, until)
    try:
        try:
            sock.sendall(f"{request} HTTP/1.1\r\nHost: byref\r\nByref-Version: {VERSION}\r\nConnection: close\r\n"
                         f"{headers}Content-Length: {len(body)}\r\n\r\n".encode())
            if body:
                sock.settimeout(_left(until))
                sock.sendall(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have answered before it read all
        return _answer(sock, until)
    finally:
        sock.close()


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _answer(sock, until: float) -> tuple[int, bytes]:  # type: ignore[no-untyped-def]  # a _socket.socket
    def more() -> bytes:
        sock.settimeout(_left(until))
        piece: bytes = sock.recv(1 << 20)
        if not piece:
            raise ValueError("the answer broke off")
        return piece

    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += more()
    size = 0
    for line in data[:end].split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            size = int(line[15:])
    while len(data) < end + 4 + size:
        data += more()
    return int(data[9:12]), bytes(data[end + 4:end + 4 + size])


def log(home: bytes, text: str) -> None:
    """One line to the log of faults, written as `byref.proxy.faults` does. Never raises."""
    path = home + b"/byref.log"
    try:
        make_folder(home)
        fd = posix.open(path, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        try:
            if posix.fstat(fd).st_size > LOG_LIMIT:
                posix.replace(path, path + b".1")
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            posix.write(fd, f"{stamp} {posix.getpid()} {text}".replace("\n", " ")[:500].encode("utf-8", "replace") + b"\n")
        finally:
            posix.close(fd)
    except OSError:
        pass


def make_folder(path: bytes) -> None:
    """A folder of mode 0700, and those above it. Raises OSError."""
    try:
        posix.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make_folder(path[:path.rindex(b"/")])
        posix.mkdir(path, 0o700)


def start(home: bytes, command: list[str]) -> None:
    """Starts the daemon as a session of its own, unless one holds the lock or was started within STARTING. Raises OSError."""
    import fcntl
    make_folder(home)
    path = home + b"/daemon.lock"
    try:
        fd = posix.open(path, posix.O_RDWR | posix.O_CLOEXEC)
        fresh = time.time() - posix.fstat(fd).st_mtime < STARTING
    except FileNotFoundError:
        fd, fresh = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600), False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if fresh:
            return
        posix.utime(fd)
    except BlockingIOError:
        return
    finally:
        posix.close(fd)
    environ = {name: value for name, value in posix.environ.items() if name != b"BYREF_INSIDE"}  # no part of the command around us
    posix.posix_spawn(command[0], command, environ, setsid=True, file_actions=[
        (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 1, "/dev/null", posix.O_WRONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 2, home + b"/byref.log", posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT, 0o600)])


def ask(home: bytes, harness: str, event: bytes, wait: float, command: list[str], patient: bool) -> bytes:
    """What the daemon says of an event within `wait` seconds, more for a large one.

    Starts it where it is absent, and waits for it if patient. Raises what `call` and `start` raise.
    """
    environ = posix.environ
    until = time.monotonic() + wait + max(0, len(event) - AMPLE) / RATE
    headers = settings_header({name.decode(): environ[name].decode("utf-8", "surrogateescape") for name in SETTINGS if environ.get(name)})
    path = socket_path(home)
    while True:
        try:
            status, body = call(path, f"POST /hooks/{harness}", event, until, headers)
            if status in (200, 204):
                return body
            if status != 409:
                raise ValueError(f"the daemon answered {status}")
            raise Absent(f"it is of another version or of other settings than this {VERSION}, and ends")
        except Absent:
            if command:
                start(home, command)
            if not command or not patient or time.monotonic() + WAIT >= until:
                raise
        time.sleep(0.02)


def patience(environ: dict[bytes, bytes]) -> float:
    """Seconds for an answer, as BYREF_HOOK_WAIT says. Raises ValueError."""
    said = environ.get(b"BYREF_HOOK_WAIT")
    if not said:
        return WAIT
    try:
        wait = float(said)
    except ValueError:
        wait = -1.0
    if not 0 <= wait <= 60:
        raise ValueError("BYREF_HOOK_WAIT is a number of seconds from 0 to 60, such as 0.5")
    return wait


def main(words: list[str]) -> None:
    """One event. Never raises, so that the raw output stands."""
    if switched_off(posix.environ):
        return
    home = harness = None
    try:
        home = home_folder(posix.environ)
        at = words.index("--start") if "--start" in words else len(words)
        harness, options, command = words[0], words[1:at], words[at + 1:]
        wait = patience(posix.environ)
        patient = "--wait" in options
        if patient:
            wait = float(options[options.index("--wait") + 1])
            patient = wait > WAIT
        pieces = []
        while piece := posix.read(0, 1 << 20):
            pieces.append(piece)
        answer = memoryview(ask(home, harness, b"".join(pieces), wait, command, patient))
        while answer:
            answer = answer[posix.write(1, answer):]
    except BaseException as fault:  # also an interrupt: nothing of ours may reach the harness
        if home is not None:
            log(home, f"hook {harness}: {type(fault).__name__}: {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
    posix._exit(0)  # nothing is buffered, and tearing Python down takes time
