"""Short ways to write the objects of a story: `device("gpu-0", memory="80Gi", model="H100")`.

Each builder returns a frozen model object with the defaults a reader expects (namespace
`default`, class and driver of an imagined GPU vendor, one slice a pool). Nothing is checked
here: a builder can build what the API would refuse, and `model.rules` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dibs.model.core import Container, Node, Pod, PodResourceClaim, PodSpec
from dibs.model.meta import (
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
)
from dibs.model.objects import (
    AllocationResult,
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterDraw,
    CounterSet,
    DerivedAttribute,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dibs.values.quantity import Quantity

DRIVER = "gpu.example.com"
CLASS = "gpu"
NAMESPACE = "default"

# What an attribute may be written as; a version is `version("1.2.3")`.
Value = bool | int | str | Sequence[bool] | Sequence[int] | Sequence[str] | DeviceAttribute

# --- hardware ----------------------------------------------------------------------------------


def device(
    name: str,
    *,
    memory: str = "",
    capacity: Mapping[str, str | DeviceCapacity] | None = None,
    attributes: Mapping[str, Value] | None = None,
    taints: Iterable[DeviceTaint] = (),
    draws: Iterable[DeviceCounterConsumption] = (),
    shareable: bool = False,
    on: str | NodeSelector | None = None,
    binding_conditions: Sequence[str] = (),
    **more_attributes: Value,
) -> Device:
    """One device. `memory` is the capacity of that name; unknown keywords are attributes.

    Names that are no Python word go in `attributes` and `capacity`. `on` is the device's own
    node (or node selector), for slices with per-device node selection.
    """
    amounts = dict(capacity or {})
    if memory:
        amounts["memory"] = memory
    values = {**(attributes or {}), **more_attributes}
    return Device(
        name=name,
        attributes={key: attribute(value) for key, value in values.items()},
        capacity={key: _capacity(amount) for key, amount in amounts.items()},
        consumes_counters=tuple(draws),
        node_name=on if isinstance(on, str) else None,
        node_selector=on if isinstance(on, NodeSelector) else None,
        taints=tuple(taints),
        binding_conditions=tuple(binding_conditions),
        allow_multiple_allocations=True if shareable else None,
    )


def devices(prefix: str, count: int, *, first: int = 0, **common: Value) -> tuple[Device, ...]:
    """`count` devices that differ only in name: `gpu-0`, `gpu-1` …; keywords are attributes.

    `memory="80Gi"` is the capacity, as in `device`.
    """
    memory = common.pop("memory", "")
    assert isinstance(memory, str)
    return tuple(
        device(f"{prefix}-{index}", memory=memory, attributes=common)
        for index in range(first, first + count)
    )


def attribute(value: Value) -> DeviceAttribute:
    """A typed attribute from a Python value; bool before int, because True is an int."""
    match value:
        case DeviceAttribute():
            return value
        case bool():
            return DeviceAttribute(bool_=value)
        case int():
            return DeviceAttribute(int_=value)
        case str():
            return DeviceAttribute(string=value)
    bools = tuple(item for item in value if isinstance(item, bool))
    ints = tuple(item for item in value if isinstance(item, int))
    if len(bools) == len(value):
        return DeviceAttribute(bools=bools)
    if len(ints) == len(value):
        return DeviceAttribute(ints=ints)
    return DeviceAttribute(strings=tuple(str(item) for item in value))


def version(text: str) -> DeviceAttribute:
    """A semantic version attribute."""
    return DeviceAttribute(version=text)


def taint(key: str, value: str = "", *, effect: str = "NoSchedule") -> DeviceTaint:
    return DeviceTaint(key=key, value=value, effect=effect)


def draw(counter_set: str, **amounts: str) -> DeviceCounterConsumption:
    """What a partition takes from a card's counter set (KEP-4815)."""
    return DeviceCounterConsumption(
        counter_set=counter_set,
        counters={key: CounterDraw(value=Quantity.parse(text)) for key, text in amounts.items()},
    )


