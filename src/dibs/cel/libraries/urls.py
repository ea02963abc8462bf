"""Kubernetes' URL functions, with the reading of Go's net/url.ParseRequestURI.

An absolute URL or an absolute path; `#` begins no fragment there. Bytes count, not characters:
Go unescapes and escapes UTF-8 byte by byte.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from dibs.cel.declare import Library, function, member
from dibs.cel.runtime import URL, EvaluationError, Map, bounded_count, spend, texts
from dibs.cel.types import BOOL, STRING, list_of, map_of
from dibs.cel.types import URL as URL_TYPE
from dibs.values.quoted import quoted

_ALNUM: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_UNRESERVED: Final = f"{_ALNUM}-_.~"
# What may stand bare, as Go has it; all else is escaped.
_HOST_CHARS: Final = frozenset(f"{_UNRESERVED}!$&'()*+,;=:[]<>\"".encode())
_PATH_CHARS: Final = frozenset(f"{_UNRESERVED}$&+,/:;=@".encode())
_VALID_PATH_CHARS: Final = frozenset(f"{_UNRESERVED}$&+,/:;=@!'()*[]%".encode())
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_PORT: Final = re.compile(r"(:[0-9]*)?")


class BadURL(Exception):
    """The text is no URL; the message is Go's."""


def parse(text: str) -> URL:
    """Read an absolute URL or path. Raises BadURL."""
    spend(len(text) // 4)
    if _CONTROL.search(text):
        raise BadURL("net/url: invalid control character in URL")
    if not text:
        raise BadURL("empty url")
    if text == "*":
        return URL("*", "", "", "*", "")
    scheme, rest = _scheme(text)
    before, question, query = rest.partition("?")
    tail = f"{question}{query}" if question else ""
    if not before.startswith("/"):
        if not scheme:
            raise BadURL("invalid URI for request")
        return URL(f"{scheme}:{before}{tail}", scheme, "", "", query)
    host, user, path = "", "", before
    has_authority = bool(scheme) and before.startswith("//")
    if has_authority:
        authority, slash, behind = before[2:].partition("/")
        path = slash + behind
        user, host = _authority(authority)
    path = _escaped_path(path)
    written = _written(scheme, has_authority, user, host, path)
    return URL(written + tail, scheme, host, path, query)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise BadURL("missing protocol scheme")
    found = _SCHEME.fullmatch(text)
    return (found[1].lower(), found[2]) if found else ("", text)


def _authority(text: str) -> tuple[str, str]:
    """User part with its @, and host with its port."""
    user, at, host = text.rpartition("@")
    host = _host(host)
    if not at:
        return "", host
    if not _USERINFO.fullmatch(user):
        raise BadURL("net/url: invalid userinfo")
    _unescaped(user)
    return f"{user}@", host


def _host(text: str) -> str:
    bracket = text.rfind("[")
    if bracket > 0:
        raise BadURL("invalid IP-literal")
    if bracket == 0:
        end = text.rfind("]")
        if end < 0:
            raise BadURL("missing ']' in host")
        _check_port(text[end + 1 :])
        address, zone, name = text[1:end].partition("%25")
        if not _is_ipv6(address):
            raise BadURL(f"invalid host: {quoted(text[: end + 1])}")
        return f"[{address}{'%' + _unescaped(name) if zone else ''}]{text[end + 1 :]}"
    host, colon, port = text.partition(":")
    _check_port(colon + port)
    for escape in _ESCAPE.finditer(texts.encoded(host)):
        if not escape[1] or (escape[1][:1] < b"8" and escape[1] != b"25"):
            shown = texts.encoded(host)[escape.start() : escape.start() + 3].decode(
                "utf-8", "replace"
            )
            raise BadURL(f"invalid URL escape {quoted(shown)}")
    for char in host:
        if ord(char) < 0x80 and ord(char) not in _HOST_CHARS and char != "%":
            raise BadURL(f"invalid character {quoted(char)} in host name")
    return _unescaped(host) + colon + port


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise BadURL(f"invalid port {quoted(text)} after host")


def _unescaped(text: str, *, plus: bool = False) -> str:
    """Undo %-escapes. Raises BadURL at one that is none."""
    data = texts.encoded(text)
    for escape in _ESCAPE.finditer(data):
        if not escape[1]:
            shown = data[escape.start() : escape.start() + 3].decode("utf-8", "replace")
            raise BadURL(f"invalid URL escape {quoted(shown)}")
    if plus:
        data = data.replace(b"+", b" ")
    raw = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), data)
    return raw.decode("utf-8", "replace")


def _escaped_path(path: str) -> str:
    """The path as it came where that is validly escaped, else escaped anew."""
    _unescaped(path)
    data = texts.encoded(path)
    if all(byte in _VALID_PATH_CHARS for byte in data):
        return path
    raw = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), data)
    bounded_count(3 * len(raw), 10_000_000)
    return "".join(chr(byte) if byte in _PATH_CHARS else f"%{byte:02X}" for byte in raw)


def _written(scheme: str, has_authority: bool, user: str, host: str, path: str) -> str:
    start = f"{scheme}:" if scheme else ""
    return f"{start}//{user}{host}{path}" if has_authority else start + path


def url(text: str) -> URL:
    try:
        return parse(text)
    except BadURL as bad:
        raise EvaluationError(
            f"URL parse error during conversion from string: parse {quoted(text[:1000])}: {bad}"
        ) from None


def is_url(text: str) -> bool:
    try:
        parse(text)
    except BadURL:
        return False
    return True


def scheme(location: URL) -> str:
    return location.scheme


def host(location: URL) -> str:
    return location.host


def hostname(location: URL) -> str:
    name = location.host.removesuffix(_port_with_colon(location))
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def port(location: URL) -> str:
    return _port_with_colon(location)[1:]


def _port_with_colon(location: URL) -> str:
    _, colon, digits = location.host.rpartition(":")
    return colon + digits if colon and _PORT.fullmatch(colon + digits) else ""


def escaped_path(location: URL) -> str:
    return location.path


def query(location: URL) -> Map:
    """Each name with its values, in the order written; parts that cannot be read are left out."""
    spend(len(location.query))
    found: dict[str, list[str]] = {}
    for part in location.query.split("&"):
        if not part or ";" in part:
            continue
        name, _, text = part.partition("=")
        try:
            values = found.setdefault(_unescaped(name, plus=True), [])
            values.append(_unescaped(text, plus=True))
        except BadURL:
            continue
    return Map({name: tuple(values) for name, values in found.items() if values})


LIBRARY = Library(
    "kubernetes.urls",
    (
        *function("url", ("string_to_url", (STRING,), URL_TYPE, url)),
        *function("isURL", ("is_url_string", (STRING,), BOOL, is_url)),
        *member("getScheme", ("url_get_scheme", (URL_TYPE,), STRING, scheme)),
        *member("getHost", ("url_get_host", (URL_TYPE,), STRING, host)),
        *member("getHostname", ("url_get_hostname", (URL_TYPE,), STRING, hostname)),
        *member("getPort", ("url_get_port", (URL_TYPE,), STRING, port)),
        *member("getEscapedPath", ("url_get_escaped_path", (URL_TYPE,), STRING, escaped_path)),
        *member("getQuery", ("url_get_query", (URL_TYPE,), map_of(STRING, list_of(STRING)), query)),
    ),
)
