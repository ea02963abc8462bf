"""Connections that never say who they are: bounded, and nobody else waits for them."""

from __future__ import annotations

import datetime
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from dibs.api.access import authority
from dibs.api.server.limits import Limits
from dibs.testing import apiserver

pytestmark = pytest.mark.slow

MOST = 5
REQUEST = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(frozen=True)
class Server:
    place: tuple[str, int]
    trusting: ssl.SSLContext

    def wire(self) -> socket.socket:
        return socket.create_connection(self.place, timeout=10)

    def speaking(self, wire: socket.socket) -> ssl.SSLSocket:
        return self.trusting.wrap_socket(wire, server_hostname=self.place[0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("keys")
    now = datetime.datetime.now(datetime.UTC)
    ours = authority.in_folder(folder, now)
    pair = ours.for_server(["127.0.0.1"], now)
    (folder / "chain").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain")
    trusting = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    bounds = Limits(handshakes=MOST, watches_of_one=0)
    with apiserver.running(tls=context, bounds=bounds) as running:
        host, _, port = running.url.removeprefix("https://").partition(":")
        yield Server((host, int(port)), trusting)


def is_closed(wire: socket.socket) -> bool:
    wire.settimeout(0.2)
    try:
        return wire.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_the_oldest_that_says_nothing_goes(server: Server) -> None:
    with ExitStack() as open_:
        silent = [open_.enter_context(server.wire()) for _ in range(MOST + 3)]
        time.sleep(0.2)
        assert [is_closed(wire) for wire in silent] == [True] * 3 + [False] * MOST
        # Whoever means it is served, and counts no more afterwards.
        for _ in range(2 * MOST):
            speaking = open_.enter_context(server.speaking(server.wire()))
            speaking.sendall(REQUEST)
            assert b" 200 " in speaking.recv(1000)
        still = sum(not is_closed(wire) for wire in silent)
        assert still == MOST - 1


def test_who_has_begun_stays(server: Server) -> None:
    with server.speaking(server.wire()) as speaking, ExitStack() as open_:
        for _ in range(MOST + 3):
            open_.enter_context(server.wire())
        speaking.sendall(REQUEST)
        assert b" 200 " in speaking.recv(1000)


def test_what_is_sent_with_the_end_of_the_handshake_is_read(server: Server) -> None:
    body = b"x" * 200_000
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n"
    with server.speaking(server.wire()) as speaking:
        speaking.sendall(head + b"Content-Length: 200000\r\n\r\n" + body)
        assert b" 400 " in speaking.recv(1000)


def test_who_has_too_much_open_keeps_no_more(server: Server) -> None:
    with server.speaking(server.wire()) as speaking:
        speaking.sendall(b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n")
        told = b""
        while piece := speaking.recv(4096):
            told += piece
        assert told.startswith(b"HTTP/1.1 429 ")
