"""Bearer tokens of service accounts: JSON Web Tokens, signed with the folder's own key.

A token names its account with the account's uid, so that it ends with the account, and has an
end of its own. Whether the account is still there is asked in `callers`.
Source: RFC 7519; authentication.k8s.io/v1 TokenRequest.
"""

from __future__ import annotations

import secrets as chance
from dataclasses import dataclass
from pathlib import Path

import jwt

from dibs.api.access import secrets
from dibs.values.mistake import Mistake

ISSUER = "https://dibs.local"
AUDIENCE = "https://kubernetes.default.svc"
ALGORITHM = "HS256"
KEY_BYTES = 32
# TokenRequestSpec.expirationSeconds: at least ten minutes; longer than a day nobody needs.
SHORTEST_S = 600
LONGEST_S = 86_400
DEFAULT_S = 3_600
# No token of ours is as long; one that is isn't looked at.
MAX_LENGTH = 4_096


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose token it is: `name` in `namespace`, the account with this `uid`."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Signer:
    key: bytes

    def token(self, subject: Subject, now: float, lifetime_s: int = DEFAULT_S) -> tuple[str, float]:
        """Return a token and the time (seconds since 1970) at which it ends."""
        seconds = min(max(lifetime_s, SHORTEST_S), LONGEST_S)
        ends = int(now) + seconds
        claims = {
            "iss": ISSUER,
            "aud": [AUDIENCE],
            "iat": int(now),
            "nbf": int(now),
            "exp": ends,
            "sub": f"system:serviceaccount:{subject.namespace}:{subject.name}",
            "kubernetes.io": {
                "namespace": subject.namespace,
                "serviceaccount": {"name": subject.name, "uid": subject.uid},
            },
        }
        return jwt.encode(claims, self.key, algorithm=ALGORITHM), ends

    def read(self, token: str, now: float) -> Subject | None:
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
            account = claims["kubernetes.io"]["serviceaccount"]
            subject = Subject(claims["kubernetes.io"]["namespace"], account["name"], account["uid"])
            return subject if now < int(claims["exp"]) else None
        except (jwt.InvalidTokenError, KeyError, TypeError, ValueError):
            return None


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