def counter_set(name: str, **amounts: str) -> CounterSet:
    """What a card has to give (KEP-4815)."""
    return CounterSet(
        name=name,
        counters={key: Counter(value=Quantity.parse(text)) for key, text in amounts.items()},
    )


def resource_slice(
    *published: Device,
    name: str = "",
    driver: str = DRIVER,
    node: str = "",
    pool: str = "",
    generation: int = 1,
    of: int = 1,
    node_selector: NodeSelector | None = None,
    all_nodes: bool = False,
    per_device: bool = False,
    counters: Iterable[CounterSet] = (),
) -> ResourceSlice:
    """One slice; its pool is named like its node, and has `of` slices in this generation."""
    pool = pool or node or "pool"
    return ResourceSlice(
        metadata=ObjectMeta(name=name or f"{pool}-{driver}"),
        spec=ResourceSliceSpec(
            driver=driver,
            pool=ResourcePool(name=pool, generation=generation, resource_slice_count=of),
            node_name=node or None,
            node_selector=node_selector,
            all_nodes=True if all_nodes else None,
            devices=published,
            per_device_node_selection=True if per_device else None,
            shared_counters=tuple(counters),
        ),
    )


def node(name: str, **labels: str) -> Node:
    """A node; the label `kubernetes.io/hostname` is there, as on every real one."""
    return Node(metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name, **labels}))


def nodes_with(key: str, *values: str) -> NodeSelector:
    """The nodes whose label `key` is one of `values`."""
    wanted = LabelSelectorRequirement(key=key, operator="In", values=values)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(wanted,)),))


# --- wishes ------------------------------------------------------------------------------------


def device_class(name: str = CLASS, *expressions: str) -> DeviceClass:
    """A class that selects by CEL; without expressions it selects every device."""
    return DeviceClass(
        metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=_selectors(expressions))
    )


def request(
    name: str,
    *expressions: str,
    device_class: str = CLASS,
    count: int = 1,
    all_devices: bool = False,
    admin: bool | None = None,
    tolerations: Iterable[DeviceToleration] = (),
    capacity: Mapping[str, str] | None = None,
    derived: Mapping[str, str] | None = None,
) -> DeviceRequest:
    """A request for `count` devices (or all of them) that the expressions select."""
    return DeviceRequest(
        name=name,
        exactly=ExactDeviceRequest(
            device_class_name=device_class,
            selectors=_selectors(expressions),
            allocation_mode="All" if all_devices else "ExactCount",
            count=0 if all_devices else count,
            admin_access=admin,
            tolerations=tuple(tolerations),
            capacity=_requirements(capacity),
            derived_attributes=_derivations(derived),
        ),
    )


def alternative(
    name: str,
    *expressions: str,
    device_class: str = CLASS,
    count: int = 1,
    all_devices: bool = False,
    tolerations: Iterable[DeviceToleration] = (),
    capacity: Mapping[str, str] | None = None,
    derived: Mapping[str, str] | None = None,
) -> DeviceSubRequest:
    """One entry of `first_available`."""
    return DeviceSubRequest(
        name=name,
        device_class_name=device_class,
        selectors=_selectors(expressions),
        allocation_mode="All" if all_devices else "ExactCount",
        count=0 if all_devices else count,
        tolerations=tuple(tolerations),
        capacity=_requirements(capacity),
        derived_attributes=_derivations(derived),
    )


def first_available(name: str, *alternatives: DeviceSubRequest) -> DeviceRequest:
    """A prioritized list: the first alternative that fits wins (KEP-4816)."""
    return DeviceRequest(name=name, first_available=alternatives)


def toleration(key: str = "", value: str = "", *, effect: str = "") -> DeviceToleration:
    """Tolerates the key, whatever its value, or exactly `value` if given."""
    return DeviceToleration(
        key=key, operator="Equal" if value else "Exists", value=value, effect=effect
    )


