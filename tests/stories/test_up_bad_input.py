"""What nobody should send, sent to `dibs up` over TLS: clear answers, nothing lost, nobody let in.

The conversations of tests/cases/api say the same of single requests, on an open server; here are
real certificates, tokens, connections and the bounds as they are shipped.
"""

from __future__ import annotations

import datetime
import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from tests import upped

from dibs.api.access import authority, tokens
from dibs.api.gate import Account
from dibs.api.server.limits import Limits
from dibs.client import kubeconfig
from dibs.control import hosting
from dibs.testing import apiserver

pytestmark = pytest.mark.slow

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
TEAM = "/api/v1/namespaces/team"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Client:
    """Somebody with a kubeconfig. Every request is a connection of its own."""

    access: kubeconfig.Access
    token: str = ""

    @classmethod
    def of(cls, config: Path) -> Client:
        return cls(kubeconfig.access(config))

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.access.server.removeprefix("https://").partition(":")
        return host, int(port)

    def connect(self) -> ssl.SSLSocket:
        assert self.access.tls is not None
        plain = socket.create_connection(self.place, timeout=60)
        return self.access.tls.wrap_socket(plain, server_hostname=self.place[0])

    def ask(
        self, method: str, path: str, body: object = None, kind: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPSConnection(*self.place, timeout=60, context=self.access.tls)
        headers = {"Content-Type": kind}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with closing(connection):
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")

    def must(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        code, tree = self.ask(method, path, body)
        assert code < 300, tree
        return tree


@dataclass(frozen=True)
class Place:
    """A plane with two namespaces, two nodes, and a Pod on each."""

    data: Path
    admin: Client

    def client(self, name: str, *words: str) -> Client:
        """Who `dibs kubeconfig` made credentials for."""
        path = self.data.parent / f"{name}.kubeconfig"
        path.write_text(made(self.data, name, *words))
        return Client.of(path)

    def forged(self, ours: authority.Authority, at: datetime.datetime) -> Client:
        """An administrator by a certificate of any authority and any time, good for a day."""
        pair = ours.for_client("eve", ["dibs:admin"], at, DAY)
        real = authority.in_folder(self.data, NOW)
        path = self.data.parent / "forged.kubeconfig"
        path.write_bytes(hosting.kubeconfig_of(self.admin.access.server, real, pair, "eve"))
        return Client.of(path)

    def showing(self, token: str, *, beside_certificate: bool = False) -> Client:
        context = ssl.create_default_context(cafile=str(self.data / "ca.crt"))
        access = replace(self.admin.access, tls=context)
        return Client(self.admin.access if beside_certificate else access, token)


def made(data: Path, *words: str) -> str:
    said = upped.run("kubeconfig", *words, "--data", str(data))
    assert said.code == 0, said
    return said.out


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    data = tmp_path_factory.mktemp("bad") / "data"
    with upped.plane(data) as config:
        admin = Client.of(config)
        for name in ("team", "other"):
            admin.must("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for name in ("n1", "n2"):
            admin.must("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            admin.must("POST", SLICES, slice_of(name))
            admin.must("POST", f"{TEAM}/pods", pod(f"on-{name}", name))
        admin.must("POST", CLAIMS, claim())
        yield Place(data, admin)
        # Whatever was sent, it still serves, and nothing was written that shouldn't be.
        assert not admin.must("GET", "/api/v1/namespaces/other/configmaps")["items"]


def pod(name: str, node: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "x"}]}
    return {"metadata": {"name": name}, "spec": {**spec, "nodeName": node} if node else spec}


def slice_of(node: str, devices: int = 1) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool}
    listed = [{"name": f"gpu-{number}"} for number in range(devices)]
    return {"metadata": {"name": f"{node}-gpu"}, "spec": {**spec, "devices": listed}}


def claim(name: str = "train", requests: int = 1) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu.example.com"}
    asked = [{"name": f"r{number}", "exactly": exactly} for number in range(requests)]
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": asked}}}


# --- who is it ------------------------------------------------------------------------------------


def test_who_shows_nothing_is_nobody(plane: Place) -> None:
    nobody = plane.showing("")
    assert nobody.must("GET", "/version")["major"]
    for path in ("/api", "/api/v1/pods", f"{TEAM}/secrets", SLICES):
        code, told = nobody.ask("GET", path)
        assert code == 403
        assert "system:anonymous" in told["message"]


def test_wrong_tokens_are_nobodys(plane: Place) -> None:
    account = account_of(plane, "default")
    signer = tokens.in_folder(plane.data)
    good, _ = signer.token(account, time.time())
    assert plane.showing(good).ask("GET", f"{TEAM}/pods")[0] == 200
    claims = jwt.decode(good, options={"verify_signature": False})
    wrong = {
        "nonsense": "wrong",
        "no signature": jwt.encode(claims, "", algorithm="none"),
        "another key": tokens.Signer(b"x" * 32).token(account, time.time())[0],
        "changed": f"{good[:-4]}AAAA",
        "over": signer.token(account, time.time() - 90_000, 3_600)[0],
        "for another server": signer.token(account, time.time(), audiences=("vault",))[0],
        "of an account that is gone": signer.token(replace(account, uid="gone"), time.time())[0],
        "without end": signer_without_end(plane.data, claims),
        "too long": "a" * 10_000,
    }
    for what, token in wrong.items():
        code, told = plane.showing(token).ask("GET", f"{TEAM}/pods")
        assert (what, code, told["reason"]) == (what, 401, "Unauthorized")
    # What is shown and wrong is never made good by something else that is shown.
    assert plane.showing("wrong", beside_certificate=True).ask("GET", "/api/v1/pods")[0] == 401


def account_of(plane: Place, name: str) -> Account:
    for _ in range(200):
        code, tree = plane.admin.ask("GET", f"{TEAM}/serviceaccounts/{name}")
        if code == 200:
            return Account("team", name, tree["metadata"]["uid"])
        time.sleep(0.05)
    raise AssertionError("no account was made")


def signer_without_end(data: Path, claims: dict[str, Any]) -> str:
    lasting = {name: value for name, value in claims.items() if name != "exp"}
    return jwt.encode(lasting, (data / "tokens.key").read_bytes(), algorithm=tokens.ALGORITHM)


def test_wrong_certificates_are_turned_away(plane: Place, tmp_path: Path) -> None:
    ours = authority.in_folder(plane.data, NOW)
    assert plane.forged(ours, NOW).ask("GET", "/api/v1/pods")[0] == 200
    foreign = authority.in_folder(tmp_path / "foreign", NOW)
    for other, at in ((foreign, NOW), (ours, NOW - 3 * DAY), (ours, NOW + 3 * DAY)):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            plane.forged(other, at).ask("GET", "/api/v1/pods")


def test_what_is_no_tls_is_turned_away(plane: Place) -> None:
    with socket.create_connection(plane.admin.place, timeout=20) as plain:
        plain.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP" not in read_until(plain, b"HTTP")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(plane.data / "ca.crt")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Client(replace(plane.admin.access, tls=old)).connect().close()


# --- may they -------------------------------------------------------------------------------------

READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
GIVEN: dict[str, Any] = {"status": {"allocation": {"devices": {"results": []}}}}
# Who, what, and whether docs/up.md says that they may.
MATRIX: list[tuple[str, str, str, object, bool]] = [
    ("viewer", "GET", "/api/v1/pods", None, True),
    ("viewer", "GET", SLICES, None, True),
    ("viewer", "GET", f"{TEAM}/secrets", None, False),
    ("viewer", "POST", f"{TEAM}/configmaps", {"metadata": {"name": "v"}}, False),
    ("viewer", "DELETE", f"{TEAM}/pods/on-n1", None, False),
    ("user", "GET", f"{TEAM}/pods", None, True),
    ("user", "GET", f"{TEAM}/secrets", None, True),
    ("user", "POST", f"{TEAM}/configmaps", {"metadata": {"name": "u"}}, True),
    ("user", "GET", "/api/v1/nodes", None, True),
    ("user", "GET", SLICES, None, True),
    ("user", "GET", "/api/v1/pods", None, False),
    ("user", "GET", "/api/v1/namespaces/other/pods", None, False),
    ("user", "GET", "/api/v1/namespaces/other/pods?watch=true", None, False),
    ("user", "GET", "/api/v1/namespaces/other/secrets", None, False),
    ("user", "POST", "/api/v1/namespaces/other/configmaps", {"metadata": {"name": "u"}}, False),
    ("user", "PATCH", f"{CLAIMS}/train/status", GIVEN, False),
    ("user", "POST", f"{TEAM}/resourcequotas", {"metadata": {"name": "q"}}, False),
    ("user", "POST", SLICES, slice_of("n3"), False),
    ("user", "POST", "/api/v1/namespaces", {"metadata": {"name": "mine"}}, False),
    ("user", "PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"a": "b"}}}, False),
    ("node", "PATCH", "/api/v1/nodes/n1/status", READY, True),
    ("node", "PATCH", "/api/v1/nodes/n2/status", READY, False),
    ("node", "PATCH", "/api/v1/nodes/n2", {"metadata": {"labels": {"a": "b"}}}, False),
    ("node", "PATCH", f"{SLICES}/n1-gpu", {"metadata": {"labels": {"a": "b"}}}, True),
    ("node", "PATCH", f"{SLICES}/n2-gpu", {"metadata": {"labels": {"a": "b"}}}, False),
    ("node", "PATCH", f"{SLICES}/n1-gpu", {"spec": {"nodeName": "n2"}}, False),
    ("node", "DELETE", f"{SLICES}/n2-gpu", None, False),
    ("node", "POST", SLICES, {**slice_of("n2"), "metadata": {"name": "stolen"}}, False),
    ("node", "PATCH", f"{TEAM}/pods/on-n1/status", {"status": {"phase": "Running"}}, True),
    ("node", "PATCH", f"{TEAM}/pods/on-n2/status", {"status": {"phase": "Failed"}}, False),
    ("node", "DELETE", f"{TEAM}/pods/on-n2", None, False),
    ("node", "POST", f"{TEAM}/pods", pod("new"), False),
    ("node", "PATCH", f"{CLAIMS}/train/status", GIVEN, False),
    ("node", "PATCH", f"{CLAIMS}/train", {"metadata": {"labels": {"a": "b"}}}, False),
    ("node", "GET", f"{TEAM}/secrets", None, False),
    ("admin", "GET", "/api/v1/namespaces/other/secrets", None, True),
    ("admin", "PATCH", "/api/v1/nodes/n2", {"metadata": {"labels": {"a": "b"}}}, True),
]


def test_each_role_may_what_is_told_and_nothing_else(plane: Place) -> None:
    who = {
        "viewer": plane.client("vera", "--role", "viewer"),
        "user": plane.client("ada", "-n", "team"),
        "node": plane.client("n1", "--role", "node"),
        "admin": plane.client("root", "--role", "admin", "--days", "1"),
    }
    found = []
    for role, method, path, body, _ in MATRIX:
        code, told = who[role].ask(
            method, path, body, MERGE if method == "PATCH" else "application/json"
        )
        assert code < 300 or (code in (403, 422) and told["message"]), (role, method, path, told)
        found.append((role, method, path, code < 300))
    assert found == [(role, method, path, may) for role, method, path, _, may in MATRIX]


def test_the_thin_clients_tell_what_one_may_not(plane: Place) -> None:
    plane.client("ada", "-n", "team")
    config = plane.data.parent / "ada.kubeconfig"
    assert upped.said(config, "get", "pods", "-o", "name").out == "pod/on-n1\npod/on-n2\n"
    everything = upped.said(config, "get", "pods", "-A")
    assert everything.code == 2
    assert 'User "ada" cannot list resource "pods"' in everything.err
    for words in (("why", "pod/on-n1"), ("devices",), ("allocate",)):
        said = upped.said(config, *words)
        assert (said.code, said.out) == (2, "")
        assert "may read all namespaces" in said.err
    described = upped.said(config, "describe", "pod/on-n1")
    assert described.code == 0
    assert "the reasons are left out" in described.err
    assert "name: on-n1" in described.out
    viewer = plane.data.parent / "vera.kubeconfig"
    viewer.write_text(made(plane.data, "vera", "--role", "viewer"))
    assert upped.said(viewer, "why", "pod/on-n1").code == 0
    assert upped.said(viewer, "devices").out.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ada",), "a user works in a namespace; add -n NAMESPACE"),
        (("ada", "-n", "team", "--days", "0"), "--days"),
        (("ada", "-n", "team", "--days", "366"), "--days"),
        (("system:node:n1", "-n", "team"), "system:"),
        (("ada", "-n", "team,system:masters"), "is no namespace"),
        (("a\nb", "-n", "team"), "printable"),
        (("", "--role", "viewer"), "1 to 64 characters"),
        (("a" * 65, "--role", "viewer"), "1 to 64 characters"),
        (("ada", "--role", "king"), "king"),
        (("ada", "--role", "viewer", "--data", "/nowhere"), "/nowhere: there is no control plane"),
    ],
)
def test_credentials_that_can_not_be_made(plane: Place, words: tuple[str, ...], told: str) -> None:
    where = () if "--data" in words else ("--data", str(plane.data))
    said = upped.run("kubeconfig", *words, *where)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


