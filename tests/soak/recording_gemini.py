"""Gemini CLI of npm against a scripted model: where its session lies, and what its server was sent."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VERSION = "0.61.0"
PLACE = ROOT / ".cache" / f"gemini-cli-{VERSION}"
PROGRAM = PLACE / "node_modules" / ".bin" / "gemini"
USED = {"promptTokenCount": 1000, "cachedContentTokenCount": 300, "candidatesTokenCount": 30, "totalTokenCount": 1030}


def fetched() -> bool:
    """Whether the program is in the checkout's cache, where npm puts it."""
    if not PROGRAM.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(PLACE), f"@google/gemini-cli@{VERSION}"]
        subprocess.run(words, check=False, stdout=subprocess.DEVNULL)
    return PROGRAM.exists()


class Model(ThreadingHTTPServer):
    """Answers the n-th request with the calls of step n, then with words. requests: what it was sent."""

    def __init__(self, steps: list[list[tuple[str, dict[str, Any]]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps, self.requests = steps, list[dict[str, Any]]()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        number = sum(any("functionResponse" in part for part in one["parts"]) for one in request["contents"])
        self.requests.append(request)
        calls = self.steps[number] if number < len(self.steps) else []
        parts: list[dict[str, Any]] = [{"text": f"I look, {number}." if calls else "All is done."}]
        parts += [{"functionCall": {"name": name, "args": given}} for name, given in calls]
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": USED, "modelVersion": "gemini-2.5-flash"}


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        found = json.dumps(self.server.answer(json.loads(self.rfile.read(int(self.headers["content-length"])))))
        streamed = "stream" in self.path
        data = (f"data: {found}\r\n\r\n" if streamed else found).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def run(folder: Path) -> tuple[Path, Model]:
    """A run with calls made at once and failures: the folder of its sessions, and the server as it was left."""
    home, project = folder / "home", folder / "project"
    (home / ".gemini").mkdir(parents=True)
    project.mkdir()
    (project / "harbour.py").write_text("def depth(tide):\n    return tide\n" * 50)
    (home / ".gemini" / "settings.json").write_text(json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False}}))
    shell, path = "run_shell_command", str(project / "harbour.py")
    model = Model([[(shell, {"command": "seq 1 5"})], [(shell, {"command": "echo two; exit 3"}), ("read_file", {"file_path": path})],
                   [(shell, {"command": "seq 1 4000"})], [("read_file", {"file_path": path + ".none"})]])
    env = {**os.environ, "HOME": str(home), "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true",
           "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.server_port}"}
    done = subprocess.run([str(PROGRAM), "-p", "mend it", "--yolo", "-m", "gemini-2.5-flash"], cwd=project, env=env, timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
    model.shutdown()
    return home / ".gemini" / "tmp", model
