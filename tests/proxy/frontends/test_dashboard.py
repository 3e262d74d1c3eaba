"""The dashboard's routes: who may look, what they see, and that a look costs the agent nothing."""
from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from byref.proxy import config
from byref.proxy.errors import StoreError
from byref.proxy.frontends import hook
from byref.proxy.frontends.dashboard import FOLDER, FRESH, SHARE, Dashboard, Savings
from byref.proxy.frontends.dashboard_door import CODE
from byref.proxy.frontends.http import Service, application

SCOPE, TOKEN = "1000:/home/me/project", "t" * 40
LONG = "".join(f"line {n}: value {n * 7919 % 1009}\n" for n in range(3000))


class Server:
    """The dashboard over a store of its own, on a socket and on loopback. now: its clock for codes."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self.path, self.now = os.fsencode(home / "daemon.sock"), 0.0
        settings = config.load(environ={"BYREF_HOME": str(home)})
        self.service = Service(settings, TOKEN, lambda gateway, harness, event: b"", lambda reason: None)
        self._up, self._done = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        self._up.wait()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        app = application(self.service)
        Dashboard(self.service, lambda: self.now).attach(app)
        app.router.add_get("/upstream/page", self.other)
        runner = web.AppRunner(app, handle_signals=False)
        await runner.setup()
        await web.UnixSite(runner, os.fsdecode(self.path)).start()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.service.port = runner.addresses[1][1]
        self._up.set()
        await self._done.wait()
        await runner.cleanup()

    async def other(self, request: web.Request) -> web.Response:
        return web.Response(text="<script>steal()</script>", content_type="text/html", headers={"Content-Security-Policy": "img-src *"})

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()
        self.service.close()

    def tcp(self, request: str, given: object = None, **headers: str) -> tuple[int, Any, http.client.HTTPMessage]:
        method, path = request.split(" ")
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        try:
            body = None if given is None else json.dumps(given).encode()
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if answer.getheader("Content-Type", "").startswith("application/json") else content, \
                answer.headers
        finally:
            connection.close()

    def code(self) -> str:
        status, body = hook.call(self.path, "POST /v1/dashboard", b"", time.monotonic() + 60)
        assert status == 200
        return str(json.loads(body)["url"]).partition("#")[2]

    def key(self) -> str:
        return f"Bearer {self.tcp('POST /web/api/enter', {'code': self.code()})[1]['key']}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(tmp_path / "daemon")
    yield one
    one.close()


def test_a_code_lets_one_page_in_once(server):
    code = server.code()
    status, found, _ = server.tcp("POST /web/api/enter", {"code": code})
    assert status == 200
    assert server.tcp("GET /web/api/overview", Authorization=f"Bearer {found['key']}")[0] == 200
    status, refused, _ = server.tcp("POST /web/api/enter", {"code": code})
    assert status == 401 and "run `byref dashboard` again" in refused["error"]["message"]


def test_a_code_that_lay_too_long_is_worth_nothing(server):
    code = server.code()
    server.now += CODE
    assert server.tcp("POST /web/api/enter", {"code": code})[0] == 401


@pytest.mark.parametrize("request_line", [
    "GET /web/api/overview", f"GET /web/api/outputs?scope={SCOPE}", f"GET /web/api/output?scope={SCOPE}&ref=r", "GET /web/api/savings",
    f"GET /web/api/layers?scope={SCOPE}", f"GET /web/api/times?scope={SCOPE}", "POST /web/api/fetch", "POST /web/api/search",
    "POST /web/api/measure", f"GET /web/api/held?scope={SCOPE}&ref=r", "GET /web/api/live", "POST /web/api/ticket",
    "GET /web/api/raw?ticket=x"])
def test_nothing_of_a_store_is_told_without_a_key(server, request_line):
    server.service.own.session("s", scope=SCOPE).capture(tool="shell", output="secret output")
    given = {"scope": SCOPE, "ref": "r", "query": "secret"} if request_line.startswith("POST") else None
    for headers in ({}, {"Authorization": "Bearer " + "x" * 43}, {"Authorization": "Bearer "}, {"Authorization": server.code()}):
        status, found, _ = server.tcp(request_line, given, **headers)
        assert (status, found["error"]["reason"]) == (401, "refused")


def test_codes_are_given_over_the_socket_alone(server):
    assert server.tcp("POST /v1/dashboard")[0] == 401
    assert server.tcp("POST /v1/dashboard", Authorization=f"Bearer {TOKEN}")[0] == 403
    assert server.tcp("POST /v1/dashboard", Authorization=server.key())[0] == 401


def test_a_key_opens_the_dashboard_and_nothing_else(server):
    key = server.key()
    for request in ("GET /v1/status", "POST /v1/capture", "POST /v1/fetch", "POST /hooks/claude_code"):
        assert server.tcp(request, {} if request.startswith("POST") else None, Authorization=key)[0] == 401


def test_other_pages_and_other_names_of_this_machine_are_refused(server):
    key = server.key()
    assert server.tcp("GET /web/", Host="evil.example")[0] == 403
    assert server.tcp("GET /web/api/overview", Authorization=key, Host=f"evil.example:{server.service.port}")[0] == 403
    assert server.tcp("GET /web/api/overview", Authorization=key, Origin="http://evil.example")[0] == 403
    assert server.tcp("GET /web/api/overview", Authorization=key, Origin=f"http://127.0.0.1:{server.service.port}")[0] == 200


def test_every_answer_forbids_what_is_not_of_this_origin(server):
    for request, key in (("GET /web/", ""), ("GET /web/main.js", ""), ("GET /web/nothing", ""), ("GET /web/api/overview", server.key())):
        headers = server.tcp(request, Authorization=key)[2]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")


def test_a_page_of_an_upstream_is_kept_apart_from_it_in_a_browser(server):
    def policies(path: str, **headers: str) -> list[str]:
        return server.tcp(f"GET {path}", Authorization=f"Bearer {TOKEN}", **headers)[2].get_all("Content-Security-Policy") or []
    assert policies("/upstream/page", Sec_Fetch_Dest="document") == ["img-src *", "sandbox"]
    assert policies("/upstream/page") == policies("/upstream/page", Sec_Fetch_Dest="empty") == ["img-src *"], "a client's answer stays"
    assert not any("sandbox" in one for one in policies("/web/", Sec_Fetch_Dest="document"))


def test_the_page_needs_no_other_site_and_no_script_within_it():
    for path in Path(FOLDER).rglob("*"):
        if path.suffix in (".html", ".css", ".js", ".svg") and path.parent.name != "vendor":
            text = path.read_text().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(", text), path
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), path
    page = (Path(FOLDER) / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    digits = colour.strip("#")
    values = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)] if len(digits) == 6 else [int(one * 2, 16) / 255 for one in digits]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_colours_can_be_told_apart_in_both_themes():
    """WCAG 2.2: text 4.5 to 1 on what is behind it (1.4.3), parts of charts 3 to 1 (1.4.11)."""
    style = (Path(FOLDER) / "dashboard.css").read_text()
    light, dark, system = ({name: value for name, value in re.findall(r"--([\w-]+): (#\w+);", block)}
                           for block in re.findall(r":root[^{]*\{([^}]*)\}", style))
    assert dark == system and set(dark) == set(light)
    for theme in (light, dark):
        for ink in ("ink", "soft", "accent", "bad", "net"):
            assert min(contrast(theme[ink], theme[ground]) for ground in ("ground", "panel", "raw")) >= 4.5, (ink, theme["ground"])
        assert contrast(theme["on-accent"], theme["accent"]) >= 4.5 <= contrast(theme["gap-ink"], theme["gap"])
        for ink in ("net", "shown", "fetched", "repeated"):
            assert contrast(theme[ink], theme["panel"]) >= 3, (ink, theme["panel"])


def test_a_library_of_others_is_what_its_sum_says_and_brings_its_licence():
    vendor = Path(FOLDER) / "vendor"
    sums = dict(line.split()[::-1] for line in (vendor / "SHA256SUMS").read_text().splitlines())
    assert {path.name for path in vendor.iterdir()} - {"SHA256SUMS"} == set(sums)
    assert {name: hashlib.sha256((vendor / name).read_bytes()).hexdigest() for name in sums} == sums
    assert "MIT License" in (vendor / "chart.js-4.6.1.LICENSE.md").read_text()
    assert b"Chart.js v4.6.1" in (vendor / "chart.js-4.6.1.min.js").read_bytes()[:100]


def test_files_are_given_once_and_nothing_beside_them(server):
    status, body, headers = server.tcp("GET /web/dashboard.css")
    assert status == 200 and body == (Path(FOLDER) / "dashboard.css").read_bytes() and headers["Content-Type"].startswith("text/css")
    assert server.tcp("GET /web/dashboard.css", If_None_Match=headers["ETag"])[0] == 304
    status, _, headers = server.tcp("GET /web")
    assert (status, headers["Location"]) == (301, "/web/")
    for name in ("../frontends/dashboard.py", "%2e%2e/frontends/dashboard.py", "vendor/SHA256SUMS", "vendor/", "vendor"):
        assert server.tcp(f"GET /web/{name}")[0] in (401, 404), name


def test_a_gap_is_opened_by_its_address(server):
    key = server.key()
    shown = server.service.own.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=LONG)
    _, found, _ = server.tcp(f"GET /web/api/output?scope={SCOPE}&ref={shown.ref}", Authorization=key)
    gap = next(piece for piece in found["views"][0]["pieces"] if "at" in piece)
    first, last = (int(number) for number in gap["at"][1:].split("-"))
    asked = {"scope": SCOPE, "ref": shown.ref, "at": gap["at"], "part": gap["part"]}
    _, page, _ = server.tcp("POST /web/api/fetch", asked, Authorization=key)
    assert "".join(LONG.splitlines(keepends=True)[first - 1:last]).startswith(page["text"]) and page["exact"] and page["text"]


def test_a_part_is_downloaded_once_for_a_ticket_with_its_name_and_type(server):
    key, raw = server.key(), bytes(range(256)) * 9000
    shown = server.service.own.session("s", scope=SCOPE).capture(
        tool="shell", args={"command": "make"}, output={"stdout": LONG.encode(), "stderr": raw})
    for part, content, media, name in (("stdout", LONG.encode(), "text/plain; charset=utf-8", "stdout.txt"),
                                       ("stderr", raw, "application/octet-stream", "stderr.bin")):
        status, found, _ = server.tcp("POST /web/api/ticket", {"scope": SCOPE, "ref": shown.ref, "part": part}, Authorization=key)
        assert status == 200
        status, body, headers = server.tcp(f"GET /web/{found['url']}")
        assert (status, body, headers["Content-Type"]) == (200, content, media)
        assert headers["Content-Disposition"] == f'attachment; filename="{shown.ref}-{name}"'
        assert server.tcp(f"GET /web/{found['url']}")[0] == 401, "once"
    for given, status in (({"ref": shown.ref, "part": "none"}, 400), ({"ref": "raaaaaaaaaa", "part": "stdout"}, 404)):
        assert server.tcp("POST /web/api/ticket", {"scope": SCOPE, **given}, Authorization=key)[0] == status


def test_whether_an_output_is_still_held_is_told(server):
    key, session = server.key(), server.service.own.session("s", scope=SCOPE)
    shown = session.capture(tool="shell", args={"command": "make"}, output=LONG)
    assert server.tcp(f"GET /web/api/held?scope={SCOPE}&ref={shown.ref}", Authorization=key)[0] == 200
    session.purge(shown.ref)
    status, found, _ = server.tcp(f"GET /web/api/held?scope={SCOPE}&ref={shown.ref}", Authorization=key)
    assert (status, found["error"]["reason"]) == (410, "evicted")


def test_a_look_is_no_second_call_of_the_agent(server):
    key = server.key()
    shown = server.service.own.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=LONG)
    before = list(server.service.own.store.events())
    assert server.tcp("POST /web/api/fetch", {"scope": SCOPE, "ref": shown.ref}, Authorization=key)[0] == 200
    status, found, _ = server.tcp("POST /web/api/search", {"scope": SCOPE, "query": "line 1500", "timebox_ms": 60_000}, Authorization=key)
    assert status == 200 and found["hits"] and {one["name"] for one in found["layers"]} >= {"text"}
    assert list(server.service.own.store.events()) == before


def test_savings_are_those_of_byref_report(server):
    key = server.key()
    session = server.service.own.session("s", scope=SCOPE)
    shown = session.capture(tool="shell", args={"command": "make"}, output=LONG)
    session.fetch(shown.ref, "L100-110")
    status, found, _ = server.tcp("GET /web/api/savings", Authorization=key)
    total, own = found["report"]["total"], server.service.own.report().total
    assert status == 200
    assert [total[name] for name in ("calls", "raw", "view", "fetched")] == [own.calls, own.raw, own.view, own.fetched]
    assert list(found["report"]["tools"]) == ["shell"] and own.fetched > 0
    again = server.tcp("GET /web/api/savings", Authorization=key)[1]
    assert again["report"] == found["report"] and again["age"] >= found["age"] and again["again"] == 0, "nothing changed: it stands"
    session.fetch(shown.ref, "L100-110")
    later = server.tcp("GET /web/api/savings", Authorization=key)[1]
    assert later["report"] == found["report"] and 0 < later["again"] <= max(FRESH, SHARE * later["took"]), "and for a while if it did"


def test_savings_of_one_project_leave_the_others_out(server):
    key, gateway = server.key(), server.service.own
    for scope in (SCOPE, "1000:/home/me/other"):
        gateway.session("s", scope=scope).capture(tool="shell", args={"command": "make"}, output=LONG)
    _, every, _ = server.tcp("GET /web/api/savings", Authorization=key)
    _, one, _ = server.tcp(f"GET /web/api/savings?scope={SCOPE}", Authorization=key)
    assert (every["report"]["total"]["calls"], one["report"]["total"]["calls"]) == (2, 1)
    assert one["report"]["total"]["raw"] == gateway.report(scope=SCOPE).total.raw > 0


def test_a_search_takes_what_byref_search_takes_and_says_when_each_layer_was_through(server):
    key = server.key()
    server.service.own.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=LONG)
    asked = {"scope": SCOPE, "query": "line value 1500", "layers": ["text", "bm25"], "profile": "rrf", "emphasis": "recall",
             "weights": {"line": 0}, "timebox_ms": 60_000}
    status, found, _ = server.tcp("POST /web/api/search", asked, Authorization=key)
    assert status == 200 and found["hits"] and "weights line 0" in found["text"]
    assert {one["name"] for one in found["layers"]} == {"text", "bm25"} >= {step["layer"] for step in found["time"]["steps"]}
    status, found, _ = server.tcp("POST /web/api/measure", asked | {"timebox_ms": 2000}, Authorization=key)
    assert status == 200 and found["points"][-1]["share"] == 10_000
    for wrong, says in (({"weights": {"none": 2}}, "none"), ({"profile": "best"}, "cascade"), ({"layers": ["x"]}, "no layer"),
                        ({"k": 1}, "'k'")):
        status, found, _ = server.tcp("POST /web/api/search", asked | wrong, Authorization=key)
        assert status == 400 and says in found["error"]["message"]


def test_times_of_former_searches_are_those_of_agents(server):
    key, session = server.key(), server.service.own.session("s", scope=SCOPE)
    session.capture(tool="shell", args={"command": "make"}, output=LONG)
    session.search("line 1500")
    server.tcp("POST /web/api/search", {"scope": SCOPE, "query": "mine"}, Authorization=key)
    _, found, _ = server.tcp(f"GET /web/api/times?scope={SCOPE}", Authorization=key)
    assert found["searches"] == 1 and found["queries"] == ["line 1500"] and found["curves"][0][-1][1] == 10_000


def test_layers_say_how_far_they_came(server):
    server.service.own.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=LONG)
    _, found, _ = server.tcp(f"GET /web/api/layers?scope={SCOPE}", Authorization=server.key())
    assert {one["name"]: one["coverage"] for one in found["layers"]}["text"] == 10_000


@pytest.mark.parametrize("request_line, given, says", [
    ("GET /web/api/savings?scope=a%00b", None, "no project's name"), ("POST /web/api/measure", {"scope": SCOPE}, "say which query"),
    (f"GET /web/api/outputs?scope={SCOPE}&before=x", None, "this is no page that a list of outputs named"),
    ("GET /web/api/outputs", None, "say which scope"), ("POST /web/api/search", {"scope": SCOPE}, "say which query"),
    (f"GET /web/api/output?scope={SCOPE}&ref=raaaaaaaaaa", None, "unknown"), (f"GET /web/api/output?scope={SCOPE}&ref=-", None, "invalid"),
    ("GET /web/api/nothing", None, "no such route"), ("POST /web/api/overview", {}, "no such route")])
def test_what_cannot_be_answered_says_why(server, request_line, given, says):
    status, found, _ = server.tcp(request_line, given, Authorization=server.key())
    assert status in (400, 404) and says in found["error"]["message"]


def test_a_daemon_without_a_port_says_so(server):
    server.service.port = 0
    status, body = hook.call(server.path, "POST /v1/dashboard", b"", time.monotonic() + 60)
    assert status == 409 and b"listens on no port" in body


def test_a_report_that_fails_says_why(tmp_path):
    (tmp_path / "config.toml").write_text("profile = 'none such'\n")
    with pytest.raises(StoreError, match=r"`byref report` failed: .*none such"):
        asyncio.run(Savings(str(tmp_path)).of(0, "", (0, 0, 0)))