# --- what do they say -----------------------------------------------------------------------------

LARGE = {"metadata": {"name": "large"}, "data": {"a": "x" * (3 * 2**20)}}
NOTES = {"metadata": {"name": "notes", "annotations": {"a": "x" * 300_000}}}
PROTOBUF = "application/vnd.kubernetes.protobuf"
STALE = {"metadata": {"resourceVersion": "1"}, "data": {"a": "stale"}}
# What, method, path, body, its type, the code, and what the message names.
SENT: list[tuple[str, str, object, str, int, str]] = [
    ("POST", f"{TEAM}/configmaps", LARGE, "", 413, "3145728"),
    ("POST", f"{TEAM}/configmaps", NOTES, "", 422, "annotations"),
    ("POST", CLAIMS, claim("many", 33), "", 422, "spec.devices.requests"),
    ("POST", SLICES, slice_of("n9", 129), "", 422, "spec.devices"),
    ("POST", f"{TEAM}/configmaps", b'{"metadata": {', "", 400, "body"),
    ("POST", f"{TEAM}/configmaps", b"", "", 400, "body"),
    ("POST", f"{TEAM}/configmaps", b"[1]", "", 400, "body"),
    ("POST", f"{TEAM}/configmaps", b'{"a":' * 100_000, "", 400, ""),
    ("POST", f"{TEAM}/configmaps", b'{"a":' * 200 + b"1" + b"}" * 200, "", 400, "deeper"),
    ("POST", f"{TEAM}/configmaps", b"k8s\x00\xff\xff\xff\xff", PROTOBUF, 400, ""),
    ("POST", f"{TEAM}/configmaps", b"{}", PROTOBUF, 400, ""),
    ("POST", f"{TEAM}/configmaps", b"x", "text/html", 415, "text/html"),
    ("POST", f"{TEAM}/pods?fieldValidation=Strict", {**pod("f"), "spek": {}}, "", 400, "spek"),
    ("POST", f"{TEAM}/deployments", {"metadata": {"name": "d"}}, "", 404, ""),
    ("GET", "/apis/apps/v1/deployments", None, "", 404, ""),
    ("PATCH", f"{CLAIMS}/train", {"spec": {"devices": {"requests": []}}}, MERGE, 422, "immutable"),
    ("PATCH", f"{TEAM}/pods/on-n1", {"spec": {"nodeName": "n2"}}, MERGE, 422, "spec"),
    ("PATCH", f"{SLICES}/n1-gpu", {"spec": {"nodeName": "n2"}}, MERGE, 422, "immutable"),
    ("PATCH", f"{TEAM}/configmaps/kube-root-ca.crt", STALE, MERGE, 409, "has been modified"),
    ("PATCH", f"{TEAM}/pods/on-n1", {"metadata": {"uid": "other"}}, MERGE, 409, ""),
    ("PATCH", f"{TEAM}/pods/on-n1", b"{", MERGE, 400, ""),
    ("PATCH", f"{TEAM}/pods/on-n1", b'[{"op": "launch"}]', "application/json-patch+json", 400, ""),
    ("GET", f"{TEAM}/pods?resourceVersion=9999999", None, "", 504, ""),
    ("GET", f"{TEAM}/pods?resourceVersion=soon", None, "", 400, "resourceVersion"),
    ("GET", f"{TEAM}/pods?limit=1&continue=made-up", None, "", 400, "continue"),
    ("DELETE", f"{TEAM}/pods/on-n1", {"preconditions": {"uid": "other"}}, "", 409, "other"),
    ("TRACE", f"{TEAM}/pods", None, "", 405, ""),
]


