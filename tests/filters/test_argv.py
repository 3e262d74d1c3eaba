"""What a call runs, from its command line: the commands whose output is seen, without what wraps them."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.argv import begins, command, commands, program, split
from byref.proxy.contracts import Call, Json


@pytest.mark.parametrize(("arguments", "line"), [
    ({"command": "ls -l"}, "ls -l"), ({"cmd": ["ls", "-l"]}, "ls -l"), ({"script": "x"}, "x"), ("ls", "ls"), ({"path": "a"}, ""),
    (None, ""), ([1], ""), (3, ""),
    ({"command": None, "cmd": "y"}, "y"), ({"command": ["a", 1, None]}, "a 1 None"),
    ({"command": ["bash", "-lc", "cat a | head -5"]}, "cat a | head -5"), ({"command": ["grep", "a b", "c"]}, "grep 'a b' c"),
])
def test_the_command_line(arguments: Json, line: str) -> None:
    assert command(Call("Bash", arguments)) == line


@pytest.mark.parametrize(("line", "seen"), [
    ("pytest -q", ["pytest -q"]),
    ("cd /a && make all; echo done", ["cd /a", "make all", "echo done"]),
    ("make || true", ["make", "true"]),
    ("a &\nb", ["a", "b"]),
    # of a pipe the first, unless it only feeds the next
    ("npm test 2>&1 | tee log | tail -5", ["npm test"]), ("a |& grep x && b", ["a", "b"]),
    ("yes | apt-get install x | cat", ["apt-get install x"]),
    ("echo 'select 1' | psql db", ["psql db"]), ("echo a; echo b | cat | wc", ["echo a", "cat"]),
    # redirections, assignments, comments, keywords, subshells
    ("make >log 2>&1 </dev/null", ["make"]), ("make &> log -j2", ["make -j2"]), ("CI=1 A=b npm test", ["npm test"]),
    ("ls # all; of it", ["ls"]),
    ("if make; then (cd x && go test ./...); fi", ["make", "cd x", "go test ./..."]), ("! time make", ["make"]), ("{ ls; }", ["ls"]),
    ("git \\\n  log", ["git log"]),
    # quotes
    ("git commit -m 'a; b | c' && ls", ["git commit -m a; b | c", "ls"]), ('grep "a \\"b\\" $(date; id)" x', ['grep a "b" $(date; id) x']),
    ("V=$(git describe | cut -c1) make", ["make"]), ("cat `ls; id`", ["cat `ls; id`"]), ("echo a\\;b", ["echo a;b"]), ("it's", ["it s"]),
    # here-documents are no commands
    ("cat > a.py <<'EOF'\nimport os; pytest\nEOF\npython a.py", ["cat", "python a.py"]),
    ("psql db <<-SQL\n\tgit log;\n\tSQL\nls", ["psql db", "ls"]),
    ("cat <<A\nmake", ["cat"]), ("wc <<< 'a b'; ls", ["wc", "ls"]),
    # wrappers
    ("sudo -u root -E apt-get install x", ["apt-get install x"]), ("env -i A=1 make", ["make"]),
    ("timeout -k 5 30s cargo test", ["cargo test"]),
    ("nice -n 10 nohup make", ["make"]), ("uv run --with x pytest -q", ["pytest -q"]), ("uv pip install x", ["uv pip install x"]),
    ("npx --yes jest", ["jest"]), ("poetry run python -m pytest", ["python -m pytest"]), ("xvfb-run -a npm test", ["npm test"]),
    ("docker exec -it -w /app web pytest -q", ["pytest -q"]), ("docker compose -f x.yml exec web npm test", ["npm test"]),
    ("kubectl -n a exec pod -c b -- ls -l", ["ls -l"]), ("docker ps", ["docker ps"]), ("sudo -i", ["sudo -i"]),
    ("uv run -- make", ["make"]),
    ("bash -lc 'cd x && pytest -q | tail'", ["cd x", "pytest -q"]), ("sudo sh -ec \"make; bash -c 'ls'\"", ["make", "ls"]),
    ("bash script.sh -c", ["bash script.sh -c"]), ("su - pg -c 'psql -l'", ["psql -l"]), ("ssh -p 22 host 'ls -l'", ["ls -l"]),
    ("", []), ("||", []), ("# none", []), ("A=1", []),
])
def test_the_commands_whose_output_is_seen(line: str, seen: list[str]) -> None:
    assert [" ".join(words) for words in commands(Call("Bash", {"command": line}))] == seen


@pytest.mark.parametrize(("arguments", "seen"), [
    ({"command": ["bash", "-lc", "pytest -q && ls"]}, [("pytest", "-q"), ("ls",)]), ({"argv": ["git", "log", "--format=%h %s"]}, [
        ("git", "log", "--format=%h %s")]),
    ({"input": "find me the docs"}, []), ({"code": "ls"}, []), ({"path": "x"}, []), (None, []), (["ls"], []), ("ls -l", [("ls", "-l")]),
    ({"command": ""}, []), ({"command": {"a": 1}}, []),
])
def test_only_a_command_line_holds_commands(arguments: Json, seen: list[tuple[str, ...]]) -> None:
    assert list(commands(Call("tool", arguments))) == seen


@pytest.mark.parametrize(("wanted", "line", "taken"), [
    ("git log", "git log -3", 2), ("git log", "git -C /x --no-pager log", 5), ("git log", "git -C log status", 0), ("git", "gitk", 0),
    ("git log", "/usr/bin/git log", 2), ("git log", "C:\\git\\GIT.EXE log", 2), ("git log", "git log.txt", 0), ("git log", "git", 0),
    ("docker ps", "docker --context x ps -a", 4), ("docker ps", "docker --context=x ps", 3), ("cargo build", "cargo +nightly build", 3),
    ("python -m pytest", "python3.12 -W error -m pytest", 5), ("git log", "git -p log", 3), ("kubectl get", "kubectl describe get", 0),
    ("gradlew test", "./gradlew test", 2), ("jest", "node_modules/.bin/jest", 1),
])
def test_a_sequence_of_words_with_options_between(wanted: str, line: str, taken: int) -> None:
    words = tuple(line.split())
    assert begins(tuple(wanted.split()), words) == (taken and len(words[:taken]))


@pytest.mark.parametrize(("line", "name"), [
    ("pytest -q", "pytest"), ("cd /a && make all", "make"), ("python -m pytest -q", "pytest"),
    ("python3.11 -m http.server", "http.server"), ("/usr/bin/git log", "git"),
    ("A=1 B=2 npm test", "npm"), ("sudo apt-get install x", "apt-get"), ("timeout 5 cargo test", "cargo"), ("cat a | grep x", "cat"),
    ("make; echo done", "echo"),
    ("uv run pytest", "pytest"), ("python script.py", "python"), ("", "Bash"), ("$(evil)", "Bash"), ("«L1» x", "Bash"),
    ("x" * 200, "Bash"), ("||", "Bash"),
    ("export A=1", "Bash"), ("source env.sh && pytest", "pytest"),
    ("python -c 'import a; b'", "python"), ("cat <<E > x\nrm; dd\nE\nmake", "make"),
])
def test_the_program_without_its_folder_and_wrappers(line: str, name: str) -> None:
    assert program(Call("Bash", {"command": line})) == name


@pytest.mark.parametrize(("tool", "name"), [("mcp__git__log", "mcp__git__log"), ("a b", "output"), ("t\n«L1»", "output"), ("", "output"),
    ("x" * 99, "output")])
def test_without_a_command_the_tool_gives_the_name_if_it_can_be_one(tool: str, name: str) -> None:
    assert program(Call(tool, {"path": "x"})) == name


@given(st.text(alphabet="ab |&;<>()'\"\\`$\n#-=EOF!{}", max_size=60))
def test_any_line_is_cut_into_words_that_are_not_empty_lists(line: str) -> None:
    assert all(split(line)) and split(line) == split.__wrapped__(line)


@pytest.mark.parametrize("line", ["'" * 20_001, "$(" * 9000, "<<a\n" * 5000, "a" * 20_000, '"\\' * 9000, "sudo " * 4000, "`a" * 9000])
def test_a_line_made_to_take_for_ever_does_not(line: str) -> None:
    assert isinstance(commands(Call("Bash", {"command": line})), tuple)
