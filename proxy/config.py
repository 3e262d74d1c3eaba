"""The one place that reads the environment and configuration files; what it finds is passed down.

Order of precedence: an argument, a variable, `config.toml` under the home, the default.

| variable         | means                                                                  |
|------------------|------------------------------------------------------------------------|
| BYREF_HOME       | where the store, the log and config.toml lie                           |
| BYREF_SCOPE      | the isolation boundary, instead of uid and project folder              |
| BYREF=off        | `byref run` is the bare command                                        |
| BYREF_PROFILE    | safe, auto or lean                                                     |
| BYREF_MAX_BYTES  | quota of the store: bytes, or with a suffix: 500MB, 10GiB              |
| BYREF_MAX_AGE    | how long outputs are kept: seconds, or with a suffix: 12h, 30d         |
| BYREF_RUN_LIMIT  | bytes past which `byref run` passes an output on unstored: 1GiB         |
| BYREF_HOOK_WAIT  | seconds that a hook waits for a view before the raw output stands: 0.15 |
| BYREF_MODELS     | where the models of layers lie, a folder each                          |
| BYREF_LATE_MODEL | of the late layer: a folder, a name under BYREF_MODELS or a repository, maybe with `:bf16`; minilm-int8 |
| BYREF_DENSE_MODEL | of the dense layer, which is off without: a folder, a name under BYREF_MODELS, a repository |
| BYREF_REWRITE_URL | of an endpoint of chat completions that rewrites queries, up to `/v1`; with |
|                  | BYREF_REWRITE_MODEL and BYREF_REWRITE_KEY. `[rewrite]` of config.toml, too  |
| BYREF_LOG        | a file to which the ledger's events are written as JSON lines; `off` for none, whatever `[log]` of config.toml says |
| BYREF_UPSTREAMS  | URLs that stand in for those of APIs: openalex=http://127.0.0.1:8000, with commas between |
| BYREF_TOKEN      | what clients of `byref wrap --http` have to bring; see wrap/door.py    |
| BYREF_OTEL=on    | `byref serve` and `byref wrap` send spans and metrics by OTLP: docs/measuring.md |
| BYREF_INSIDE     | set by `byref run` for what it starts; see frontends/nested.py         |
"""
from __future__ import annotations

import os
import sys

from byref.proxy.contracts import Json, dataclass
from byref.proxy.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILES = ("safe", "auto", "lean")
MAX_BYTES = 10 << 30
MAX_AGE = 30 * 86400.0  # seconds
RUN_LIMIT = 1 << 30
INSIDE = "BYREF_INSIDE"
_OFF_WORDS = ("off", "0", "false", "no")
_SIZES = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "kib": 1 << 10, "m": 10**6, "mb": 10**6, "mib": 1 << 20,
          "g": 10**9, "gb": 10**9, "gib": 1 << 30, "t": 10**12, "tb": 10**12, "tib": 1 << 40}