def test_what_can_not_be_taken_says_why(plane: Place) -> None:
    made_once = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"a": "b"}}
    plane.admin.ask("POST", f"{TEAM}/configmaps", made_once)
    for method, path, body, kind, code, named in SENT:
        answer, told = plane.admin.ask(method, path, body, kind or "application/json")
        about = (method, path, str(body)[:40])
        assert (*about, answer) == (*about, code), told
        assert named in told["message"], (about, told)
        assert (told["kind"], told["status"]) == ("Status", "Failure")


def test_heads_that_are_too_much(plane: Place) -> None:
    for head in (
        b"GET /api HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
    ):
        with plane.admin.connect() as wire:
            wire.sendall(head)
            assert b" 400 " in wire.recv(65536)
            assert is_closed(wire)


def is_closed(wire: socket.socket) -> bool:
    try:
        while wire.recv(65536):
            pass
    except (ConnectionError, ssl.SSLError):
        pass
    return True


# --- how much, and how slowly ---------------------------------------------------------------------


def test_a_thousand_watches_are_one_client_s_share(plane: Place) -> None:
    """The bound as it is shipped; the next one is refused, and others go on."""
    bounds = Limits()
    other = plane.client("watcher", "--role", "viewer")
    head = f"GET {TEAM}/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    begun = time.monotonic()
    with ExitStack() as held:
        wires = [held.enter_context(other.connect()) for _ in range(bounds.watches_of_one)]
        for wire in wires:
            wire.sendall(head)
        for wire in wires:
            assert b" 200 " in wire.recv(300)
        code, told = other.ask("GET", f"{TEAM}/configmaps?watch=true")
        assert (code, told["reason"]) == (429, "TooManyRequests")
        assert f"watcher has {bounds.watches_of_one} watches open" in told["message"]
        # They are told what happens, and nobody else waits for them.
        plane.admin.must("POST", f"{TEAM}/configmaps", {"metadata": {"name": "news"}})
        for wire in (wires[0], wires[-1]):
            assert b'"news"' in read_until(wire, b'"news"')
    assert time.monotonic() - begun < 60
    plane.admin.must("DELETE", f"{TEAM}/configmaps/news")


