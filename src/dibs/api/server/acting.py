"""Acting as somebody else (`kubectl --as`): who is asked to be, and whether the caller may be them.

Whoever may impersonate has the rights of the other and none of their own; what isn't understood
of it is refused, since ignoring it would do with all rights what was meant to be done with few.
Source: Kubernetes authentication, "User impersonation".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from dibs.api import failures
from dibs.api.calls import Asked, Caller
from dibs.api.failures import Failure

_PREFIX = "impersonate-"
_USER, _GROUP, _UID = (f"{_PREFIX}{name}" for name in ("user", "group", "uid"))
_EXTRA = f"{_PREFIX}extra-"
_ACCOUNT = ("system", "serviceaccount")
_ACCOUNTS = "system:serviceaccounts"
_ANONYMOUS = Caller()
_AUTHENTICATED = "system:authenticated"
_REVIEWS = "authentication.k8s.io"


def named(headers: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    """Return the headers that say whom to act as, their names in lower case."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in headers:
        if (lower := name.lower()).startswith(_PREFIX):
            found[lower] = (*found.get(lower, ()), value)
    return found


def other(caller: Caller, said: Mapping[str, tuple[str, ...]]) -> Caller:
    """Return whom the caller wants to be. Raises Failure (400)."""
    for name in said:
        if name not in (_USER, _GROUP, _UID) and not name.startswith(_EXTRA):
            raise failures.bad_request(f"the header {name} says nothing about whom to act as")
    users, uids = said.get(_USER, ()), said.get(_UID, ())
    if len(users) > 1 or len(uids) > 1:
        raise failures.bad_request("one user can be acted as at a time")
    if not users or not users[0]:
        raise failures.bad_request(f"{', '.join(said)} without {_USER}: nobody to act as is named")
    extra = {
        unquote(name.removeprefix(_EXTRA)): values
        for name, values in said.items()
        if name.startswith(_EXTRA)
    }
    groups = _groups(users[0], said.get(_GROUP, ()))
    return Caller(users[0], groups, "".join(uids), extra, by=caller.accountable)


def _groups(user: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are named, or that a service account has anyway, and whether it is somebody."""
    account = _account(user)
    if account and not groups:
        groups = (_ACCOUNTS, f"{_ACCOUNTS}:{account[0]}")
    if _AUTHENTICATED in groups or _ANONYMOUS.groups[0] in groups:
        return groups
    return (*groups, *(_ANONYMOUS.groups if user == _ANONYMOUS.name else (_AUTHENTICATED,)))


def _account(user: str) -> tuple[str, str] | None:
    """The namespace and the name of a service account."""
    match user.split(":"):
        case [*head, namespace, name] if tuple(head) == _ACCOUNT and namespace and name:
            return namespace, name
    return None


def asked(said: Mapping[str, tuple[str, ...]], other: Caller) -> Iterator[Asked]:
    """Yield what the caller must be allowed, to be the other: each part of them that was said."""
    if account := _account(other.name):
        yield Asked("impersonate", "", "serviceaccounts", "", *account)
    else:
        yield Asked("impersonate", "", "users", name=other.name)
    for group in said.get(_GROUP, ()):
        yield Asked("impersonate", "", "groups", name=group)
    if other.uid:
        yield Asked("impersonate", _REVIEWS, "uids", name=other.uid)
    for key, values in other.extra.items():
        for value in values:
            yield Asked("impersonate", _REVIEWS, "userextras", key, name=value)


def refused(caller: Caller, what: Asked, why: str) -> Failure:
    resource = f"{what.resource}.{what.group}" if what.group else what.resource
    text = f'{resource} "{what.name}" is forbidden: {failures.cannot(caller.name, what, why)}'
    return Failure(403, "Forbidden", text)