def match(name: str, *requests: str) -> DeviceConstraint:
    """All devices of these requests (of all, if none is named) have the same value."""
    return DeviceConstraint(requests=requests, match_attribute=name)


def distinct(name: str, *requests: str) -> DeviceConstraint:
    """No two devices of these requests (of all, if none is named) have the same value."""
    return DeviceConstraint(requests=requests, distinct_attribute=name)


def claim(
    name: str,
    *requests: DeviceRequest,
    constraints: Iterable[DeviceConstraint] = (),
    namespace: str = NAMESPACE,
) -> ResourceClaim:
    """A claim; without requests it asks for one device of the class `gpu`."""
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=_wish(requests, constraints),
    )


def template(
    name: str,
    *requests: DeviceRequest,
    constraints: Iterable[DeviceConstraint] = (),
    namespace: str = NAMESPACE,
) -> ResourceClaimTemplate:
    """What a claim is made from, one for each Pod that names it."""
    return ResourceClaimTemplate(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=ResourceClaimTemplateSpec(spec=_wish(requests, constraints)),
    )


def pod(
    name: str,
    *,
    claims: Sequence[str] = (),
    templates: Sequence[str] = (),
    node: str = "",
    namespace: str = NAMESPACE,
    created: str | None = None,
) -> Pod:
    """A Pod with one container that uses these claims, and one claim of each template."""
    uses = [PodResourceClaim(name=each, resource_claim_name=each) for each in claims]
    uses += [PodResourceClaim(name=each, resource_claim_template_name=each) for each in templates]
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, creation_timestamp=created),
        spec=PodSpec(
            node_name=node, containers=(Container(name="main"),), resource_claims=tuple(uses)
        ),
    )


# --- what is taken -----------------------------------------------------------------------------


def pick(
    device: str,
    *,
    request: str = "gpu",
    driver: str = DRIVER,
    pool: str = "pool",
    admin: bool = False,
    share: str | None = None,
    consumed: Mapping[str, str] | None = None,
) -> DeviceRequestAllocationResult:
    """One device of an allocation; a `share` takes only what it `consumed` (KEP-5075)."""
    return DeviceRequestAllocationResult(
        request=request,
        driver=driver,
        pool=pool,
        device=device,
        admin_access=True if admin else None,
        share_id=share,
        consumed_capacity={key: Quantity.parse(text) for key, text in (consumed or {}).items()},
    )


def allocated(holder: ResourceClaim, *picks: DeviceRequestAllocationResult) -> ResourceClaim:
    """The same claim, holding these devices."""
    result = AllocationResult(devices=DeviceAllocationResult(results=picks))
    return msgspec.structs.replace(holder, status=ResourceClaimStatus(allocation=result))


# --- details -----------------------------------------------------------------------------------


def _capacity(amount: str | DeviceCapacity) -> DeviceCapacity:
    if isinstance(amount, DeviceCapacity):
        return amount
    return DeviceCapacity(value=Quantity.parse(amount))


def _selectors(expressions: Iterable[str]) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in expressions)


def _requirements(amounts: Mapping[str, str] | None) -> CapacityRequirements | None:
    if amounts is None:
        return None
    parsed = {key: Quantity.parse(text) for key, text in amounts.items()}
    return CapacityRequirements(requests=parsed)


def _derivations(expressions: Mapping[str, str] | None) -> tuple[DerivedAttribute, ...]:
    return tuple(
        DerivedAttribute(name=name, expression=text) for name, text in (expressions or {}).items()
    )


def _wish(
    requests: tuple[DeviceRequest, ...], constraints: Iterable[DeviceConstraint]
) -> ResourceClaimSpec:
    asked = requests or (request("gpu"),)
    return ResourceClaimSpec(devices=DeviceClaim(requests=asked, constraints=tuple(constraints)))