def read_until(wire: socket.socket, wanted: bytes) -> bytes:
    found = b""
    while wanted not in found and (more := wire.recv(65536)):
        found += more
    return found


def test_a_byte_a_second_is_not_waited_for(plane: Place) -> None:
    """A body that doesn't end is given up, and meanwhile everybody else is served."""
    head = f"POST {TEAM}/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode()
    begun = time.monotonic()
    with plane.admin.connect() as wire:
        wire.sendall(head)
        wire.settimeout(0.5)
        answer = b""
        while not answer and time.monotonic() - begun < 2 * Limits().body_s:
            wire.sendall(b" ")
            asked = time.monotonic()
            plane.admin.must("GET", f"{TEAM}/pods")
            assert time.monotonic() - asked < 5
            try:
                answer = wire.recv(65536)
            except TimeoutError:
                continue
    assert b" 408 " in answer
    assert time.monotonic() - begun < 2 * Limits().body_s


def test_who_reads_a_byte_a_second_is_dropped(tmp_path: Path) -> None:
    """With shorter patience, over TLS, which holds back more than a socket does."""
    ours = authority.in_folder(tmp_path, NOW)
    pair = ours.for_server(["127.0.0.1"], NOW)
    (tmp_path / "chain").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "chain")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    bounds = replace(Limits(), write_s=0.1)
    with apiserver.running(tls=context, bounds=bounds) as server:
        client = Client(kubeconfig.Access(server.url, "default", trusting))
        maps = "/api/v1/namespaces/default/configmaps"
        with client.connect() as wire:
            wire.sendall(f"GET {maps}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert b" 200 " in wire.recv(300)
            for number in range(60):
                large = {"metadata": {"name": f"c{number}"}, "data": {"a": "x" * 500_000}}
                client.must("POST", maps, large)
                wire.recv(1)
            for _ in range(200):
                if not server.handler.load.watches.total():
                    break
                time.sleep(0.05)
            assert not server.handler.load.watches.total()
        # A large list that nobody takes is given up as well.
        with client.connect() as wire:
            wire.sendall(f"GET {maps} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            time.sleep(0.5)
            for _ in range(400):
                if not server.handler.load.requests.total():
                    break
                time.sleep(0.05)
            assert not server.handler.load.requests.total()


# --- time goes back -------------------------------------------------------------------------------


def test_a_clock_that_is_set_back(tmp_path: Path) -> None:
    """Order is by revision, never by time: all goes on, and nothing ends before its time."""
    clock = apiserver.Clock()
    with apiserver.running(clock=clock) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")

        def ask(method: str, path: str, body: object = None) -> dict[str, Any]:
            with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
                connection.request(method, path, json.dumps(body) if body else None)
                answer = connection.getresponse()
                assert answer.status < 300, answer.read()
                return dict(json.loads(answer.read()))

        maps = "/api/v1/namespaces/default/configmaps"
        first = ask("POST", maps, {"metadata": {"name": "a"}})
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
        ask("POST", "/api/v1/namespaces/default/events", event)
        clock.now -= 100 * 86_400
        second = ask("POST", maps, {"metadata": {"name": "b"}})
        assert second["metadata"]["creationTimestamp"] < first["metadata"]["creationTimestamp"]
        versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second)]
        assert versions == sorted(versions)
        changed = ask("PUT", f"{maps}/a", {**first, "data": {"a": "b"}})
        assert int(changed["metadata"]["resourceVersion"]) > versions[1]
        assert [each["metadata"]["name"] for each in ask("GET", maps)["items"]] == ["a", "b"]
        table = ask("GET", f"{maps}/a")
        assert table["data"] == {"a": "b"}
        ask("DELETE", f"{maps}/a")
        assert ask("GET", "/api/v1/namespaces/default/events")["items"]


