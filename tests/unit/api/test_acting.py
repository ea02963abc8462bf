"""Acting as somebody else: with their rights and none of one's own, if one may be them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from dibs.api.access import audit, nodes, roles
from dibs.api.access.audit import Entry
from dibs.api.calls import Asked, Caller, Tree
from dibs.api.gate import Credentials, Open, Record
from dibs.testing import apiserver
from dibs.testing.apiserver import Running

IN = "system:authenticated"
CALLERS = {
    "root": Caller("root", ("dibs:admin", IN)),
    "ada": Caller("ada", ("dibs:user:default", IN)),
    "eve": Caller("eve", ("dibs:viewer", IN)),
}
MAPS, SECRETS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
ACCOUNT = "system:serviceaccount:default:default"


@dataclass
class Roles(Open):
    """Whoever says a name is it; roles as they are."""

    records: list[Record] = field(default_factory=list)

    def who(self, credentials: Credentials) -> Caller | None:
        return CALLERS.get(credentials.authorization)

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        return roles.refusal(caller, asked)

    def concealed(self, caller: Caller, asked: Asked, tree: Callable[[], Tree]) -> str | None:
        return nodes.concealed(caller, asked, tree)

    def note(self, record: Record) -> None:
        self.records.append(record)


@pytest.fixture(scope="module")
def gate() -> Roles:
    return Roles()


@pytest.fixture(scope="module")
def server(gate: Roles) -> Iterator[Running]:
    with apiserver.running(gate=gate) as running:
        yield running


def send(server: Running, headers: dict[str, str], path: str, body: object = None) -> Any:
    host = server.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=10)) as connection:
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def ask(server: Running, who: str, path: str, body: object = None, **named: str) -> tuple[int, str]:
    headers = {name.replace("_", "-"): value for name, value in named.items()}
    code, tree = send(server, {"Authorization": who, **headers}, path, body)
    return code, tree.get("message", "")


def test_an_administrator_has_the_rights_of_the_other_and_no_more(server: Running) -> None:
    assert ask(server, "root", SECRETS)[0] == 200
    code, told = ask(server, "root", SECRETS, Impersonate_User="nobody")
    assert (code, told.startswith('secrets is forbidden: User "nobody" cannot list')) == (403, True)
    viewer = {"Impersonate_User": "eve", "Impersonate_Group": "dibs:viewer"}
    assert ask(server, "root", MAPS, **viewer)[0] == 200
    assert ask(server, "root", SECRETS, **viewer)[0] == 403
    assert ask(server, "root", MAPS, {"metadata": {"name": "c"}}, **viewer)[0] == 403


@pytest.mark.parametrize(
    ("who", "named", "resource"),
    [
        ("eve", {"Impersonate_User": "root"}, 'users "root"'),
        ("ada", {"Impersonate_User": "root"}, 'users "root"'),
        ("ada", {"Impersonate_User": "system:serviceaccount:kube-system:x"}, "serviceaccounts"),
        ("ada", {"Impersonate_User": ACCOUNT, "Impersonate_Group": "dibs:admin"}, "groups"),
        ("ada", {"Impersonate_User": ACCOUNT, "Impersonate_Uid": "1"}, "uids.authentication"),
        ("ada", {"Impersonate_User": ACCOUNT, "Impersonate_Extra_A": "b"}, "userextras.authent"),
    ],
)
def test_nobody_gets_rights_that_way(
    server: Running, who: str, named: dict[str, str], resource: str
) -> None:
    code, told = ask(server, who, MAPS, **named)
    assert code == 403
    assert told.startswith(resource)
    assert f'User "{who}" cannot impersonate' in told


def test_who_may_have_its_token_may_be_the_account(server: Running) -> None:
    assert ask(server, "ada", MAPS, Impersonate_User=ACCOUNT)[0] == 200


@pytest.mark.parametrize(
    "named",
    [
        {"Impersonate_Group": "dibs:viewer"},
        {"Impersonate_Uid": "1"},
        {"Impersonate_Extra_A": "b"},
        {"Impersonate_User": ""},
        {"Impersonate_User": "eve", "Impersonate_Usr": "x"},
    ],
)
def test_what_is_asked_by_halves_is_refused(server: Running, named: dict[str, str]) -> None:
    assert ask(server, "root", MAPS, **named)[0] == 400


def test_the_other_is_told_who_they_are(server: Running) -> None:
    headers = {
        "Authorization": "root",
        "Impersonate-User": ACCOUNT,
        "Impersonate-Extra-example.com%2fwhy": "a test",
    }
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, review = send(server, headers, path, {})
    assert review["status"]["userInfo"] == {
        "username": ACCOUNT,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", IN],
        "extra": {"example.com/why": ["a test"]},
    }


def test_the_log_knows_both(server: Running, gate: Roles) -> None:
    named = {"Impersonate_User": "eve", "Impersonate_Group": "dibs:user:default"}
    assert ask(server, "root", MAPS, {"metadata": {"name": "told"}}, **named)[0] == 201
    line = audit.entry(gate.records[-1], 0)
    assert isinstance(line, Entry)
    assert (line.user, line.acting_as, line.verb) == ("root", "eve", "create")
    for user in ("root", "eve"):
        assert audit.Filter(user=user).takes(line)
    ask(server, "ada", MAPS, Impersonate_User="root")
    line = audit.entry(gate.records[-1], 0)
    assert isinstance(line, Entry)
    assert (line.user, line.verb, line.resource, line.code) == ("ada", "impersonate", "users", 403)


def test_dry_runs_are_told_as_such(server: Running, gate: Roles) -> None:
    body = {"metadata": {"name": "dry"}}
    assert ask(server, "root", f"{MAPS}?dryRun=All", body)[0] == 201
    assert gate.records[-1].is_dry
    assert ask(server, "root", MAPS, {"metadata": {"name": "wet"}})[0] == 201
    assert not gate.records[-1].is_dry


def test_a_node_lists_what_is_its_own(server: Running) -> None:
    def code(user: str, path: str) -> int:
        named = {"Impersonate_User": f"system:node:{user}", "Impersonate_Group": "system:nodes"}
        return ask(server, "root", path, **named)[0]

    assert code("n", "/api/v1/pods") == 403
    assert code("n", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn") == 200
    assert code("m", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn") == 403
    assert code("n", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn") == 403
    assert code("n", "/api/v1/pods?fieldSelector=%2C%2C") == 400
    assert ask(server, "root", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] == 201
    assert code("n", "/api/v1/nodes/n") == 200
    assert code("m", "/api/v1/nodes/n") == 403
