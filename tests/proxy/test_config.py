"""Settings: where they come from, which one wins, and what a bad one says."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from byref.proxy import config
from byref.proxy.errors import ConfigError


def test_a_plain_start_uses_the_users_data_folder_and_the_declared_limits(tmp_path: Path) -> None:
    found = config.load(environ={"HOME": str(tmp_path), "XDG_DATA_HOME": ""})
    if os.uname().sysname == "Linux":
        assert found.url == f"file:{tmp_path}/.local/share/byref"
    assert (found.profile, found.max_bytes, found.max_age, found.scope, found.off) == ("auto", 10 << 30, 30 * 86400, None, False)
    assert found.folder == found.home == found.url[len("file:"):]


def test_xdg_data_home_counts_only_when_absolute() -> None:
    assert config.home_folder({"HOME": "/h", "XDG_DATA_HOME": "/x"}) == "/x/byref"
    assert config.home_folder({"HOME": "/h", "XDG_DATA_HOME": "x"}) == "/h/.local/share/byref"


def test_an_argument_beats_a_variable_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    env = {"BYREF_HOME": str(tmp_path)}
    (tmp_path / "config.toml").write_text('profile = "lean"\nmax_bytes = "2GiB"\nmax_age = 60\n')
    assert config.load(environ=env).profile == "lean"
    assert config.load(environ=env).max_bytes == 2 << 30
    env |= {"BYREF_PROFILE": "safe", "BYREF_MAX_BYTES": "500MB", "BYREF_MAX_AGE": "12h", "BYREF_SCOPE": "mine"}
    found = config.load(environ=env)
    assert (found.profile, found.max_bytes, found.max_age, found.scope) == ("safe", 500 * 10**6, 12 * 3600, "mine")
    assert config.load(environ=env, profile="auto", max_bytes=7).max_bytes == 7


def test_the_models_of_layers_are_named_by_a_variable_or_in_the_file(tmp_path: Path) -> None:
    env = {"BYREF_HOME": str(tmp_path), "HOME": "/home/me"}
    assert (config.late_model(env), config.dense_model(env)) == ("", "")
    (tmp_path / "config.toml").write_text('late_model = "~/models/late:bf16"\ndense_model = "minilm-int8"\n')
    assert (config.late_model(env), config.dense_model(env)) == ("/home/me/models/late:bf16", "minilm-int8")
    env |= {"BYREF_LATE_MODEL": "lightonai/LateOn", "BYREF_DENSE_MODEL": "./here"}
    assert (config.late_model(env), config.dense_model(env)) == ("lightonai/LateOn", "./here")
    (tmp_path / "config.toml").write_text("late_model = 7\n")
    with pytest.raises(ConfigError, match=r"late_model in .*config\.toml: '7' is no model"):
        config.late_model({"BYREF_HOME": str(tmp_path)})


@pytest.mark.parametrize(("env", "says"), [
    ({"BYREF_PROFILE": "tiny"}, "BYREF_PROFILE.*safe, auto, lean"),
    ({"BYREF_MAX_BYTES": "lots"}, "BYREF_MAX_BYTES.*10GiB"),
    ({"BYREF_MAX_BYTES": "0"}, "BYREF_MAX_BYTES"),
    ({"BYREF_MAX_AGE": "-3d"}, "BYREF_MAX_AGE.*30d"),
    ({"BYREF_MAX_AGE": "nan"}, "BYREF_MAX_AGE"),
])
def test_a_setting_that_cannot_be_used_says_which_and_what_to_give(env: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        config.load(environ={"BYREF_HOME": str(tmp_path), **env})


def test_a_file_that_cannot_be_used_says_where_it_lies(tmp_path: Path) -> None:
    for text in ("profile = ", 'colour = "red"\n'):
        (tmp_path / "config.toml").write_text(text)
        with pytest.raises(ConfigError, match=r"config\.toml"):
            config.load(environ={"BYREF_HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match="memory:"):
        config.load(url="/plain/path", environ={"BYREF_HOME": str(tmp_path / "other")})


def test_the_scope_is_the_nearest_folder_that_holds_git_else_the_working_folder(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    assert config.scope_here(str(deep), {}) == f"{os.getuid()}:{deep.resolve()}"
    (tmp_path / "project" / ".git").write_text("gitdir: elsewhere")  # a worktree has a file
    (tmp_path / "link").symlink_to(deep)
    for folder in (deep, tmp_path / "project", tmp_path / "link"):
        assert config.scope_here(str(folder), {}) == f"{os.getuid()}:{(tmp_path / 'project').resolve()}"
    assert config.scope_here(str(deep), {"BYREF_SCOPE": "team"}) == "team"


def test_a_working_folder_that_is_gone_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="BYREF_SCOPE"):
        config.scope_here(environ={})


def test_the_log_lies_beside_a_file_store_and_nowhere_for_memory() -> None:
    assert config.store_folder("file:/a/b") == config.store_folder("file:///a/b") == "/a/b"
    assert config.store_folder("memory:") is None


def test_off_is_read_without_anything_else() -> None:
    assert config.switched_off({"BYREF": "off"}) and config.switched_off({"BYREF": "OFF"}) and not config.switched_off({"BYREF": "on"})


def test_what_hooks_leave_alone_is_a_table_of_the_file(tmp_path: Path) -> None:
    env = {"BYREF_HOME": str(tmp_path), "HOME": "/home/dev"}
    assert config.exceptions(environ=env) == config.Off()
    (tmp_path / "config.toml").write_text('profile = "lean"\n[off]\ntools = ["WebFetch"]\nprojects = ["~/secret", "/srv"]\n')
    assert config.exceptions(environ=env) == config.Off(("WebFetch",), (), ("/home/dev/secret", "/srv"))
    assert config.load(environ=env).profile == "lean", "and no setting of a gateway"
    for wrong in ("off = 1", "[off]\ntools = 'Bash'", "[off]\nhosts = []"):
        (tmp_path / "config.toml").write_text(wrong + "\n")
        with pytest.raises(ConfigError, match="off"):
            config.exceptions(environ=env)


def test_a_harness_keeps_its_settings_where_its_variable_says() -> None:
    assert config.harness_folder("CLAUDE_CONFIG_DIR", ".claude", {"HOME": "/home/dev"}) == "/home/dev/.claude"
    assert config.harness_folder("CLAUDE_CONFIG_DIR", ".claude", {"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": "/srv/c"}) == "/srv/c"


def test_rewriting_is_off_until_an_endpoint_and_a_model_are_named(tmp_path: Path) -> None:
    env = {"BYREF_HOME": str(tmp_path)}
    assert config.rewriting(env) is None
    (tmp_path / "config.toml").write_text('[rewrite]\nurl = "http://localhost:1/v1"\nmodel = "m"\nkey = "k"\n')
    assert config.rewriting(env) == ("http://localhost:1/v1", "m", "k")
    assert config.rewriting({**env, "BYREF_REWRITE_URL": "https://h/v1", "BYREF_REWRITE_KEY": "other"}) == ("https://h/v1", "m", "other")
    with pytest.raises(ConfigError, match="give an address"):
        config.rewriting({**env, "BYREF_REWRITE_URL": "localhost/v1"})
    (tmp_path / "config.toml").write_text('[rewrite]\nurl = "http://localhost:1/v1"\n')
    with pytest.raises(ConfigError, match="name of a model"):
        config.rewriting(env)
    (tmp_path / "config.toml").write_text("[rewrite]\nurl = 3\n")
    with pytest.raises(ConfigError, match="url, model, key"):
        config.rewriting(env)


def test_files_of_the_users_own_lie_in_the_home_and_hold_what_they_like(tmp_path: Path) -> None:
    path = config.file_of("synonyms.toml", {"BYREF_HOME": str(tmp_path)})
    assert path == str(tmp_path / "synonyms.toml") and config.table(path) == {}
    Path(path).write_text("[words]\ndb = ['database']\n")
    assert config.table(path) == {"words": {"db": ["database"]}}
    Path(path).write_text("[words")
    with pytest.raises(ConfigError, match="mend it"):
        config.table(path)


def test_the_dense_model_is_named_by_its_variable() -> None:
    assert config.dense_model({"BYREF_DENSE_MODEL": "some/model"}) == "some/model" and config.dense_model({}) == ""


def test_models_lie_where_their_variable_says_else_in_the_cache_folder(tmp_path: Path) -> None:
    assert config.models_folder({"BYREF_MODELS": str(tmp_path)}) == str(tmp_path)
    assert config.models_folder({}).endswith("models")


def test_a_time_is_seconds_or_has_a_unit():
    assert [config.age(value, "x") for value in (90, "90", "12h", "30d", "1.5m")] == [90, 90, 43200, 2592000, 90]
    for value in ("soon", "", -1, 0, True, None):
        with pytest.raises(ConfigError, match="--max-age"):
            config.age(value, "--max-age")


def test_the_late_model_is_an_argument_a_variable_or_in_the_file(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.load().late_model == ""
    Path(config.home_folder()).mkdir(parents=True, exist_ok=True)
    (Path(config.home_folder()) / "config.toml").write_text('late_model = "of-the-file"\n')
    assert config.load().late_model == "of-the-file"
    monkeypatch.setenv("BYREF_LATE_MODEL", "of-the-variable")
    assert config.load().late_model == "of-the-variable" and config.load(late_model="given").late_model == "given"


def test_the_file_of_events_has_a_path_a_size_and_a_number_of_full_ones(tmp_path: Path) -> None:
    env = {"BYREF_HOME": str(tmp_path), "HOME": "/home/me"}
    assert config.load(environ=env).log is None
    (tmp_path / "config.toml").write_text('[log]\npath = "~/byref.jsonl"\nmax_bytes = "1MB"\nfiles = 0\n')
    assert config.load(environ=env).log == ("/home/me/byref.jsonl", 10**6, 0)
    assert config.load(environ=env | {"BYREF_LOG": "OFF"}).log is None
    assert config.load(environ=env | {"BYREF_LOG": "/tmp/e"}).log == ("/tmp/e", 10**6, 0)
    (tmp_path / "config.toml").write_text('[log]\npath = "e.jsonl"\n')
    assert config.load(environ=env).log == (f"{tmp_path}/e.jsonl", config.LOG_BYTES, config.LOG_FILES)
    for wrong in ('log = "e"', "[log]\npath = 5", '[log]\nplace = "e"', '[log]\npath = "e"\nfiles = -1', '[log]\nmax_bytes = "no"'):
        (tmp_path / "config.toml").write_text(wrong + "\n")
        with pytest.raises(ConfigError, match="log"):
            config.load(environ=env)
