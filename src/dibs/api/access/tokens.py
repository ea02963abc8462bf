"""Bearer tokens of service accounts: JSON Web Tokens, signed with the folder's own key.

A token names its account with the account's uid, so that it ends with the account, and has an
end of its own. Whether the account is still there is asked in `callers`.
Source: RFC 7519; authentication.k8s.io/v1 TokenRequest.
"""

from __future__ import annotations

import secrets as chance
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jwt

from dibs.api.access import secrets
from dibs.api.gate import Account
from dibs.values.mistake import Mistake

ISSUER = "https://dibs.local"
AUDIENCE = "https://kubernetes.default.svc"
ALGORITHM = "HS256"
KEY_BYTES = 32
# What a token can die with, beside its account (BoundObjectReference).
BOUND_KINDS = ("Pod", "Node", "Secret")
# TokenRequestSpec.expirationSeconds: at least ten minutes; longer than a day nobody needs.
SHORTEST_S = 600
LONGEST_S = 86_400
DEFAULT_S = 3_600
# No token of ours is as long; one that is isn't looked at.
MAX_LENGTH = 4_096


@dataclass(frozen=True, slots=True)
class Signer:
    key: bytes

    def token(
        self,
        account: Account,
        now: float,
        lifetime_s: int = DEFAULT_S,
        audiences: tuple[str, ...] = (),
    ) -> tuple[str, float]:
        """Return a token and the time (seconds since 1970) at which it ends.

        For other audiences than this server it is no credential here.
        """
        seconds = min(max(lifetime_s, SHORTEST_S), LONGEST_S)
        ends = int(now) + seconds
        claims = {
            "iss": ISSUER,
            "aud": list(audiences or (AUDIENCE,)),
            "iat": int(now),
            "nbf": int(now),
            "exp": ends,
            "sub": f"system:serviceaccount:{account.namespace}:{account.name}",
            "kubernetes.io": _written(account),
        }
        return jwt.encode(claims, self.key, algorithm=ALGORITHM), ends

    def read(self, token: str, now: float) -> Account | None:
        """Return whose token it is; None when it isn't ours, was changed, or is over."""
        if len(token) > MAX_LENGTH:
            return None
        try:
            claims = jwt.decode(
                token,
                self.key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                # Times are judged below, by the clock that came in.
                options={
                    "require": ["exp", "iat", "sub"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
            account = _read(claims["kubernetes.io"])
            return account if now < int(claims["exp"]) else None
        except (jwt.InvalidTokenError, KeyError, TypeError, ValueError):
            return None


def _written(account: Account) -> dict[str, Any]:
    """As Kubernetes lays it out, so that other tools can read whose token it is."""
    claims: dict[str, Any] = {
        "namespace": account.namespace,
        "serviceaccount": {"name": account.name, "uid": account.uid},
    }
    if account.bound_kind:
        bound = {"name": account.bound_name, "uid": account.bound_uid}
        claims[account.bound_kind.lower()] = bound
    return claims


def _read(claims: Any) -> Account:
    """Raises KeyError or TypeError for what `_written` didn't write."""
    account = claims["serviceaccount"]
    plain = Account(str(claims["namespace"]), str(account["name"]), str(account["uid"]))
    for kind in BOUND_KINDS:
        if bound := claims.get(kind.lower()):
            name, uid = str(bound["name"]), str(bound["uid"])
            return replace(plain, bound_kind=kind, bound_name=name, bound_uid=uid)
    return plain


def in_folder(folder: Path) -> Signer:
    """Open the key of a folder, or make one. Raises Mistake for a key that is none."""
    path = folder / "tokens.key"
    if not path.exists():
        secrets.write(path, chance.token_bytes(KEY_BYTES))
    key = secrets.read(path)
    if len(key) != KEY_BYTES:
        raise Mistake(
            f"has {len(key)} bytes, a key has {KEY_BYTES}",
            path=str(path),
            remedy="remove it: all tokens end with it, and new ones can be made",
        )
    return Signer(key)
