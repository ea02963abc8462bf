"""Kubernetes' named formats: `format.dns1123Label().validate(s)` gives the faults, if any.

The rules of names are `values.names`'; those of OpenAPI strings (uuid, byte, date …) stand here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dibs.cel.declare import Library, function, member
from dibs.cel.libraries import urls
from dibs.cel.runtime import NONE, NamedFormat, Optional, times
from dibs.cel.types import NAMED_FORMAT, STRING, list_of, optional_of
from dibs.values import names
from dibs.values.quoted import quoted

Faults = tuple[str, ...]

_UUID: Final = re.compile(r"(?i)[0-9A-F]{8}(-?[0-9A-F]{4}){3}-?[0-9A-F]{12}", re.ASCII)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def _prefix_of(check: Callable[[str], Faults]) -> Callable[[str], Faults]:
    """The same rule for text that something is appended to: a dash may end it."""

    def of_prefix(text: str) -> Faults:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return of_prefix


def _dns_1035_label(text: str) -> Faults:
    too_long = names.size(text) > names.LABEL_MAX
    faults = (f"must be no more than {names.LABEL_MAX} bytes",) if too_long else ()
    if _LABEL_1035.fullmatch(text):
        return faults
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
        "an alphabetic character, and end with an alphanumeric character"
    )
    pattern = "[a-z]([-a-z0-9]*[a-z0-9])?"
    shown = f"(e.g. 'my-name',  or 'abc-123', regex used for validation is '{pattern}')"
    return (*faults, f"{rule} {shown}")


def _uri(text: str) -> Faults:
    try:
        urls.parse(text)
    except urls.BadURL as bad:
        return (f"parse {quoted(text[:1000])}: {bad}",)
    return ()


def _uuid(text: str) -> Faults:
    return () if _UUID.fullmatch(text) else ("does not match the UUID format",)


def _byte(text: str) -> Faults:
    return () if _BASE64.fullmatch(text) else ("invalid base64",)


def _date(text: str) -> Faults:
    return () if _is_date(text) else ("invalid date",)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    return 1 <= month <= 12 and 1 <= day <= times.days_of_month(year, month)


def _datetime(text: str) -> Faults:
    date, t, time = text.lower().partition("t")
    found = _TIME.fullmatch(time)
    if t and found and _is_date(date):
        if found[1] <= "23" and found[2] <= "59" and found[3] <= "59":
            return ()
    return ("invalid datetime",)


CHECKS: Final[dict[str, Callable[[str], Faults]]] = {
    "dns1123Label": names.faults_of_dns_label,
    "dns1123Subdomain": names.faults_of_dns_subdomain,
    "dns1035Label": _dns_1035_label,
    "qualifiedName": names.faults_of_label_key,
    "dns1123LabelPrefix": _prefix_of(names.faults_of_dns_label),
    "dns1123SubdomainPrefix": _prefix_of(names.faults_of_dns_subdomain),
    "dns1035LabelPrefix": _prefix_of(_dns_1035_label),
    "labelValue": names.faults_of_label_value,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
}


def named(name: str) -> Optional:
    return Optional(NamedFormat(name)) if name in CHECKS else NONE


def validate(form: NamedFormat, text: str) -> Optional:
    """The faults of `text` as an optional list of strings; none when it is valid."""
    faults = CHECKS[form.name](text)
    return Optional(faults) if faults else NONE


def _constant(name: str) -> Callable[[], NamedFormat]:
    form = NamedFormat(name)
    return lambda: form


LIBRARY = Library(
    "kubernetes.formats",
    (
        *(
            overload
            for name in CHECKS
            for overload in function(
                f"format.{name}", (f"format.{name}", (), NAMED_FORMAT, _constant(name))
            )
        ),
        *function("format.named", ("format-named", (STRING,), optional_of(NAMED_FORMAT), named)),
        *member(
            "validate",
            (
                "format-validate",
                (NAMED_FORMAT, STRING),
                optional_of(list_of(STRING)),
                validate,
            ),
        ),
    ),
)
