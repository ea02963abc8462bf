"""What a connection shows → who it is. Wrong credentials are nobody's; none at all are anonymous.

A client certificate has been verified against our authority by TLS already; its common name is
the user, its organizations are the groups. A bearer token names a service account, which must
still be there. Source: Kubernetes authentication (X.509 client certificates, service accounts).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from cryptography import x509
from cryptography.x509.oid import NameOID

from dibs.api.access import roles
from dibs.api.access.roles import AUTHENTICATED
from dibs.api.access.tokens import Signer
from dibs.api.calls import Caller
from dibs.api.gate import Account, Credentials

ANONYMOUS = Caller()
ACCOUNTS = "system:serviceaccounts"
NODE_NAME = "authentication.kubernetes.io/node-name"

# Says whether the service account with this uid, and what its token is bound to, are there.
IsThere = Callable[[Account], bool]


def caller(
    credentials: Credentials, signer: Signer, is_there: IsThere, now: float
) -> Caller | None:
    """Return the caller, None when what is shown is wrong or over (401)."""
    if credentials.authorization:
        return _of_token(credentials.authorization, signer, is_there, now)
    if credentials.certificate is not None:
        return _of_certificate(credentials.certificate, now)
    return ANONYMOUS


def _of_token(header: str, signer: Signer, is_there: IsThere, now: float) -> Caller | None:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return None
    account = signer.read(token.strip(), now)
    if account is None or not is_there(account):
        return None
    groups = (ACCOUNTS, f"{ACCOUNTS}:{account.namespace}", AUTHENTICATED)
    name = f"system:serviceaccount:{account.namespace}:{account.name}"
    return Caller(name, groups, account.uid)


def _of_certificate(der: bytes, now: float) -> Caller | None:
    # TLS looked at its dates when the connection was made; a connection may outlive them.
    found = _read(der)
    return found[0] if found is not None and now < found[1] else None


# Belongs to nobody's state: what is written in a certificate never changes. A client shows the
# same one with each of its requests.
@lru_cache(maxsize=1024)
def _read(der: bytes) -> tuple[Caller, float] | None:
    """Return whose it is and until when, in seconds since 1970; None when it can't be read."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    except ValueError:
        return None
    if not names:
        return None
    name, said = str(names[0].value), tuple(str(group.value) for group in groups)
    # Drivers run under their node's name: what they report of devices is of that node (KEP-4817).
    node = roles.node_of(Caller(name, said))
    extra = {NODE_NAME: (node,)} if node else {}
    caller = Caller(name, (*said, AUTHENTICATED), extra=extra)
    return caller, certificate.not_valid_after_utc.timestamp()
