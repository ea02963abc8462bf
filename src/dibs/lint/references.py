"""Names that lead nowhere: classes, templates, claims, and requests inside a claim.

Whether a name exists can only be known of kinds that the input has at all: a lone Pod is not
blamed for a template that stands in another file. The API accepts most of these; the Pod then
waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dibs.client.dump import Entry
from dibs.lint import rule
from dibs.lint.inputs import Wish
from dibs.lint.rule import Remark, Rule, World
from dibs.model.core import Container, Pod, PodResourceClaim
from dibs.model.objects import ResourceClaimSpec
from dibs.schedule.snapshot import Key


def missing_class(world: World) -> Iterator[Remark]:
    classes = world.snapshot.classes
    if not classes:
        return
    for wish in world.wishes():
        if wish.is_allocated:
            continue  # what was allocated needs its class no more
        for path, name in classes_of(wish):
            if name and name not in classes:
                yield Remark(
                    wish.entry,
                    path,
                    f"class {name} is not there, so no device can be found",
                    rule.instead(name, classes),
                )


def missing_template(world: World) -> Iterator[Remark]:
    templates = world.snapshot.templates
    for entry, pod, index, used in pod_claims(world):
        name = used.resource_claim_template_name
        if not name or not templates or has_made(pod, used):
            continue
        if (key := Key(namespace_of(pod), name)) not in templates:
            yield Remark(
                entry,
                f"spec.resourceClaims[{index}].resourceClaimTemplateName",
                f"template {name} is not in namespace {key.namespace}",
                instead_in(key, templates),
            )


def missing_claim(world: World) -> Iterator[Remark]:
    claims = world.snapshot.claims
    for entry, pod, index, used in pod_claims(world):
        name = used.resource_claim_name
        if not name or not claims:
            continue
        if (key := Key(namespace_of(pod), name)) not in claims:
            yield Remark(
                entry,
                f"spec.resourceClaims[{index}].resourceClaimName",
                f"claim {name} is not in namespace {key.namespace}",
                instead_in(key, claims),
            )


def missing_request(world: World) -> Iterator[Remark]:
    for entry, pod in world.entries(Pod):
        for path, container in containers_of(pod):
            for index, use in enumerate(container.resources.claims):
                spec = claim_spec(world, pod, use.name)
                if not use.request or spec is None:
                    continue
                names = [request.name for request in spec.devices.requests]
                if use.request in names:
                    continue
                main, slash, _ = use.request.partition("/")
                if slash and main in names:
                    remedy = f"a container names the request, {main}, never one of its alternatives"
                else:
                    remedy = rule.instead(use.request, names)
                yield Remark(
                    entry,
                    f"{path}.resources.claims[{index}].request",
                    f"request {use.request} is not in claim {use.name}",
                    remedy,
                )


RULES = (
    Rule(
        "class-missing", "error", "a request names a DeviceClass that is not there", missing_class
    ),
    Rule(
        "template-missing",
        "error",
        "a Pod names a ResourceClaimTemplate that is not in its namespace",
        missing_template,
    ),
    Rule(
        "claim-missing",
        "error",
        "a Pod names a ResourceClaim that is not in its namespace",
        missing_claim,
    ),
    Rule(
        "request-missing",
        "error",
        "a container uses a request that its claim does not have",
        missing_request,
    ),
)


def classes_of(wish: Wish) -> Iterator[tuple[str, str]]:
    """Yield the path and the class name of every request and alternative."""
    for index, request in enumerate(wish.spec.devices.requests):
        path = f"{wish.root}.devices.requests[{index}]"
        if request.exactly is not None:
            yield f"{path}.exactly.deviceClassName", request.exactly.device_class_name
        for sub_index, sub in enumerate(request.first_available):
            yield f"{path}.firstAvailable[{sub_index}].deviceClassName", sub.device_class_name


def pod_claims(world: World) -> Iterator[tuple[Entry, Pod, int, PodResourceClaim]]:
    for entry, pod in world.entries(Pod):
        for index, used in enumerate(pod.spec.resource_claims):
            yield entry, pod, index, used


def containers_of(pod: Pod) -> Iterator[tuple[str, Container]]:
    """Yield the containers that may use claims: all but ephemeral ones."""
    for index, container in enumerate(pod.spec.init_containers):
        yield f"spec.initContainers[{index}]", container
    for index, container in enumerate(pod.spec.containers):
        yield f"spec.containers[{index}]", container


def claim_spec(world: World, pod: Pod, name: str) -> ResourceClaimSpec | None:
    """Return what the Pod's claim of this name asks for, None when it can't be known."""
    for used in pod.spec.resource_claims:
        if used.name != name:
            continue
        if used.resource_claim_name:
            claim = world.snapshot.claims.get(Key(namespace_of(pod), used.resource_claim_name))
            return claim.spec if claim else None
        wanted = Key(namespace_of(pod), used.resource_claim_template_name or "")
        template = world.snapshot.templates.get(wanted)
        return template.spec.spec if template else None
    return None


def has_made(pod: Pod, used: PodResourceClaim) -> bool:
    """Whether the claim was made from its template already: a template may go once it was used."""
    return any(status.name == used.name for status in pod.status.resource_claim_statuses)


def namespace_of(pod: Pod) -> str:
    return pod.metadata.namespace or "default"


def instead_in(wanted: Key, known: Iterable[Key]) -> str:
    keys = list(known)
    elsewhere = [key.namespace for key in keys if key.name == wanted.name]
    if elsewhere:
        return f"one of that name is in namespace {rule.listed(elsewhere)}"
    return rule.instead(
        wanted.name, [key.name for key in keys if key.namespace == wanted.namespace]
    )
