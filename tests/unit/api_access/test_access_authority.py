"""The authority of a data folder: what it signs is trusted by TLS, and its files are guarded."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from dibs.api.access import authority
from dibs.values.mistake import Mistake

NOW = datetime.datetime.now(datetime.UTC)


def test_the_same_folder_gives_the_same_authority(tmp_path: Path) -> None:
    first = authority.in_folder(tmp_path, NOW)
    assert authority.in_folder(tmp_path, NOW).pem == first.pem


def test_keys_are_for_the_owner_only(tmp_path: Path) -> None:
    authority.in_folder(tmp_path / "data", NOW)
    assert (tmp_path / "data" / "ca.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    authority.in_folder(tmp_path, NOW)
    (tmp_path / "ca.key").chmod(0o644)
    with pytest.raises(Mistake, match="others may read or write it") as told:
        authority.in_folder(tmp_path, NOW)
    assert told.value.path == str(tmp_path / "ca.key")
    assert "chmod 600" in told.value.remedy


def test_an_authority_without_its_key_is_refused_and_kept(tmp_path: Path) -> None:
    authority.in_folder(tmp_path, NOW)
    (tmp_path / "ca.key").unlink()
    before = (tmp_path / "ca.crt").read_bytes()
    with pytest.raises(Mistake, match=r"ca\.key is missing"):
        authority.in_folder(tmp_path, NOW)
    assert (tmp_path / "ca.crt").read_bytes() == before
    assert not (tmp_path / "ca.key").exists()


def test_a_key_without_certificate_is_the_same_authority(tmp_path: Path) -> None:
    """As a first start leaves it that ended between the two."""
    first = authority.in_folder(tmp_path, NOW)
    pair = first.for_client("ada", [], NOW)
    (tmp_path / "ca.crt").unlink()
    again = authority.in_folder(tmp_path, NOW)
    assert again.key.public_key() == first.key.public_key()
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    certificate.verify_directly_issued_by(again.certificate)


def test_a_key_of_another_authority_is_refused(tmp_path: Path) -> None:
    authority.in_folder(tmp_path / "a", NOW)
    authority.in_folder(tmp_path / "b", NOW)
    (tmp_path / "a" / "ca.key").write_bytes((tmp_path / "b" / "ca.key").read_bytes())
    with pytest.raises(Mistake, match=r"ca\.key is not the key of ca\.crt"):
        authority.in_folder(tmp_path / "a", NOW)


def test_rubbish_is_refused(tmp_path: Path) -> None:
    authority.in_folder(tmp_path, NOW)
    (tmp_path / "ca.key").write_bytes(b"rubbish")
    with pytest.raises(Mistake, match="can't be read"):
        authority.in_folder(tmp_path, NOW)


def test_a_user_and_groups_stand_in_the_certificate(tmp_path: Path) -> None:
    pair = authority.in_folder(tmp_path, NOW).for_client("ada", ["dibs:viewer", "lab"], NOW)
    names = x509.load_pem_x509_certificate(pair.certificate).subject.rfc4514_string()
    assert "CN=ada" in names
    assert "O=dibs:viewer" in names
    assert "O=lab" in names


def test_nothing_outlives_the_authority(tmp_path: Path) -> None:
    ours = authority.in_folder(tmp_path, NOW)
    late = NOW + datetime.timedelta(days=365 * authority.YEARS - 1)
    pair = ours.for_client("ada", [], late)
    ends = x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc
    assert ends == ours.certificate.not_valid_after_utc


@pytest.mark.parametrize("user", ["", "x" * 65])
def test_names_that_fit_in_no_certificate_are_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(Mistake, match="1 to 64 characters"):
        authority.in_folder(tmp_path, NOW).for_client(user, [], NOW)


def test_tls_trusts_what_was_signed_and_nothing_else(tmp_path: Path) -> None:
    ours = authority.in_folder(tmp_path / "a", NOW)
    others = authority.in_folder(tmp_path / "b", NOW)
    served = server_context(tmp_path, ours)
    assert asyncio.run(greeted(served, client_context(tmp_path, ours, ours))) == b"ada"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        asyncio.run(greeted(served, client_context(tmp_path, ours, others)))
    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(greeted(served, client_context(tmp_path, others, ours)))


def server_context(folder: Path, ours: authority.Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(context, folder, ours.for_server(["localhost", "127.0.0.1"], NOW))
    context.load_verify_locations(cadata=ours.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(
    folder: Path, trusted: authority.Authority, signer: authority.Authority
) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=trusted.pem.decode())
    load(context, folder, signer.for_client("ada", [], NOW))
    return context


def load(context: ssl.SSLContext, folder: Path, pair: authority.Pair) -> None:
    (folder / "chain.pem").write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(folder / "chain.pem")


async def greeted(served: ssl.SSLContext, asking: ssl.SSLContext) -> bytes:
    """Connect, and let the server say whose certificate it saw."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = writer.get_extra_info("peercert")["subject"]
        writer.write(dict(each for (each,) in subject)["commonName"].encode())
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=served)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=asking)
        try:
            found = await reader.read()
            if not found:
                raise ConnectionError("closed without a word")
            return found
        finally:
            writer.close()


@pytest.mark.parametrize("days", [-10, 365 * authority.YEARS + 10])
def test_a_clock_outside_of_its_time_is_named(tmp_path: Path, days: int) -> None:
    authority.in_folder(tmp_path, NOW)
    with pytest.raises(Mistake, match=r"the clock says .* good from .* to ") as caught:
        authority.in_folder(tmp_path, NOW + datetime.timedelta(days=days))
    assert "set the clock" in str(caught.value)
