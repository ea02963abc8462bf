"""The certificate authority of one data folder: made at first start, kept with its key in it.

It signs the server's own certificate, and client certificates whose common name is the user and
whose organizations are the groups, as Kubernetes reads them. Who may have one is not decided
here: whoever can read the folder can sign. Source: RFC 5280; kubeadm's files (ca.crt, ca.key).
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dibs.api.access import secrets
from dibs.values.mistake import Mistake

# Two names: a certificate that is signed by its own name looks as if it had signed itself.
NAME = "dibs-ca"
SERVER = "dibs"
CERTIFICATE, KEY = "ca.crt", "ca.key"
YEARS = 10
# Clocks of clients may be behind by so much.
SKEW = datetime.timedelta(minutes=5)
ONE_MONTH = datetime.timedelta(days=30)
ONE_YEAR = datetime.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """`certificate` is what clients trust; `key` never leaves this value and its file."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def for_server(self, hosts: Iterable[str], now: datetime.datetime) -> Pair:
        """Sign a certificate for names and addresses (`hosts`), good for a year."""
        names = [_general_name(host) for host in dict.fromkeys(hosts)]
        extension = x509.SubjectAlternativeName(names)
        usage = ExtendedKeyUsageOID.SERVER_AUTH
        return self._signed(_subject(SERVER), now, ONE_YEAR, usage, extension)

    def still_serves(self, pem: bytes, hosts: Iterable[str], now: datetime.datetime) -> bool:
        """Whether an earlier certificate `for_server` does for these hosts, a month at least."""
        try:
            found = x509.load_pem_x509_certificate(pem)
            found.verify_directly_issued_by(self.certificate)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        is_in_time = found.not_valid_before_utc <= now < found.not_valid_after_utc - ONE_MONTH
        return is_in_time and all(_general_name(host) in names for host in hosts)

    def for_client(
        self,
        user: str,
        groups: Sequence[str],
        now: datetime.datetime,
        lifetime: datetime.timedelta = ONE_YEAR,
    ) -> Pair:
        """Sign a certificate for a user with these groups. Raises Mistake for what fits in none."""
        if not user or any(len(each) > 64 for each in (user, *groups)):
            raise Mistake(
                f"user {user!r} with groups {', '.join(groups)}: names have 1 to 64 characters",
                remedy="choose shorter names",
            )
        return self._signed(_subject(user, groups), now, lifetime, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _signed(
        self,
        subject: x509.Name,
        now: datetime.datetime,
        lifetime: datetime.timedelta,
        usage: x509.ObjectIdentifier,
        *extensions: x509.ExtensionType,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SKEW)
            # What is signed doesn't outlive who signed it.
            .not_valid_after(min(now + lifetime, self.certificate.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        signed = builder.sign(self.key, hashes.SHA256())
        return Pair(signed.public_bytes(serialization.Encoding.PEM), _pem(key))


def in_folder(folder: Path, now: datetime.datetime) -> Authority:
    """Open the authority of a folder, or make one. Raises Mistake for files that are not ours."""
    certificate, key = folder / CERTIFICATE, folder / KEY
    if certificate.exists() and not key.exists():
        raise Mistake(
            f"{key} is missing beside {certificate.name}",
            path=str(folder),
            remedy="restore it; or remove the other too, then every kubeconfig must be made anew",
        )
    if not key.exists():
        secrets.write(key, _pem(ec.generate_private_key(ec.SECP256R1())))
    if not certificate.exists():
        # The first start ended between the two. Of the same key it is the same authority.
        secrets.write(certificate, _new(_read_key(key), now).pem)
    found = _read(certificate, key)
    _check_time(found.certificate, folder, now)
    return found


def _check_time(certificate: x509.Certificate, folder: Path, now: datetime.datetime) -> None:
    """What it signs now nobody could use: clients would be cut off without a word."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if begins <= now < ends:
        return
    when = f"{begins:%Y-%m-%dT%H:%M:%SZ} to {ends:%Y-%m-%dT%H:%M:%SZ}"
    raise Mistake(
        f"the clock says {now:%Y-%m-%dT%H:%M:%SZ}, and the certificate authority is good from "
        f"{when}",
        path=str(folder),
        remedy="set the clock; if it is right, remove ca.crt, then every kubeconfig must be made "
        "anew",
    )


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(secrets.read(path), password=None)
    except (ValueError, TypeError) as fault:
        raise _unreadable(path.parent, fault) from fault
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise _unreadable(path.parent, "its key is of another kind")
    return key


def _unreadable(folder: Path, why: object) -> Mistake:
    return Mistake(
        f"the certificate authority can't be read: {why}",
        path=str(folder),
        remedy="restore ca.crt and ca.key, or remove both",
    )


def _read(certificate: Path, key: Path) -> Authority:
    private = _read_key(key)
    try:
        public = x509.load_pem_x509_certificate(certificate.read_bytes())
    except ValueError as fault:
        raise _unreadable(certificate.parent, fault) from fault
    if private.public_key() != public.public_key():
        raise Mistake(
            "ca.key is not the key of ca.crt",
            path=str(certificate.parent),
            remedy="restore the two that belong together, or remove both",
        )
    return Authority(public, private)


def _new(key: ec.EllipticCurvePrivateKey, now: datetime.datetime) -> Authority:
    subject = _subject(NAME)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + YEARS * ONE_YEAR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _subject(user: str, groups: Iterable[str] = ()) -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
