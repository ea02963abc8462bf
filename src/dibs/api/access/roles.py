"""Which caller may do what, by its groups: a table, and nothing is allowed that isn't in it.

    system:masters, dibs:admin     everything
    dibs:viewer                    read everything but Secrets
    dibs:user:NAMESPACE            work in one namespace, read what the cluster offers
    system:serviceaccounts:NS      the same as a user of that namespace
    system:nodes                   what a node agent and its drivers need (`nodes` has the rest)
    system:authenticated           discovery, and asking what one may do

Source: the built-in roles of Kubernetes (admin, edit, view, system:node); spec of claims' status
(KEP-4817: `resourceclaims/binding`, `resourceclaims/driver`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dibs.api import kinds
from dibs.api.calls import Asked, Caller
from dibs.api.gate import Rule

ADMINS = frozenset({"system:masters", "dibs:admin"})
VIEWER = "dibs:viewer"
USER = "dibs:user:"
ACCOUNTS = "system:serviceaccounts:"
NODES = "system:nodes"
NODE_USER = "system:node:"
AUTHENTICATED = "system:authenticated"

READ = frozenset({"get", "list", "watch"})
RESOURCE = "resource.k8s.io"

# Paths anybody may read: whether it lives, and what it is.
HEALTH = ("/healthz", "/livez", "/readyz", "/version")
DISCOVERY = ("/api", "/apis", "/openapi", *HEALTH)
REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
SELF_REVIEWS = frozenset(
    {"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}
)

# What a user reads of the cluster: what there is to have, and where it could run.
OFFERED = frozenset(
    {
        ("", "nodes"),
        (RESOURCE, "deviceclasses"),
        (RESOURCE, "resourceslices"),
        (RESOURCE, "devicetaintrules"),
        ("scheduling.k8s.io", "priorityclasses"),
    }
)
# What a user writes in the namespace. Status and binding are the control plane's; so are quotas,
# which would otherwise bind nobody.
OWN = frozenset(
    {
        ("", "pods"),
        ("", "pods/eviction"),
        ("", "events"),
        ("", "configmaps"),
        ("", "secrets"),
        ("", "serviceaccounts"),
        ("", "serviceaccounts/token"),
        ("events.k8s.io", "events"),
        ("coordination.k8s.io", "leases"),
        ("scheduling.k8s.io", "podgroups"),
        ("scheduling.k8s.io", "workloads"),
        (RESOURCE, "resourceclaims"),
        (RESOURCE, "resourceclaimtemplates"),
    }
)
ASSOCIATED = frozenset({"associated-node:update", "associated-node:patch"})
OF_NODES: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("", "nodes", READ | {"create", "update", "patch"}),
    ("", "nodes/status", READ | {"update", "patch"}),
    ("", "pods", READ | {"delete"}),
    ("", "pods/status", READ | {"update", "patch"}),
    ("", "events", frozenset({"create", "update", "patch"})),
    ("events.k8s.io", "events", frozenset({"create", "update", "patch"})),
    ("coordination.k8s.io", "leases", READ | {"create", "update", "patch", "delete"}),
    (
        RESOURCE,
        "resourceslices",
        READ | {"create", "update", "patch", "delete", "deletecollection"},
    ),
    (RESOURCE, "resourceclaims", READ),
    (RESOURCE, "resourceclaims/status", READ | {"update", "patch"}),
    (
        RESOURCE,
        "resourceclaims/driver",
        frozenset({"associated-node:update", "associated-node:patch"}),
    ),
    (RESOURCE, "deviceclasses", READ),
)

# What a node sees of these is its own, so a list must be narrowed to that; `nodes` says the same of
# single objects. Source: the node authorizer (AuthorizeNodeWithSelectors).
NARROWED = {
    ("", "nodes"): "metadata.name",
    ("", "pods"): "spec.nodeName",
    (RESOURCE, "resourceslices"): "spec.nodeName",
}

Grant = Callable[[Caller, Asked], bool]


def refusal(caller: Caller, asked: Asked) -> str | None:
    """Return why the caller may not, None when it may. It is put behind who cannot do what."""
    if any(grant(caller, asked) for grant in GRANTS):
        return None
    return f"no role of theirs allows {_what(asked)}"


def rules(caller: Caller, namespace: str) -> tuple[Rule, ...]:
    """Return what the caller may do in a namespace and outside of any, resources with the same
    verbs together. It is found by asking, so that it says what `refusal` says."""
    if not ADMINS.isdisjoint(caller.groups):
        return (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for resource in kinds.RESOURCES:
        doors = [(resource.plural, "", resource.verbs)]
        doors += [(resource.plural, each.name, each.verbs) for each in resource.subresources]
        for name, subresource, offered in doors:
            inside = namespace if resource.namespaced else ""
            verbs = tuple(
                verb
                for verb in offered
                if not refusal(
                    caller, Asked(verb, resource.group, name, subresource, inside, namespace)
                )
            )
            if verbs:
                full = f"{name}/{subresource}" if subresource else name
                found.setdefault((resource.group, verbs), []).append(full)
    listed = [Rule(verbs, (group,), tuple(names)) for (group, verbs), names in found.items()]
    readable = DISCOVERY if AUTHENTICATED in caller.groups else HEALTH
    return (*listed, Rule(("get",), paths=readable))


def namespaces(caller: Caller) -> Iterable[str]:
    """The namespaces that the caller works in."""
    for group in caller.groups:
        for prefix in (USER, ACCOUNTS):
            # A group that names none must not mean "", which is all of them.
            if group.startswith(prefix) and group != prefix:
                yield group.removeprefix(prefix)


def node_of(caller: Caller) -> str | None:
    """The node that the caller is, None for all others."""
    if NODES in caller.groups and caller.name.startswith(NODE_USER):
        return caller.name.removeprefix(NODE_USER) or None
    return None


def only_as_node(caller: Caller, asked: Asked) -> str | None:
    """The node that the caller is, if nothing else allows it what is asked."""
    others = (grant for grant in GRANTS if grant is not _serves)
    return None if any(grant(caller, asked) for grant in others) else node_of(caller)


def _administers(caller: Caller, asked: Asked) -> bool:
    return not ADMINS.isdisjoint(caller.groups)


def _views(caller: Caller, asked: Asked) -> bool:
    is_secret = not asked.group and asked.resource == "secrets"
    return VIEWER in caller.groups and bool(asked.resource) and asked.verb in READ and not is_secret


def _works(caller: Caller, asked: Asked) -> bool:
    mine = tuple(namespaces(caller))
    if not mine or not asked.resource:
        return False
    if (asked.group, asked.resource) in OFFERED:
        return asked.verb in READ and not asked.subresource
    if not asked.group and asked.resource == "namespaces":
        return asked.verb == "get" and asked.name in mine and not asked.subresource
    if asked.namespace not in mine:
        return False
    if (asked.group, _full(asked)) in OWN:
        return True
    # Everything else of the namespace may be read, so that nobody works in the dark.
    return asked.verb in READ


def _serves(caller: Caller, asked: Asked) -> bool:
    node = node_of(caller)
    if node is None or not _is_narrow(node, asked):
        return False
    return any(
        (asked.group, _full(asked)) == (group, resource) and asked.verb in verbs
        for group, resource, verbs in OF_NODES
    )


def _is_narrow(node: str, asked: Asked) -> bool:
    field = NARROWED.get((asked.group, asked.resource))
    if field is None or asked.verb not in ("list", "watch", "deletecollection"):
        return True
    return (field, node) in asked.fields or (field == "metadata.name" and asked.name == node)


def _discovers(caller: Caller, asked: Asked) -> bool:
    if AUTHENTICATED not in caller.groups:
        return False
    if asked.path:
        return asked.verb in ("get", "head") and _is_under(asked.path, DISCOVERY)
    return asked.group in REVIEWS and asked.resource in SELF_REVIEWS and asked.verb == "create"


def _is_public(caller: Caller, asked: Asked) -> bool:
    return asked.verb in ("get", "head") and bool(asked.path) and _is_under(asked.path, HEALTH)


GRANTS: tuple[Grant, ...] = (_administers, _views, _works, _serves, _discovers, _is_public)


def _is_under(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _full(asked: Asked) -> str:
    return f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource


def _what(asked: Asked) -> str:
    if asked.path:
        return f"{asked.verb} {asked.path}"
    where = f" in namespace {asked.namespace}" if asked.namespace else ""
    return f"{asked.verb} {_full(asked)}{where}"
