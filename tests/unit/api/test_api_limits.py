"""Clients that ask for too much, send too slowly or don't take what they asked for."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from dibs.api.calls import Caller
from dibs.api.gate import Credentials, Open, Record
from dibs.api.server import serving
from dibs.api.server.limits import Limits
from dibs.store.records import Event, Key, Write
from dibs.store.store import Store
from dibs.testing import apiserver
from dibs.testing.apiserver import Running

BOUNDS = Limits(
    coming_bytes=30_000, requests_of_one=2,
    body_bytes=20_000, body_s=0.3, depth=20, header_bytes=2_000, watches=3, watches_of_one=2,
    connections=5, idle_s=0.5, write_s=0.2,
)  # fmt: skip
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with apiserver.running(bounds=BOUNDS) as running:
        yield running


def place(server: Running) -> tuple[str, int]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return host, int(port)


def ask(
    server: Running,
    method: str,
    path: str,
    body: bytes | Iterator[bytes] | None = None,
    **more: str,
) -> tuple[int, str]:
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    with closing(http.client.HTTPConnection(*place(server), timeout=10)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        tree = json.loads(answer.read())
        return answer.status, tree.get("reason", "")


@contextmanager
def wire(server: Running) -> Iterator[socket.socket]:
    with socket.create_connection(place(server), timeout=10) as connection:
        yield connection


def is_closed(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def test_what_is_no_http_is_answered_in_our_words(server: Running) -> None:
    with wire(server) as connection:
        connection.sendall(b"GE\x01T <evil> HTTP/1.1\r\n\r\n")
        told = b""
        while piece := connection.recv(4096):
            told += piece
    head, _, body = told.partition(b"\r\n\r\n")
    assert b" 400 " in head.splitlines()[0]
    assert b"Server: dibs" in head
    assert b"evil" not in told
    assert json.loads(body)["kind"] == "Status"


def test_a_body_has_a_bound(server: Running) -> None:
    large = json.dumps({"metadata": {"name": "c"}, "data": {"a": "x" * 30_000}}).encode()
    assert ask(server, "POST", MAPS, large) == (413, "RequestEntityTooLarge")


def test_so_has_one_whose_length_is_not_told(server: Running) -> None:
    pieces = iter([b'{"x": "' + b"x" * 15_000, b"x" * 15_000 + b'"}'])
    assert ask(server, "POST", MAPS, pieces) == (413, "RequestEntityTooLarge")


def test_so_has_one_that_is_unpacked(server: Running) -> None:
    packed = gzip.compress(b" " * 1_000_000)
    assert len(packed) < 2_000
    code = ask(server, "POST", MAPS, packed, Content_Encoding="gzip")
    assert code == (413, "RequestEntityTooLarge")


def test_a_body_is_no_deeper_than_anything_of_ours(server: Running) -> None:
    deep = b'{"a":' * 30 + b"1" + b"}" * 30
    assert ask(server, "POST", MAPS, deep) == (400, "BadRequest")
    # Deeper than any recursion.
    deep = b"[" * 9_000 + b"]" * 9_000
    assert ask(server, "POST", MAPS, deep) == (400, "BadRequest")
    patch = {"Content_Type": "application/apply-patch+yaml"}
    assert ask(server, "PATCH", f"{MAPS}/c?fieldManager=x", deep, **patch) == (400, "BadRequest")


@pytest.mark.slow
def test_a_body_that_does_not_come_is_not_waited_for(server: Running) -> None:
    with wire(server) as connection:
        head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head.encode() + b"{")
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_bodies_that_come_in_have_a_bound_together() -> None:
    bounds = replace(BOUNDS, body_s=5, requests_of_one=9)
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 19000\r\n\r\n".encode()
    with apiserver.running(bounds=bounds) as server, wire(server) as first:
        first.sendall(head + b" " * 18_000)
        wait_for(lambda: server.handler.load.coming_bytes >= 18_000)
        large = json.dumps({"metadata": {"name": "c"}, "data": {"a": "x" * 15_000}}).encode()
        assert ask(server, "POST", MAPS, large) == (429, "TooManyRequests")
        first.close()
        wait_for(lambda: not server.handler.load.coming_bytes)
        assert ask(server, "POST", MAPS, large)[0] == 201


def test_one_client_has_so_many_requests_at_a_time() -> None:
    bounds = replace(BOUNDS, body_s=5)
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n".encode()
    with apiserver.running(bounds=bounds) as server, wire(server) as one, wire(server) as two:
        one.sendall(head)
        two.sendall(head)
        wait_for(lambda: server.handler.load.requests.total() == 2)
        assert ask(server, "GET", MAPS) == (429, "TooManyRequests")


def wait_for(is_so: Callable[[], bool]) -> None:
    for _ in range(200):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError


@pytest.mark.slow
def test_a_head_that_does_not_come_is_not_waited_for(server: Running) -> None:
    begun = time.monotonic()
    with wire(server) as connection:
        connection.sendall(b"GET /ver")
        assert is_closed(connection)
    assert time.monotonic() - begun < 5


def test_a_head_has_a_bound(server: Running) -> None:
    with wire(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 5_000 + b"\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.0 400")


def test_what_is_no_http_is_refused(server: Running) -> None:
    with wire(server) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.0 400") or is_closed(connection)
    assert ask(server, "GET", "/version")[0] == 200


def watch(server: Running) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(*place(server), timeout=10)
    connection.request("GET", f"{MAPS}?watch=true&timeoutSeconds=30")
    return connection


def test_one_client_has_so_many_watches(server: Running) -> None:
    with closing(watch(server)) as first, closing(watch(server)) as second:
        assert first.getresponse().status == 200
        assert second.getresponse().status == 200
        assert ask(server, "GET", f"{MAPS}?watch=true") == (429, "TooManyRequests")
    # Their ends are noticed.
    for _ in range(50):
        code, _ = ask(server, "GET", f"{MAPS}?watch=true&resourceVersion=999999")
        if code != 429:
            break
        time.sleep(0.02)
    assert code == 504


def test_one_connection_too_many_is_closed(server: Running) -> None:
    held = [socket.create_connection(place(server), timeout=10) for _ in range(BOUNDS.connections)]
    try:
        with wire(server) as another:
            assert is_closed(another)
    finally:
        for connection in held:
            connection.close()


@pytest.mark.slow
def test_who_does_not_read_is_dropped() -> None:
    bounds = replace(BOUNDS, body_bytes=1_000_000, coming_bytes=1_000_000, connections=50)
    with apiserver.running(bounds=bounds) as server, closing(watch(server)) as deaf:
        assert deaf.getresponse().status == 200
        for index in range(80):
            large = {"metadata": {"name": f"c{index}"}, "data": {"a": "x" * 200_000}}
            assert ask(server, "POST", MAPS, json.dumps(large).encode())[0] == 201
        wait_for(lambda: not server.handler.load.watches.total())


class Noting(Open):
    """Remembers what it is asked to note."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def who(self, credentials: Credentials) -> Caller | None:
        return None if credentials.authorization == "Bearer wrong" else super().who(credentials)

    def note(self, record: Record) -> None:
        self.records.append(record)