_AGES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_OF_A_CALL = ("BYREF_SCOPE", "BYREF_PROFILE", "BYREF_MAX_BYTES", "BYREF_MAX_AGE")
_FILE_KEYS = ("url", "scope", "profile", "max_bytes", "max_age", "late_model", "dense_model", "off", "rewrite", "log")
_LOG_KEYS = ("path", "max_bytes", "files")
LOG_BYTES, LOG_FILES = 10_000_000, 3
_REWRITE_KEYS = ("url", "model", "key")
_OFF_KEYS = ("tools", "commands", "projects")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a gateway is opened with. max_bytes in bytes, max_age in seconds; scope is None where nothing fixes it.

    folder: where the log of faults lies, beside the store; None for a store in memory. user: the user's own folder, for signatures.
    late_model: of the late layer; empty for the one that `make models` brings. log: the file of the ledger's events, its largest size in
    bytes, and how many full ones are kept; None for none.
    """

    home: str
    folder: str | None
    user: str
    url: str
    profile: str
    max_bytes: int
    max_age: float
    scope: str | None
    off: bool
    late_model: str = ""
    log: tuple[str, int, int] | None = None


def load(*, url: str | None = None, profile: str | None = None, scope: str | None = None, max_bytes: int | str | None = None,
         max_age: float | str | None = None, late_model: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. Raises `ConfigError` for one that cannot be used."""
    env = os.environ if environ is None else environ
    home = home_folder(env)
    file = _read(os.path.join(home, "config.toml"))

    def pick(given: object, key: str, default: object) -> tuple[object, str]:
        variable = "BYREF_" + key.upper()
        if given is not None:
            return given, key
        if key != "url" and env.get(variable):
            return env[variable], variable
        return (file[key], f"{key} in {home}/config.toml") if key in file else (default, key)

    name, where = pick(profile, "profile", "auto")
    if name not in PROFILES:
        raise ConfigError(f"{where}: no profile {str(name)[:40]!r}; take one of {', '.join(PROFILES)}")
    place, where = pick(url, "url", "file:" + home)
    if not isinstance(place, str) or ":" not in place:
        raise ConfigError(f"{where}: {str(place)[:80]!r} is no URL of a store; say file:/some/folder or memory:")
    boundary, where = pick(scope, "scope", None)
    if boundary is not None and not (isinstance(boundary, str) and boundary):
        raise ConfigError(f"{where}: a scope is a text that is not empty")
    size, age = pick(max_bytes, "max_bytes", MAX_BYTES), pick(max_age, "max_age", MAX_AGE)
    late, where = pick(late_model, "late_model", "")
    if not isinstance(late, str):
        raise ConfigError(f"{where}: a model is a folder, a name, or owner/name on the hub, not {str(late)[:40]!r}")
    return Settings(
        home, store_folder(place), env.get("HOME", ""), place, str(name), int(_amount(*size, _SIZES, "bytes, such as 500MB or 10GiB")),
        _amount(*age, _AGES, "seconds, or a time such as 12h or 30d"), boundary,
        switched_off(env), late, _log(file.get("log", {}), env, home))


def _log(table: Json, env: Mapping[str, str], home: str) -> tuple[str, int, int] | None:
    if not isinstance(table, dict) or not table.keys() <= set(_LOG_KEYS) or not isinstance(table.get("path", ""), str):
        raise ConfigError(f"[log] in {home}/config.toml holds {', '.join(_LOG_KEYS)}: a file, a size such as 10MB, a number of files")
    files = table.get("files", LOG_FILES)
    if not isinstance(files, int) or isinstance(files, bool) or not 0 <= files <= 1000:
        raise ConfigError(f"[log] in {home}/config.toml: `files` is how many full files are kept, 0 to 1000, not {str(files)[:40]!r}")
    size = int(_amount(table.get("max_bytes", LOG_BYTES), f"[log] max_bytes in {home}/config.toml", _SIZES, "bytes, such as 10MB"))
    path = env.get("BYREF_LOG") or str(table.get("path", ""))
    if not path or path.lower() in _OFF_WORDS:
        return None
    path = user_folder(env) + path[1:] if path.startswith("~/") else path
    return os.path.join(home, path), size, files


@dataclass(frozen=True, slots=True)
class Off:
    """What hooks leave alone: the table `[off]` of config.toml. tools and commands are shell patterns, projects folders."""

    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


