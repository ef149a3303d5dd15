"""A minimal W&B server on loopback: enough for its client to start, log, resume and end runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Server:
    """What clients have sent.

    Attributes:
        url: For WANDB_BASE_URL.
        runs: By run id, the variables of `UpsertBucket` that started the run.
        rows: By run id, the logged rows in order.
        files: Names of uploaded files.
        posts: The bodies of all requests, one text each.
    """

    url: str = ""
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    posts: list[str] = field(default_factory=list)

    def answer(self, path: str, body: bytes) -> Any:
        """The JSON to send back."""
        self.posts.append(body.decode("utf-8", "replace"))
        if path == "/graphql":
            request = json.loads(body)
            variables = request.get("variables") or {}
            return {"data": self._data(request["operationName"], variables)}
        if path.endswith("/file_stream"):
            sent = json.loads(body).get("files") or {}
            rows = sent.get("wandb-history.jsonl", {}).get("content", [])
            run_id = path.split("/")[-2]
            self.rows.setdefault(run_id, []).extend(map(json.loads, rows))
        return {}

    def _data(self, operation: str, variables: dict[str, Any]) -> dict[str, Any]:
        if operation == "Viewer":
            viewer = {"id": "v", "entity": "me", "username": "me", "email": "", "flags": "{}"}
            return {"viewer": {**viewer, "teams": {"edges": []}}}
        if operation == "RunResumeStatus":
            run_id = variables["name"]
            known = run_id in self.runs
            model = {"id": "m", "name": "x", "entity": {"id": "e", "name": "me"}}
            return {"model": {**model, "bucket": self._bucket(run_id) if known else None}}
        if operation == "UpsertBucket":
            new = variables["name"] not in self.runs
            run = self.runs.setdefault(variables["name"], {})
            run.update({key: value for key, value in variables.items() if value is not None})
            return {"upsertBucket": {"bucket": self._bucket(variables["name"]), "inserted": new}}
        if operation == "CreateRunFiles":
            names = variables["files"]
            self.files += names
            files = [{"name": name, "uploadUrl": f"{self.url}/put/{name}"} for name in names]
            return {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}
        return {}

    def _bucket(self, run_id: str) -> dict[str, Any]:
        rows = self.rows.get(run_id, [])
        return {
            "id": f"internal-{run_id}",
            "name": run_id,
            "displayName": self.runs.get(run_id, {}).get("displayName"),
            "project": {"id": "p", "name": "x", "entity": {"id": "e", "name": "me"}},
            "config": self.runs.get(run_id, {}).get("config", "{}"),
            "summaryMetrics": "{}",
            "logLineCount": 0,
            "historyLineCount": len(rows),
            "eventsLineCount": 0,
            "historyTail": json.dumps([json.dumps(row) for row in rows[-1:]]),
            "eventsTail": "[]",
            "tags": [],
            "wandbConfig": json.dumps({"t": 1}),
        }


@contextmanager
def wandb_server() -> Iterator[Server]:
    """A server for the duration of a test."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            content = json.dumps(server.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = _answer

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