def test_a_bug_ends_a_stream_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    with apiserver.running() as server, closing(watch(server)) as watching:
        answer = watching.getresponse()
        assert answer.status == 200
        # What only a bug could have written.
        server.call(lambda plane: plane.store.put(Key("configmaps", "default", "c"), b"no JSON"))
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        assert ask(server, "GET", f"{MAPS}/c") == (500, "InternalError")
        assert ask(server, "GET", "/version")[0] == 200
    assert "Traceback" in capsys.readouterr().err


class Slow:
    """A store on a slow disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def commit(self, *writes: Write) -> tuple[Event, ...]:
        await asyncio.sleep(0.02)
        return await self._store.commit(*writes)


def test_what_was_begun_is_noted_though_the_client_is_gone() -> None:
    async def play() -> None:
        gate = Noting()
        async with apiserver.in_memory(gate=gate) as plane:
            slow = replace(plane, store=Slow(plane.store))  # type: ignore[arg-type]
            async with serving.listening(slow) as server:
                _, writer = await asyncio.open_connection(server.host, server.port)
                body = b'{"metadata": {"name": "c"}}'
                head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await asyncio.sleep(0.01)
                writer.transport.abort()
                await asyncio.sleep(0.04)
        [made] = gate.records
        assert (made.code, made.asked.verb) == (201, "create")
        assert made.after

    asyncio.run(play())


def test_who_is_nobody_is_noted_too() -> None:
    gate = Noting()
    with apiserver.running(gate=gate) as server:
        assert ask(server, "GET", MAPS, Authorization="Bearer wrong") == (401, "Unauthorized")
        assert ask(server, "GET", f"{MAPS}/none")[0] == 404
        ask(server, "PUT", f"{MAPS}/none", b"{}")
    noted = [(each.code, each.asked.verb, each.asked.resource) for each in gate.records]
    assert noted == [(401, "get", ""), (404, "get", "configmaps"), (404, "update", "configmaps")]


def test_large_answers_are_packed(server: Running) -> None:
    for index in range(10):
        body = {"metadata": {"name": f"large{index}"}, "data": {"a": "x" * 19_000}}
        assert ask(server, "POST", MAPS, json.dumps(body).encode())[0] == 201
    with closing(http.client.HTTPConnection(*place(server), timeout=10)) as connection:
        connection.request("GET", MAPS, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        packed = answer.read()
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(packed) < 10_000
    assert len(json.loads(gzip.decompress(packed))["items"]) == 10


def test_a_head_alone_has_no_body(server: Running) -> None:
    with closing(http.client.HTTPConnection(*place(server), timeout=10)) as connection:
        connection.request("HEAD", "/version")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert answer.headers["Server"] == "dibs"
