"""Certificates and tokens → callers; everything wrong or over is nobody."""

from __future__ import annotations

import datetime
from pathlib import Path

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from dibs.api.access import authority, callers, tokens
from dibs.api.access.tokens import Signer
from dibs.api.calls import Caller
from dibs.api.gate import Account, Credentials
from dibs.values.mistake import Mistake

NOW = 1_800_000_000.0
SIGNER = Signer(b"k" * tokens.KEY_BYTES)
ROBOT = Account("team-a", "robot", "uid-1")


def who(
    authorization: str = "",
    certificate: bytes | None = None,
    *,
    now: float = NOW,
    there: tuple[Account, ...] = (ROBOT,),
) -> Caller | None:
    credentials = Credentials(authorization, certificate)
    return callers.caller(credentials, SIGNER, there.__contains__, now)


def bearer(subject: Account = ROBOT, lifetime_s: int = 3600, signer: Signer = SIGNER) -> str:
    return "Bearer " + signer.token(subject, NOW, lifetime_s)[0]


def test_a_token_is_its_service_account() -> None:
    caller = who(bearer())
    assert caller is not None
    assert caller.name == "system:serviceaccount:team-a:robot"
    assert caller.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:team-a",
        "system:authenticated",
    )


def test_a_token_ends() -> None:
    _, ends = SIGNER.token(ROBOT, NOW, 3600)
    assert ends == NOW + 3600
    assert who(bearer(), now=ends - 1) is not None
    assert who(bearer(), now=ends) is None


@pytest.mark.parametrize(
    ("asked_s", "given_s"), [(1, tokens.SHORTEST_S), (10**9, tokens.LONGEST_S), (700, 700)]
)
def test_a_lifetime_is_kept_in_bounds(asked_s: int, given_s: int) -> None:
    assert SIGNER.token(ROBOT, NOW, asked_s)[1] == NOW + given_s


def test_a_token_ends_with_its_account() -> None:
    assert who(bearer(), there=()) is None
    assert who(bearer(), there=(Account("team-a", "robot", "made anew"),)) is None


def test_wrong_tokens_are_nobodys() -> None:
    other = Signer(b"x" * tokens.KEY_BYTES)
    assert who(bearer(signer=other)) is None
    assert who("Bearer ") is None
    assert who("Basic YWRtaW46YWRtaW4=") is None
    assert who("Bearer " + "a" * 100_000) is None


def test_a_token_without_signature_is_nobodys() -> None:
    claims = jwt.decode(bearer().split()[1], options={"verify_signature": False})
    assert who("Bearer " + jwt.encode(claims, "", algorithm="none")) is None


def test_a_token_for_somebody_else_is_nobodys() -> None:
    claims = jwt.decode(bearer().split()[1], options={"verify_signature": False})
    elsewhere = {**claims, "aud": ["vault"]}
    assert who("Bearer " + jwt.encode(elsewhere, SIGNER.key, algorithm="HS256")) is None
    bare = {name: value for name, value in claims.items() if name != "kubernetes.io"}
    assert who("Bearer " + jwt.encode(bare, SIGNER.key, algorithm="HS256")) is None


@given(st.integers(min_value=0), st.characters(codec="ascii"))
def test_a_changed_token_is_nobodys(where: int, put: str) -> None:
    token = bearer()
    place = len("Bearer ") + where % (len(token) - len("Bearer "))
    changed = token[:place] + put + token[place + 1 :]
    # The last character of a part has bits that say nothing.
    is_last = place == len(token) - 1 or token[place + 1] == "."
    if changed != token and not is_last:
        assert who(changed) is None


@given(st.text(max_size=200))
def test_no_header_breaks_it(header: str) -> None:
    found = who(header)
    assert found is None or found == callers.ANONYMOUS


def test_who_shows_nothing_is_anonymous() -> None:
    assert who() == Caller("system:anonymous", ("system:unauthenticated",))


def test_a_certificate_is_its_user(tmp_path: Path) -> None:
    caller = who(certificate=certificate(tmp_path, "ada", "dibs:viewer", "lab"))
    assert caller == Caller("ada", ("dibs:viewer", "lab", "system:authenticated"))


def test_a_certificate_ends(tmp_path: Path) -> None:
    der = certificate(tmp_path, "ada", "dibs:viewer")
    ends = x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()
    assert who(certificate=der, now=ends - 1) is not None
    assert who(certificate=der, now=ends) is None
    assert who(certificate=b"rubbish") is None


def test_a_wrong_token_is_not_made_good_by_a_certificate(tmp_path: Path) -> None:
    der = certificate(tmp_path, "ada", "dibs:admin")
    assert who("Bearer wrong", der) is None


def test_the_key_of_tokens_is_kept(tmp_path: Path) -> None:
    token, _ = tokens.in_folder(tmp_path).token(ROBOT, NOW)
    assert tokens.in_folder(tmp_path).read(token, NOW) == ROBOT
    (tmp_path / "tokens.key").write_bytes(b"short")
    with pytest.raises(Mistake, match="has 5 bytes, a key has 32"):
        tokens.in_folder(tmp_path)


def certificate(folder: Path, user: str, *groups: str) -> bytes:
    now = datetime.datetime.fromtimestamp(NOW, datetime.UTC)
    pair = authority.in_folder(folder, now).for_client(user, groups, now)
    found = x509.load_pem_x509_certificate(pair.certificate)
    return found.public_bytes(serialization.Encoding.DER)


def test_a_node_is_of_its_node(tmp_path: Path) -> None:
    caller = who(certificate=certificate(tmp_path, "system:node:node-a", "system:nodes"))
    assert caller is not None
    assert caller.extra == {callers.NODE_NAME: ("node-a",)}
    # The name alone makes nobody a node.
    caller = who(certificate=certificate(tmp_path, "system:node:node-a", "lab"))
    assert caller is not None
    assert not caller.extra


def test_a_token_may_be_bound_to_a_pod() -> None:
    bound = Account("team-a", "robot", "uid-1", "Pod", "train-0", "uid-2")
    assert SIGNER.read(SIGNER.token(bound, NOW)[0], NOW) == bound
    assert who(bearer(bound)) is None
    assert who(bearer(bound), there=(bound,)) is not None


def test_a_token_for_other_audiences_is_no_credential_here() -> None:
    token, _ = SIGNER.token(ROBOT, NOW, 3600, ("vault",))
    assert who(f"Bearer {token}") is None
    both, _ = SIGNER.token(ROBOT, NOW, 3600, ("vault", tokens.AUDIENCE))
    assert who(f"Bearer {both}") is not None
