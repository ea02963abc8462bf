"""Requests and constraints that no node can satisfy, as far as the published devices show.

What is free at the moment is not looked at: these are the wishes that even an empty cluster could
not grant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dibs.lint import expressions, rule, selections
from dibs.lint.published import Group
from dibs.lint.rule import Remark, Rule, World
from dibs.lint.trials import Demand, Trial
from dibs.model.objects import ExactDeviceRequest


def empty_class(world: World) -> Iterator[Remark]:
    for demand in world.survey.demands:
        if world.survey.is_spare(demand.wish.entry, demand.path):
            continue
        if world.devices and demand.offered is not None and not demand.offered:
            yield Remark(
                demand.wish.entry,
                f"{demand.path}.deviceClassName",
                f"class {demand.request.device_class_name} selects none of "
                f"{rule.plural(len(world.devices), 'published device')}",
            )


def nothing_fits(world: World) -> Iterator[Remark]:
    said = {
        (id(remark.entry), remark.path)
        for other in selections.RULES
        for remark in other.remarks(world)
    }
    for trial in world.survey.trials:
        name = trial.written.class_name
        place = (id(trial.written.entry), trial.written.path)
        if trial.is_guess or world.survey.is_spare(trial.written.entry, trial.written.path):
            continue
        if name and trial.among and not trial.matched and not trial.failed and place not in said:
            yield expressions.remark(
                trial,
                0,
                f"none of {rule.plural(len(trial.among), 'device')} of class {name} matches",
                ranges(trial),
            )


def too_many_for_a_node(world: World) -> Iterator[Remark]:
    for demand in world.survey.demands:
        request = demand.request
        if not isinstance(request, ExactDeviceRequest) or not demand.fitting:
            continue
        most = demand.fitting.most_on_a_node
        if request.allocation_mode != "All" and most is not None and request.count > most:
            yield Remark(
                demand.wish.entry,
                f"{demand.path}.count",
                f"{request.count} devices are wanted on one node, and none has more than {most} "
                "that fit",
                "a Pod runs on one node: split the work, or ask for less",
            )


def unpublished_constraint(world: World) -> Iterator[Remark]:
    of_entry: dict[int, list[Demand]] = {}
    for demand in world.survey.demands:
        of_entry.setdefault(id(demand.wish.entry), []).append(demand)
    for wish in world.wishes():
        demands = of_entry.get(id(wish.entry), [])
        for index, constraint in enumerate(wish.spec.devices.constraints):
            attribute = constraint.match_attribute or constraint.distinct_attribute
            field = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
            concerned = [each for each in demands if concerns(constraint.requests, each)]
            groups = [each.fitting for each in concerned if each.fitting]
            if not attribute or not concerned or len(groups) < len(concerned):
                continue
            lacking = [
                each
                for each, group in zip(concerned, groups, strict=True)
                if attribute not in group.attributes and not derives(each, attribute)
            ]
            names = sorted({each.name for each in lacking})
            if not lacking or any("/" in name for name in names):
                continue  # of alternatives, another one may do
            remedy = instead(attribute, groups)
            if any(derives(each, attribute) for each in concerned):
                remedy = f"derive it in request {' and '.join(names)} too"
            yield Remark(
                wish.entry,
                f"{wish.root}.devices.constraints[{index}].{field}",
                f"no device that fits request {' or '.join(names)} publishes {attribute}, "
                "so the constraint never holds",
                remedy,
            )


RULES = (
    Rule(
        "class-empty",
        "warning",
        "a request's class selects none of the published devices",
        empty_class,
    ),
    Rule(
        "nothing-fits",
        "warning",
        "a request's selectors match no device of its class",
        nothing_fits,
    ),
    Rule(
        "count-too-large",
        "error",
        "a request wants more devices than fit on any node",
        too_many_for_a_node,
    ),
    Rule(
        "constraint-unpublished",
        "error",
        "a constraint names an attribute that no fitting device publishes",
        unpublished_constraint,
    ),
)


def ranges(trial: Trial) -> str:
    """Say how much of each capacity that the selector reads there is."""
    parts = []
    for read in trial.reads:
        seen = trial.seen.find("capacity", read.domain, read.name)
        if read.shelf == "capacity" and seen:
            amounts = sorted(seen.quantities)
            spread = f"{amounts[0]} to {amounts[-1]}" if len(amounts) > 1 else f"{amounts[0]}"
            parts.append(f"{read.name} is {spread} there")
    return ", ".join(dict.fromkeys(parts))


def concerns(requests: tuple[str, ...], demand: Demand) -> bool:
    """Whether a constraint with these references covers the demand; none means all."""
    return not requests or demand.name in requests or demand.name.partition("/")[0] in requests


def derives(demand: Demand, attribute: str) -> bool:
    """Whether the request makes the attribute itself, of what its devices publish (KEP-6080)."""
    return any(each.name == attribute for each in demand.request.derived_attributes)


def instead(attribute: str, groups: Sequence[Group]) -> str:
    """Name an attribute that all of the requests publish: of the same name, near, or any."""
    common = frozenset.intersection(*(group.attributes for group in groups))
    _, _, name = attribute.rpartition("/")
    for other in sorted(common):
        if other.rpartition("/")[2] == name:
            return f"the nearest is {other}"
    if found := rule.near(attribute, common):
        return f"the nearest is {found}"
    return f"there are {rule.listed(common)}" if common else ""
