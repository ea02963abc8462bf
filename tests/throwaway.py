"""A server that only records what kubectl sends, and kubectl to send it.

It serves discovery and OpenAPI as dibs does, answers a write with the object at its path or else
with what it was sent, and keeps the bytes of each. For tests that must see real requests without a
control plane.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dibs.api import discovery
from dibs.api.openapi import document
from dibs.api.patches.refused import Refused
from dibs.api.protobuf import decode

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent))
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class Sent:
    method: str
    path: str
    content_type: str
    body: bytes


@dataclass
class Server:
    """`objects` are the answers to GET by path."""

    objects: dict[str, Any] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    port: int = 0
    _http: ThreadingHTTPServer | None = None

    def __enter__(self) -> Server:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                code, kind, body = server.answer(path, self.headers.get("Accept", ""))
                self.reply(code, kind, body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                kind = self.headers.get("Content-Type", "")
                server.sent.append(Sent(self.command, self.path, kind, body))
                if kept := server.objects.get(self.path.partition("?")[0]):
                    return self.reply(200, "application/json", json.dumps(kept).encode())
                try:
                    tree = decode.decode(body) if body.startswith(b"k8s") else json.loads(body)
                except Refused as refused:
                    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                              "code": refused.code, "message": refused.message}  # fmt: skip
                    return self.reply(refused.code, "application/json", json.dumps(status).encode())
                return self.reply(201, "application/json", json.dumps(tree).encode())

            do_PUT = do_PATCH = do_DELETE = do_POST

            def reply(self, code: int, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._http is not None
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, accept: str) -> tuple[int, str, bytes]:
        if path in ("/api", "/apis") and "apidiscovery" in accept:
            tree = discovery.aggregated(path == "/api", "v2")
            return 200, _DISCOVERY, json.dumps(tree).encode()
        if path == "/openapi/v3":
            return 200, "application/json", document.index()
        if found := document.documents().get(path.removeprefix("/openapi/v3/")):
            return 200, "application/json", found
        if path in self.objects:
            return 200, "application/json", json.dumps(self.objects[path]).encode()
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
                  "reason": "NotFound", "message": f"nothing at {path}"}  # fmt: skip
        return 404, "application/json", json.dumps(status).encode()


def kubectl(
    server: Server | None, home: Path, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run kubectl in a home of its own, against the server if there is one."""
    assert KUBECTL is not None
    config = home / "kubeconfig"
    port = server.port if server else 1
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "x", "user": {}}],
                "contexts": [
                    {"name": "x", "context": {"cluster": "x", "user": "x", "namespace": "default"}}
                ],
                "current-context": "x",
            }
        )
    )
    return subprocess.run(
        [KUBECTL, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "KUBECONFIG": str(config), "HOME": str(home)},
    )
