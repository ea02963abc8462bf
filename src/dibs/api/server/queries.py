"""The options of a request, out of its query and its DeleteOptions.

What an option means is decided where it is used; here it gets its type, or the client is told.
Unknown parameters are passed over, as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Mapping

from dibs.api import failures
from dibs.api.calls import DeleteOptions, ListOptions, Tree, WatchOptions, WriteOptions
from dibs.api.tables import INCLUDES, Include

Query = Mapping[str, str]

_VALIDATIONS = ("Strict", "Warn", "Ignore")
_PROPAGATIONS = ("Orphan", "Background", "Foreground")
_LONGEST_MANAGER = 128
# What a continue token, a selector or a name in a query may have.
_LONGEST = 8192


def listing(query: Query) -> ListOptions:
    return ListOptions(
        _text(query, "labelSelector"),
        _text(query, "fieldSelector"),
        _number(query, "limit"),
        _text(query, "continue"),
        _text(query, "resourceVersion"),
        _text(query, "resourceVersionMatch"),
    )


def watching(query: Query, name: str = "") -> WatchOptions:
    """`name` is the one object a path names."""
    fields = _text(query, "fieldSelector")
    if name:
        fields = f"metadata.name={name},{fields}".rstrip(",")
    initial = _truth(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    return WatchOptions(
        _text(query, "labelSelector"),
        fields,
        _text(query, "resourceVersion"),
        _text(query, "resourceVersionMatch"),
        _truth(query, "allowWatchBookmarks"),
        initial,
        float(_number(query, "timeoutSeconds")),
    )


def writing(query: Query, user_agent: str) -> WriteOptions:
    """The field manager is the client's program unless it says otherwise."""
    validation = _text(query, "fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        raise _not_one_of("fieldValidation", validation, _VALIDATIONS)
    manager = _text(query, "fieldManager")
    if len(manager) > _LONGEST_MANAGER or not manager.isprintable():
        raise failures.bad_request(
            f"fieldManager: Invalid value: must be at most {_LONGEST_MANAGER} printable characters"
        )
    return WriteOptions(
        _dry_run(query),
        validation,
        manager or _program(user_agent),
        _truth(query, "force"),
    )


def _program(user_agent: str) -> str:
    """`kubectl/v1.37.1 (linux/amd64) …` is kubectl."""
    name = "".join(each for each in user_agent.partition("/")[0] if each.isprintable())
    return name[:_LONGEST_MANAGER] or "unknown"


def deleting(query: Query, body: Tree | None) -> DeleteOptions:
    """A body wins over the query. Raises Failure (400)."""
    given = body or {}
    before = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    if grace is None and "gracePeriodSeconds" in query:
        grace = _number(query, "gracePeriodSeconds")
    propagation = given.get("propagationPolicy") or query.get("propagationPolicy")
    if propagation is None and (given.get("orphanDependents") is not None):
        propagation = "Orphan" if given["orphanDependents"] else "Background"
    if propagation is not None and propagation not in _PROPAGATIONS:
        raise _not_one_of("propagationPolicy", str(propagation), _PROPAGATIONS)
    if grace is not None and (type(grace) is not int or not 0 <= grace < 2**31):
        raise failures.bad_request(f"gracePeriodSeconds: Invalid value: {str(grace)[:40]}")
    dry = given.get("dryRun")
    return DeleteOptions(
        _is_dry(",".join(map(str, dry))) if isinstance(dry, list) and dry else _dry_run(query),
        grace,
        propagation,
        _precondition(before, "uid"),
        _precondition(before, "resourceVersion"),
    )


def _precondition(before: object, name: str) -> str | None:
    found = before.get(name) if isinstance(before, dict) else None
    return None if found is None else str(found)


def including(query: Query) -> Include:
    found = _text(query, "includeObject") or "Metadata"
    if found not in INCLUDES:
        raise _not_one_of("includeObject", found, INCLUDES)
    return found


def is_watch(query: Query) -> bool:
    return _truth(query, "watch")


def _dry_run(query: Query) -> bool:
    return _is_dry(query.get("dryRun", ""))


def _is_dry(text: str) -> bool:
    if text not in ("", "All"):
        raise _not_one_of("dryRun", text, ("All",))
    return text == "All"


def _text(query: Query, name: str) -> str:
    found = query.get(name, "")
    if len(found) > _LONGEST:
        raise failures.bad_request(f"{name} is longer than {_LONGEST} characters")
    return found


def _number(query: Query, name: str) -> int:
    found = query.get(name, "")
    if not found:
        return 0
    if not (found.isascii() and found.isdecimal() and len(found) < 19):
        raise failures.bad_request(f"{name}: Invalid value: {found[:40]!r}: must be a whole number")
    return int(found)


_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("", "0", "f", "F", "false", "FALSE", "False")


def _truth(query: Query, name: str) -> bool:
    """As Go reads a truth value; a bare `?watch` is true there as well."""
    found = query.get(name)
    if found is None or found in _FALSE:
        return found == ""
    if found not in _TRUE:
        raise failures.bad_request(f"{name}: Invalid value: {found[:40]!r}: true or false")
    return True


def _not_one_of(name: str, found: str, known: tuple[str, ...]) -> failures.Failure:
    listed = ", ".join(f'"{each}"' for each in known)
    text = f'{name}: Unsupported value: "{found[:100]}": supported values: {listed}'
    return failures.bad_request(text)
