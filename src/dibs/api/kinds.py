"""Every resource the server knows: names, versions, verbs, subresources; a table and nothing else.

The structs and served versions of our own kinds are `model.kinds`'; the others are kept as trees.
What is filled in and refused when one is written is `prepare`'s and `check`'s, what a table shows
is `columns`'. Source: discovery of Kubernetes 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from dibs.model import kinds as model_kinds
from dibs.model.kinds import Kind

RESOURCE = "resource.k8s.io"
SCHEDULING = "scheduling.k8s.io"
COORDINATION = "coordination.k8s.io"
EVENTS = "events.k8s.io"
POLICY = "policy"
AUTHENTICATION = "authentication.k8s.io"
AUTHORIZATION = "authorization.k8s.io"

# What can be done to objects that are kept; reviews are only created.
KEPT = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_READ_WRITE = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """One more door to an object: `pods/binding`. `kind` is what goes in, if not the object."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = ""


# What is asked of it with every request is worked out once, for which it can't have slots.
@dataclass(frozen=True)
class Resource:
    """One resource in all its versions, newest first; it is stored in the first.

    `generation` says whether the server counts changes of the spec. `stored` is the resource whose
    objects these are, when it isn't this one (events.k8s.io shows those of core).
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = KEPT
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    generation: bool = False
    stored: str = ""

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @cached_property
    def stored_version(self) -> str:
        return self.versions[0]

    @cached_property
    def has_status(self) -> bool:
        """Whether status is written through its own door, and ignored at the main one."""
        return self.subresource("status") is not None

    @cached_property
    def is_kept(self) -> bool:
        return "get" in self.verbs

    @cached_property
    def model(self) -> Kind | None:
        """The typed kind of the model, None for those that stay trees."""
        return model_kinds.BY_NAME.get((self.group, self.kind))

    @cached_property
    def qualified(self) -> str:
        """`resourceclaims.resource.k8s.io`, as messages have it; `pods` for those of core."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)

    def api_version(self, version: str = "") -> str:
        """Return what stands in `apiVersion`, for the stored version if none is named."""
        return group_version(self.group, version or self.stored_version)


def group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


_STATUS = Subresource("status", _READ_WRITE)
_DRA = ("dra",)


def _ours(name: str, **more: object) -> Resource:
    """The resource of a kind of the model."""
    kind = next(each for each in model_kinds.KINDS if each.name == name)
    plain = Resource(kind.group, kind.versions, kind.name, kind.plural, kind.namespaced)
    return replace(plain, **more)  # type: ignore[arg-type]


def _review(group: str, kind: str, namespaced: bool = False) -> Resource:
    return Resource(group, ("v1",), kind, f"{kind.lower()}s", namespaced, ("create",))


_POD_DOORS = (
    Subresource("binding", ("create",), "Binding"),
    Subresource("eviction", ("create",), "Eviction", POLICY, "v1"),
    _STATUS,
)

RESOURCES: tuple[Resource, ...] = (
    # --- core/v1
    _ours("Pod", short_names=("po",), categories=("all",), generation=True,
          subresources=_POD_DOORS),
    _ours("Node", short_names=("no",), subresources=(_STATUS,)),
    _ours("Namespace", short_names=("ns",),
          subresources=(Subresource("finalize", ("update",)), _STATUS)),
    Resource("", ("v1",), "Event", "events", True, short_names=("ev",)),
    Resource("", ("v1",), "ConfigMap", "configmaps", True, short_names=("cm",)),
    Resource("", ("v1",), "Secret", "secrets", True),
    Resource("", ("v1",), "ServiceAccount", "serviceaccounts", True, short_names=("sa",),
             subresources=(Subresource("token", ("create",), "TokenRequest", AUTHENTICATION,
                                       "v1"),)),
    Resource("", ("v1",), "ResourceQuota", "resourcequotas", True, short_names=("quota",),
             subresources=(_STATUS,)),
    # --- resource.k8s.io
    _ours("DeviceClass", categories=_DRA, generation=True),
    _ours("ResourceClaim", categories=_DRA, subresources=(_STATUS,)),
    _ours("ResourceClaimTemplate", categories=_DRA),
    _ours("ResourceSlice", categories=_DRA, generation=True),
    _ours("DeviceTaintRule", categories=_DRA, generation=True, subresources=(_STATUS,)),
    _ours("ResourcePoolStatusRequest", categories=_DRA, subresources=(_STATUS,)),
    # --- scheduling.k8s.io
    Resource(SCHEDULING, ("v1",), "PriorityClass", "priorityclasses", False, short_names=("pc",)),
    _ours("PodGroup", subresources=(_STATUS,)),
    _ours("Workload"),
    # --- what stands around them
    Resource(COORDINATION, ("v1",), "Lease", "leases", True),
    Resource(EVENTS, ("v1",), "Event", "events", True, stored="events"),
    _review(AUTHENTICATION, "SelfSubjectReview"),
    _review(AUTHENTICATION, "TokenReview"),
    _review(AUTHORIZATION, "SelfSubjectAccessReview"),
    _review(AUTHORIZATION, "SelfSubjectRulesReview"),
    _review(AUTHORIZATION, "SubjectAccessReview"),
    _review(AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
)  # fmt: skip

# The order in which clients look for a name that several groups have.
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(each.group for each in RESOURCES))

_BY_PATH = {
    (each.group, version, each.plural): each for each in RESOURCES for version in each.versions
}


_BY_PLACE = {each.qualified: each for each in RESOURCES if not each.stored}


def kept_at(place: str) -> Resource | None:
    """Return the resource whose objects the store keeps under this word (`Key.resource`)."""
    return _BY_PLACE.get(place)


def find(group: str, version: str, plural: str) -> Resource | None:
    """Return the resource at a path, None when that version doesn't serve it."""
    return _BY_PATH.get((group, version, plural))


def of_kind(group: str, kind: str) -> Resource | None:
    return next((each for each in RESOURCES if (each.group, each.kind) == (group, kind)), None)


def kept_in(resource: Resource) -> Resource:
    """Return the resource in whose place in the store the objects are."""
    return _BY_PLACE[resource.stored] if resource.stored else resource


def versions_of(group: str) -> tuple[str, ...]:
    """Return the served versions of a group, the preferred one first."""
    served = {version for each in RESOURCES if each.group == group for version in each.versions}
    return tuple(sorted(served, key=_preference))


def served_in(group: str, version: str) -> Iterable[Resource]:
    """Yield the resources of one group version."""
    return (each for each in RESOURCES if each.group == group and version in each.versions)


_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def _preference(version: str) -> tuple[int, int, int]:
    """v1 before v1beta2 before v1beta1 before v1alpha3."""
    parts = _VERSION.fullmatch(version)
    assert parts, version
    return _STAGES[parts[2]], -int(parts[1]), -int(parts[3] or 0)