def exceptions(home: str | None = None, environ: Mapping[str, str] | None = None) -> Off:
    """What hooks leave alone. Raises `ConfigError`."""
    env = os.environ if environ is None else environ
    path = os.path.join(home_folder(env) if home is None else home, "config.toml")
    table = _read(path).get("off", {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: [off] is a table of {', '.join(_OFF_KEYS)}")
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in table.items():
        if key not in _OFF_KEYS or not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ConfigError(f"{path}: [off] holds lists of texts named {', '.join(_OFF_KEYS)}; mend {str(key)[:40]!r}")
        lists[key] = tuple(str(one) for one in value)
    user = env.get("HOME", "")
    folders = [user + one[1:] if one == "~" or one.startswith("~/") else one for one in lists.get("projects", ())]
    return Off(lists.get("tools", ()), lists.get("commands", ()), tuple(os.path.realpath(folder) for folder in folders))


def harness_folder(variable: str, default: str, environ: Mapping[str, str] | None = None) -> str:
    """The folder where a harness keeps its settings: its own variable, else the default under the user's folder."""
    env = os.environ if environ is None else environ
    return os.path.abspath(env[variable]) if env.get(variable) else os.path.join(user_folder(env), default)


def user_folder(environ: Mapping[str, str] | None = None) -> str:
    """The user's own folder."""
    env = os.environ if environ is None else environ
    return env.get("HOME") or os.path.expanduser("~")


def told(variable: str, environ: Mapping[str, str] | None = None) -> str:
    """What a harness tells the programs that it starts, such as CLAUDE_PROJECT_DIR; empty if it does not."""
    env = os.environ if environ is None else environ
    return env.get(variable, "")


def switched_off(environ: Mapping[str, str] | None = None) -> bool:
    """Whether BYREF=off makes `byref run` the bare command. Reads nothing else, so that no other setting can fail it."""
    env = os.environ if environ is None else environ
    return env.get("BYREF", "").lower() in _OFF_WORDS


def traced(environ: Mapping[str, str] | None = None) -> bool:
    """Whether BYREF_OTEL asks for spans and metrics by OTLP."""
    env = os.environ if environ is None else environ
    return env.get("BYREF_OTEL", "").lower() in ("on", "1", "true", "yes")


def run_limit(environ: Mapping[str, str] | None = None) -> int:
    """Bytes that `byref run` holds of one output; past them it goes through raw and unstored. Raises `ConfigError`."""
    env = os.environ if environ is None else environ
    return int(_amount(env.get("BYREF_RUN_LIMIT") or RUN_LIMIT, "BYREF_RUN_LIMIT", _SIZES, "bytes, such as 500MB or 10GiB"))


def inside(environ: Mapping[str, str] | None = None) -> str:
    """The file by which a command tells the `byref run` around it that it is byref; empty where there is none."""
    env = os.environ if environ is None else environ
    return env.get(INSIDE, "")


def environment(inside: str) -> dict[str, str]:
    """What a command under `byref run` gets: all that we were given, and the file by which it tells us that it is byref."""
    return {**os.environ, INSIDE: inside}


def inherited(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that we were given: what an MCP server behind us gets, and what its configuration may name."""
    return dict(os.environ if environ is None else environ)


def given(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the environment of this call sets, in the words that the daemon takes: it has an environment of its own."""
    env = os.environ if environ is None else environ
    return {name: env[name] for name in _OF_A_CALL if env.get(name)}


def own_settings() -> Settings:
    """The settings of a daemon. What the environment sets for whoever happened to start it is dropped, for good."""
    for name in ("BYREF", "BYREF_SCOPE", "BYREF_PROFILE", "BYREF_RUN_LIMIT", INSIDE):
        os.environ.pop(name, None)
    return load()


def home_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where byref keeps its files: BYREF_HOME, else `byref` in the platform's user data folder."""
    env = os.environ if environ is None else environ
    if env.get("BYREF_HOME"):
        return os.path.abspath(env["BYREF_HOME"])
    if sys.platform in ("darwin", "win32"):
        import platformdirs
        return platformdirs.user_data_dir("byref", appauthor=False)
    # XDG Base Directory Specification 0.8: a relative path is to be ignored
    base = env.get("XDG_DATA_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "byref")


def models_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where the models of layers lie: BYREF_MODELS, else `byref/models` in the platform's cache folder."""
    env = os.environ if environ is None else environ
    if env.get("BYREF_MODELS"):
        return os.path.abspath(env["BYREF_MODELS"])
    import platformdirs
    return os.path.join(platformdirs.user_cache_dir("byref", appauthor=False), "models")


def late_model(environ: Mapping[str, str] | None = None) -> str:
    """The model of the late layer that the user names; empty for the one that `make models` brings."""
    return _model("late_model", environ)


def dense_model(environ: Mapping[str, str] | None = None) -> str:
    """The model of the dense layer that the user names; empty where it is off."""
    return _model("dense_model", environ)


def _model(key: str, environ: Mapping[str, str] | None) -> str:
    """As byref.layers.encoders.choice reads it. Raises `ConfigError`."""
    env = os.environ if environ is None else environ
    path = os.path.join(home_folder(env), "config.toml")
    found = env.get("BYREF_" + key.upper()) or _read(path).get(key, "")
    if not isinstance(found, str):
        raise ConfigError(f"{key} in {path}: {str(found)[:40]!r} is no model; give a folder, a name or a repository as a text")
    return user_folder(env) + found[1:] if found.startswith("~/") else found


def rewriting(environ: Mapping[str, str] | None = None) -> tuple[str, str, str] | None:
    """URL, model and key of the endpoint that rewrites queries; None where none is named. Raises `ConfigError`."""
    env = os.environ if environ is None else environ
    path = os.path.join(home_folder(env), "config.toml")
    table = _read(path).get("rewrite", {})
    if not isinstance(table, dict) or not all(key in _REWRITE_KEYS and isinstance(value, str) for key, value in table.items()):
        raise ConfigError(f"{path}: [rewrite] holds texts named {', '.join(_REWRITE_KEYS)}")
    url, model, key = (env.get(f"BYREF_REWRITE_{name.upper()}") or str(table.get(name, "")) for name in _REWRITE_KEYS)
    if url and (not url.startswith(("http://", "https://")) or not model):
        raise ConfigError(f"to rewrite queries give an address such as http://127.0.0.1:11434/v1 and the name of a model, not {url[:60]!r} "
                          f"and {model[:40]!r}: BYREF_REWRITE_URL and BYREF_REWRITE_MODEL, or [rewrite] in {path}")
    return (url, model, key) if url else None


def upstreams(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """URLs that stand in for those of APIs, by the name of the tool. Raises `ConfigError`."""
    env = os.environ if environ is None else environ
    found: dict[str, str] = {}
    for pair in filter(None, env.get("BYREF_UPSTREAMS", "").replace(" ", "").split(",")):
        name, sign, url = pair.partition("=")
        if not sign or not name or not url.startswith(("http://", "https://")):
            raise ConfigError(f"BYREF_UPSTREAMS: {pair[:60]!r} is no NAME=URL, such as openalex=http://127.0.0.1:8000")
        found[name] = url
    return found


def folder_here() -> str:
    """The working folder. Raises `ConfigError` where it no longer exists."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise ConfigError("the working folder no longer exists; change to another one") from None


def file_of(name: str, environ: Mapping[str, str] | None = None) -> str:
    """A file of the user's own in the home, such as synonyms.toml."""
    return os.path.join(home_folder(environ), name)


def table(path: str) -> Mapping[str, Json]:
    """What a file of the user's own says; nothing where there is none. Raises `ConfigError` for what is no TOML."""
    return _read(path, None)


def scope_here(folder: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """The scope of a command: BYREF_SCOPE, else the uid and the real path of the nearest ancestor that holds `.git`."""
    env = os.environ if environ is None else environ
    if env.get("BYREF_SCOPE"):
        return env["BYREF_SCOPE"]
    return f"{os.getuid()}:{project_folder(folder)}"


def project_folder(folder: str | None = None) -> str:
    """The real path of the nearest ancestor that holds `.git`, else of the folder itself; by default of the working folder."""
    try:
        start = os.path.realpath(os.getcwd() if folder is None else folder)
    except FileNotFoundError:
        raise ConfigError("the working folder no longer exists; change to another one, or set BYREF_SCOPE") from None
    place = start
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return start
        place = above
    return place


def store_folder(url: str) -> str | None:
    """The folder of a `file:` URL, or None for other kinds."""
    kind, _, place = url.partition(":")
    if kind != "file":
        return None
    return os.path.abspath(place[2:] if place.startswith("///") else place)


def age(value: object, where: str) -> float:
    """Seconds of a time such as 90, 12h or 30d; where: for the message. Raises `ConfigError`."""
    return _amount(value, where, _AGES, "seconds, or a time such as 12h or 30d")


def _amount(value: object, where: str, units: Mapping[str, int], wanted: str) -> float:
    """A positive number of units: 10, "10", "10GiB"."""
    number: float | None = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        text = value.strip().lower().replace("_", "")
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = units.get(text[len(digits):].strip())
        try:
            number = float(digits) * unit if unit else None
        except ValueError:
            number = None
    if number is None or not 0 < number < float("inf"):
        raise ConfigError(f"{where}: {str(value)[:40]!r} is no amount; give {wanted}")
    return number


def _read(path: str, keys: tuple[str, ...] | None = _FILE_KEYS) -> Mapping[str, Json]:
    """The configuration file, if there is one: reading it costs what tomllib costs, on the cold path too."""
    if not os.path.exists(path):
        return {}
    import tomllib
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except (OSError, ValueError) as fault:
        raise ConfigError(f"{path} cannot be used: {fault}; mend it or take it away") from None
    for key in found:
        if keys is not None and key not in keys:
            raise ConfigError(f"{path}: no setting {key!r}; there are {', '.join(keys)}")
    return found
