"""The nouns of a request: who asks, what for, with which options, and what the answer is.

HTTP has been left behind here. A `Call` names the resource, the version the client speaks and the
object; `World` is what the server would otherwise take from thin air: time, ids, chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dibs.api.kinds import Resource

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as authentication found out; `by` is who acts as them, "" for they themselves."""

    name: str = "system:anonymous"
    groups: tuple[str, ...] = ("system:unauthenticated",)
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by: str = ""

    @property
    def accountable(self) -> str:
        """Who showed credentials."""
        return self.by or self.name


@dataclass(frozen=True, slots=True)
class Asked:
    """What authorization is asked. `verb` is Kubernetes' (get, list, watch, create, …); outside of
    resources it is the HTTP method and `path` is set. `fields` are those by which a list or watch
    is narrowed, each with its one value."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """What would differ from run to run.

    `now()` is seconds since 1970, UTC, whole or not. `uid()` is a new UUID, `suffix()` five random
    characters for `generateName`.
    """

    now: Callable[[], float]
    uid: Callable[[], str]
    suffix: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Call:
    """One request for one resource. `namespace` is "" for all, or for what has none."""

    verb: str
    resource: Resource
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    caller: Caller = Caller()

    def at(self, subresource: str) -> Call:
        """The same at another door of the object."""
        return self if subresource == self.subresource else replace(self, subresource=subresource)

    @property
    def asked(self) -> Asked:
        return Asked(
            self.verb,
            self.resource.group,
            self.resource.plural,
            self.subresource,
            self.namespace,
            self.name,
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """`field_validation` is Strict, Warn or Ignore; `manager` the field manager. A body that
    `is_of_model` was made by `model.codec` of an object with defaults, in the stored version."""

    dry_run: bool = False
    field_validation: str = "Warn"
    manager: str = ""
    force: bool = False
    is_of_model: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """`revision` is the resourceVersion asked for, "" for the newest; `match` is
    resourceVersionMatch. `limit` 0 is without limit."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    revision: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    label_selector: str = ""
    field_selector: str = ""
    revision: str = ""
    match: str = ""
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout_s: float = 0


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """`grace_s` and `propagation` are None when the client leaves them to the kind."""

    dry_run: bool = False
    grace_s: int | None = None
    propagation: str | None = None
    uid: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write came to: the object in the version of the call, warnings for the client.

    `before` and `after` are the stored trees, for the audit log; no `after` is gone, and the same
    in both is that nothing had to be written. What `is_dry` only would have been written.
    """

    tree: Tree
    created: bool = False
    warnings: tuple[str, ...] = ()
    before: Tree | None = None
    after: Tree | None = None
    is_dry: bool = False
