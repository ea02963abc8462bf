"""What the server asks of security: who is this, may they, and what shall be remembered.

`api.access` decides; without it the server is open, which it is in tests only, on loopback.
Authorization is asked before a body is read; `may` once more where one object needs a verb of
its own (spec of claims' status: `resourceclaims/binding`, `resourceclaims/driver`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dibs.api.calls import Asked, Caller, Tree


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a connection shows. `certificate` is the verified client certificate in DER."""

    authorization: str = ""
    certificate: bytes | None = None
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One request that was answered, for the audit log. `after` is the object that was written,
    `before` what it was, None where there is none."""

    caller: Caller
    asked: Asked
    code: int
    peer: str = ""
    user_agent: str = ""
    before: Tree | None = None
    after: Tree | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_dry: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """What somebody may do, for `kubectl auth can-i --list`; "*" is all."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """The ServiceAccount a token is for, and the object that it dies with, if any."""

    namespace: str
    name: str
    uid: str
    bound_kind: str = ""
    bound_name: str = ""
    bound_uid: str = ""


class Gate(Protocol):
    def who(self, credentials: Credentials) -> Caller | None:
        """Return the caller; None when the credentials are wrong or expired (401)."""

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        """Return why it is forbidden, None when it is allowed."""

    def objection(
        self, caller: Caller, asked: Asked, before: Tree | None, after: Tree | None
    ) -> str | None:
        """Return why this very write is forbidden, where that depends on the object: a node may
        write only what is its own. Asked once before each write is kept, after `refusal`.

        Trees are of the stored version, None where there is no object before or after.
        """

    def concealed(self, caller: Caller, asked: Asked, tree: Callable[[], Tree]) -> str | None:
        """Return why this very object may not be read, where that depends on it. Asked of each
        `get`, after `refusal`; `tree` reads the object."""

    def rules(self, caller: Caller, namespace: str) -> tuple[Rule, ...]:
        """Return what the caller may do in a namespace, as far as it can be listed."""

    def token(
        self, account: Account, audiences: tuple[str, ...], lifetime_s: int
    ) -> tuple[str, float] | None:
        """Return a bearer token and when it expires (seconds since 1970); None if none is given."""

    def note(self, record: Record) -> None:
        """Remember what was done."""


class Open:
    """Everybody is an administrator; nobody is remembered and gets a token."""

    def who(self, credentials: Credentials) -> Caller | None:
        return Caller("dibs:open", ("system:masters", "system:authenticated"))

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        return None

    def objection(
        self, caller: Caller, asked: Asked, before: Tree | None, after: Tree | None
    ) -> str | None:
        return None

    def concealed(self, caller: Caller, asked: Asked, tree: Callable[[], Tree]) -> str | None:
        return None

    def rules(self, caller: Caller, namespace: str) -> tuple[Rule, ...]:
        return (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))

    def token(
        self, account: Account, audiences: tuple[str, ...], lifetime_s: int
    ) -> tuple[str, float] | None:
        return None

    def note(self, record: Record) -> None:
        return None
