"""What the server asks of security: who is this, may they, and what shall be remembered.

`api.access` decides; without it the server is open, which it is in tests only, on loopback.
Authorization is asked before a body is read; `may` once more where one object needs a verb of
its own (spec of claims' status: `resourceclaims/binding`, `resourceclaims/driver`).
"""

from __future__ import annotations

from collections.abc import Mapping
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


class Gate(Protocol):
    def who(self, credentials: Credentials) -> Caller | None:
        """Return the caller; None when the credentials are wrong or expired (401)."""

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        """Return why it is forbidden, None when it is allowed."""

    def objection(
        self, caller: Caller, asked: Asked, before: Tree | None, after: Tree | None
    ) -> str | None:
        """Return why this very write is forbidden, where that depends on the object: a node may
        write only what is its own. Asked once before each write is kept, after `refusal`."""

    def note(self, record: Record) -> None:
        """Remember what was done."""


class Open:
    """Everybody is an administrator."""

    def who(self, credentials: Credentials) -> Caller | None:
        return Caller("dibs:open", ("system:masters", "system:authenticated"))

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        return None

    def objection(
        self, caller: Caller, asked: Asked, before: Tree | None, after: Tree | None
    ) -> str | None:
        return None

    def note(self, record: Record) -> None:
        return None
