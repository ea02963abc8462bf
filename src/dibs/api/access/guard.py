"""Authentication, authorization and audit behind the one `gate.Gate` that the server asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dibs.api.access import audit, callers, nodes, protection, roles
from dibs.api.access.audit import Log
from dibs.api.access.callers import IsThere
from dibs.api.access.tokens import Signer
from dibs.api.calls import Asked, Caller, Tree
from dibs.api.gate import Account, Credentials, Record, Rule


@dataclass(frozen=True, slots=True)
class Guard:
    """`now` is seconds since 1970; `is_there` says whether a token's account still is."""

    signer: Signer
    is_there: IsThere
    log: Log
    now: Callable[[], float]

    def who(self, credentials: Credentials) -> Caller | None:
        return callers.caller(credentials, self.signer, self.is_there, self.now())

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        return roles.refusal(caller, asked)

    def objection(
        self, caller: Caller, asked: Asked, before: Tree | None, after: Tree | None
    ) -> str | None:
        return nodes.objection(caller, asked, before, after) or protection.objection(
            caller, asked, before, after
        )

    def concealed(self, caller: Caller, asked: Asked, tree: Callable[[], Tree]) -> str | None:
        return nodes.concealed(caller, asked, tree)

    def rules(self, caller: Caller, namespace: str) -> tuple[Rule, ...]:
        return roles.rules(caller, namespace)

    def token(
        self, account: Account, audiences: tuple[str, ...], lifetime_s: int
    ) -> tuple[str, float] | None:
        return self.signer.token(account, self.now(), lifetime_s, audiences)

    def note(self, record: Record) -> None:
        if (line := audit.entry(record, self.now())) is not None:
            self.log.write(line)