# --- and who has done it --------------------------------------------------------------------------


def test_the_audit_log_has_who_was_refused(plane: Place) -> None:
    """Runs last: of what the others did."""
    eve = plane.client("mallory", "-n", "team")
    assert eve.ask("DELETE", "/api/v1/namespaces/other/secrets/x")[0] == 403

    def log(*words: str) -> list[dict[str, Any]]:
        said = upped.run("audit-log", "--data", str(plane.data), "-o", "json", *words)
        assert said.code in (0, 1), said
        return [json.loads(line) for line in said.out.splitlines()]

    [line] = log("--user", "mallory")
    assert (line["verb"], line["resource"], line["namespace"]) == ("delete", "secrets", "other")
    assert (line["code"], line["peer"]) == (403, "127.0.0.1")
    assert log("--user", "mallory", "-n", "other", "--resource", "secrets", "--name", "x") == [line]
    assert log("--user", "mallory", "--since", "1h") == [line]
    assert log("--user", "mallory", "--until", "1h") == []
    assert log("--user", "mallory", "--since", line["time"], "--until", line["time"]) == [line]
    assert log("--user", "nobody") == []
    assert len(log("--tail", "3")) == 3
    assert any(each["code"] == 401 for each in log())
    table = upped.run("audit-log", "--data", str(plane.data), "--user", "mallory", "-o", "table")
    assert table.out.splitlines()[0].split() == ["TIME", "USER", "DID", "TO", "CODE"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--since", "yesterday"), "--since: 'yesterday' is no time; an age such as 30m"),
        (("--until", "-5m"), "--until: '-5m' is no time"),
        (("--tail", "0"), "--tail"),
        (("--data", "/nowhere"), "there is no audit log"),
    ],
)
def test_an_audit_log_that_can_not_be_asked(
    plane: Place, words: tuple[str, ...], told: str
) -> None:
    where = () if "--data" in words else ("--data", str(plane.data))
    said = upped.run("audit-log", *where, *words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
