"""What Kubernetes accepts as a name, a label, a domain: each rule a function, each fault a text.

A function returns every fault in Kubernetes' own words, `()` for a good name. Which field must be
what kind of name is the business of `model.rules`. Lengths are in bytes of UTF-8, as in Go.
Source: apimachinery's format checks, and the name rules of resource.k8s.io.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253
DRIVER_MAX: Final = 63
POOL_MAX: Final = 253
ID_MAX: Final = 32
LABEL_VALUE_MAX: Final = 63

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_ID = "[A-Za-z_][A-Za-z0-9_]*"
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_KEY_RE = re.compile(_KEY)
_VALUE_RE = re.compile(_VALUE)
_ID_RE = re.compile(_ID)
_REASON_RE = re.compile(_REASON)
_UUID_RE = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_KEY_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)
_ID_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'"
)
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)

NO_UUID: Final = "must be a lowercase UUID in 8-4-4-4-12 format"
MANY_SLASHES: Final = "must not contain more than one slash"
NO_DOMAIN: Final = "a fully qualified name must be a domain and a name separated by a slash"

_STANDARD_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def size(text: str) -> int:
    """Length in bytes; lone surrogates, which only broken JSON can hold, count as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def faults_of_dns_label(text: str) -> tuple[str, ...]:
    """`gpu-0`: devices, requests, counter sets, namespaces."""
    faults = _too_long(text, LABEL_MAX)
    if _LABEL_RE.fullmatch(text):
        return faults
    if _SUBDOMAIN_RE.fullmatch(text):
        return (*faults, "must not contain dots")
    return (*faults, _shape(_LABEL_RULE, _LABEL, "my-name", "123-abc"))


def faults_of_dns_subdomain(text: str) -> tuple[str, ...]:
    """`gpu.example.com`: most object names."""
    faults = _too_long(text, SUBDOMAIN_MAX)
    if _SUBDOMAIN_RE.fullmatch(text):
        return faults
    return (*faults, _shape(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))


def faults_of_driver_name(text: str) -> tuple[str, ...]:
    """A subdomain of at most 63 bytes in which upper case is let through."""
    if not text:
        return ("must not be empty",)
    return (*_too_long(text, DRIVER_MAX), *faults_of_dns_subdomain(text.lower()))


def faults_of_id(text: str) -> tuple[str, ...]:
    """A C identifier of at most 32 bytes: `memory`, `driverVersion`."""
    return (*_too_long(text, ID_MAX), *faults_of_id_shape(text))


def faults_of_id_shape(text: str) -> tuple[str, ...]:
    if _ID_RE.fullmatch(text):
        return ()
    return (_shape(_ID_RULE, _ID, "my_name", "MY_NAME", "MyName"),)


@lru_cache(maxsize=4096)
def faults_of_qualified_name(text: str) -> tuple[str, ...]:
    """An identifier, or `domain/identifier`: keys of attributes and capacities."""
    domain, slash, name = text.partition("/")
    if "/" in name:
        return (MANY_SLASHES,)
    if not slash:
        return faults_of_id(text)
    of_domain = faults_of_driver_name(domain) if domain else ("the domain must not be empty",)
    of_name = faults_of_id(name) if name else ("the name must not be empty",)
    return (*of_domain, *of_name)


def faults_of_label_key(text: str) -> tuple[str, ...]:
    """`app`, `example.com/app`: keys of labels, taints, conditions, finalizers."""
    faults: tuple[str, ...] = ()
    prefix, slash, name = text.partition("/")
    if "/" in name:
        shape = _shape(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")
        more = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {shape}{more}",)
    if not slash:
        name = text
    elif not prefix:
        faults = ("prefix part must be non-empty",)
    else:
        faults = tuple(f"prefix part {fault}" for fault in faults_of_dns_subdomain(prefix))
    if not name:
        faults += ("name part must be non-empty",)
    faults += tuple(f"name part {fault}" for fault in _too_long(name, LABEL_MAX))
    if not _KEY_RE.fullmatch(name):
        faults += (f"name part {_shape(_KEY_RULE, _KEY, 'MyName', 'my.name', '123-abc')}",)
    return faults


def faults_of_label_value(text: str) -> tuple[str, ...]:
    faults = _too_long(text, LABEL_VALUE_MAX)
    if _VALUE_RE.fullmatch(text):
        return faults
    return (*faults, _shape(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))


def faults_of_condition_reason(text: str) -> tuple[str, ...]:
    if _REASON_RE.fullmatch(text):
        return ()
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return (_shape(_REASON_RULE, _REASON, *examples),)


def faults_of_uuid(text: str) -> tuple[str, ...]:
    return () if _UUID_RE.fullmatch(text) else (NO_UUID,)


def is_extended_resource(text: str) -> bool:
    """Whether a Pod can ask for it as an extended resource: `example.com/gpu`."""
    is_native = "/" not in text or "kubernetes.io/" in text
    if is_native or text.startswith("requests."):
        return False
    return not faults_of_label_key(f"requests.{text}")


def is_node_allocatable(text: str) -> bool:
    """Whether a node counts it itself: cpu, memory, ephemeral-storage, huge pages."""
    return text in _STANDARD_RESOURCES or text.startswith("hugepages-")


def _too_long(text: str, limit: int) -> tuple[str, ...]:
    return (f"must be no more than {limit} bytes",) if size(text) > limit else ()


def _shape(rule: str, pattern: str, *examples: str) -> str:
    """Kubernetes' way to end the text, with its odd comma after each example."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
