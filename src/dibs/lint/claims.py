"""Claims and templates that are legal and can't do what is meant.

Only what the object itself, its Pods or its namespace show; what selectors find among published
devices is `attributes`' and `constraints`'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from dibs.lint import references, rule
from dibs.lint.inputs import Wish
from dibs.lint.rule import Remark, Rule, World
from dibs.model.core import Pod
from dibs.model.objects import (
    DeviceClass,
    DeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from dibs.schedule import groups

# AllocationResultsMaxSize of the API: one claim gets 32 devices and no more.
MAX_RESULTS = 32

ADMIN_LABEL = "resource.kubernetes.io/admin-access"

# Drivers that prepare a claim for one container only: kubernetes-sigs/dra-driver-cpu, "feature
# support". Their class has the driver's name.
ONE_CONTAINER = frozenset({"dra.cpu"})


def too_many_devices(world: World) -> Iterator[Remark]:
    for wish in world.wishes():
        least = sum(least_devices(request) for request in wish.spec.devices.requests)
        if least > MAX_RESULTS:
            yield Remark(
                wish.entry,
                f"{wish.root}.devices.requests",
                f"{least} devices are wanted, one claim gets at most {MAX_RESULTS}",
                "split it over several claims",
            )


def unlabelled_admin(world: World) -> Iterator[Remark]:
    for wish in world.wishes():
        for index, request in enumerate(wish.spec.devices.requests):
            if request.exactly is None or not request.exactly.admin_access:
                continue
            if refusal := admin_refusal(world, wish):
                yield Remark(
                    wish.entry,
                    f"{wish.root}.devices.requests[{index}].exactly.adminAccess",
                    refusal,
                    f'label the namespace {ADMIN_LABEL}: "true", in exactly this spelling',
                )


def shared_by_template(world: World) -> Iterator[Remark]:
    users = template_users(world)
    for entry, template in world.entries(ResourceClaimTemplate):
        pods = users[(template.metadata.namespace or "default", template.metadata.name)]
        if pods < 2:
            continue
        for index, config in enumerate(template.spec.spec.devices.config):
            if config.opaque is None or not asks_for_sharing(config.opaque.parameters):
                continue
            yield Remark(
                entry,
                f"spec.spec.devices.config[{index}].opaque.parameters",
                f"{pods} Pods use this template, each gets a claim and a device of its own, "
                "nothing is shared",
                "make one ResourceClaim and name it in each Pod by resourceClaimName",
            )


def one_container(world: World) -> Iterator[Remark]:
    for entry, pod in world.entries(Pod):
        users = container_users(pod)
        for index, used in enumerate(pod.spec.resource_claims):
            spec = references.claim_spec(world, pod, used.name)
            drivers = ONE_CONTAINER & set(class_names(spec)) if spec else None
            if drivers and len(users.get(used.name, ())) > 1:
                yield Remark(
                    entry,
                    f"spec.resourceClaims[{index}]",
                    f"containers {rule.listed(users[used.name])} use claim {used.name}, "
                    f"and {min(drivers)} prepares a claim for one container only",
                    "give each container a claim of its own",
                )


def twice_named(world: World) -> Iterator[Remark]:
    by_name: dict[str, list[str]] = {}
    for _, cls in world.entries(DeviceClass):
        if name := cls.spec.extended_resource_name:
            by_name.setdefault(name, []).append(cls.metadata.name)
    for entry, cls in world.entries(DeviceClass):
        name = cls.spec.extended_resource_name or ""
        others = [other for other in by_name.get(name, ()) if other != cls.metadata.name]
        if others:
            yield Remark(
                entry,
                "spec.extendedResourceName",
                f"class {rule.listed(others)} has the extended resource {name} too",
                "of such classes only the newest counts, then the first by name",
            )


RULES = (
    Rule(
        "too-many-devices",
        "error",
        "a claim needs more devices than one claim can get",
        too_many_devices,
    ),
    Rule(
        "admin-access",
        "error",
        "admin access is asked for in a namespace without the label that allows it",
        unlabelled_admin,
    ),
    Rule(
        "sharing-in-template",
        "warning",
        "a template with a sharing config is used by several Pods, which then share nothing",
        shared_by_template,
    ),
    Rule(
        "one-container",
        "warning",
        "several containers use one claim of a driver that serves one container a claim",
        one_container,
    ),
    Rule(
        "extended-resource-twice",
        "warning",
        "two classes have one extended resource name",
        twice_named,
    ),
)


def least_devices(request: DeviceRequest) -> int:
    """Return the fewest devices that satisfy the request; `All` is one at least."""
    if request.exactly is not None:
        return max(request.exactly.count, 1)
    return min((max(sub.count, 1) for sub in request.first_available), default=0)


def admin_refusal(world: World, wish: Wish) -> str:
    """Say why the API server refuses admin access here, "" when it doesn't or it can't be known."""
    if wish.entry.object.metadata.uid:
        return ""  # the API server has taken it; a label that went later revokes nothing
    namespace = world.snapshot.namespaces.get(wish.namespace)
    if namespace is None:
        return ""
    value = namespace.metadata.labels.get(ADMIN_LABEL)
    if value == "true":
        return ""
    seen = "has no such label" if value is None else f"has it as {value!r}"
    return f"admin access needs a label on namespace {wish.namespace}, which {seen}"


def template_users(world: World) -> Counter[tuple[str, str]]:
    """Count the Pods that get a claim of their own by each template, by namespace and name."""
    return Counter(
        (references.namespace_of(pod), used.resource_claim_template_name)
        for _, pod, _, used in references.pod_claims(world)
        if used.resource_claim_template_name and not groups.sharing(pod, used, world.snapshot)
    )


def asks_for_sharing(parameters: object) -> bool:
    return isinstance(parameters, Mapping) and bool(parameters.get("sharing"))


def container_users(pod: Pod) -> dict[str, list[str]]:
    """Return the containers that use each claim of the Pod."""
    users: dict[str, list[str]] = {}
    for _, container in references.containers_of(pod):
        for name in dict.fromkeys(use.name for use in container.resources.claims):
            users.setdefault(name, []).append(container.name)
    return users


def class_names(spec: ResourceClaimSpec) -> Iterator[str]:
    for request in spec.devices.requests:
        if request.exactly is not None:
            yield request.exactly.device_class_name
        yield from (sub.device_class_name for sub in request.first_available)
