"""Selectors against the devices that are really published: names, kinds and values they have.

Upstream, a selector that fails on one device ends the whole scheduling attempt of the Pod, so a
name that not every device has is worth a word. A selector that did its work is left alone: names
that are missing from one branch of `||` may belong to other hardware.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.lint import catalog, expressions, literals, rule, sizes
from dibs.lint.catalog import Catalog, Seen
from dibs.lint.reads import Read, Shelf, expression
from dibs.lint.rule import Remark, Rule, World
from dibs.lint.trials import Trial

NO_KEY = "no such key"


def unknown_domain(world: World) -> Iterator[Remark]:
    for trial in troubled(world):
        domains = trial.seen.domains()
        for domain, read in {read.domain: read for read in reversed(suspects(trial))}.items():
            if domain not in domains:
                yield expressions.remark(
                    trial,
                    read.spot,
                    f"no device {of_class(trial)} publishes anything in domain {domain}",
                    rule.instead(domain, domains),
                )


def capacity_as_attribute(world: World) -> Iterator[Remark]:
    for trial, read in misplaced(world, "attributes"):
        domain = trial.seen.called(read.name, "capacity")[0][1]
        comparison = read.comparison
        wanted = sizes.quantity(comparison.value) if comparison else None
        if wanted and comparison:
            test = sizes.test(domain, read.name, comparison.operator, wanted)
            remedy = f"compare it with {test}"
        else:
            remedy = f"read it as {expression('capacity', domain, read.name)}, a quantity"
        yield expressions.remark(
            trial, read.spot, f"{read.name} is a capacity, no attribute", remedy
        )


def attribute_as_capacity(world: World) -> Iterator[Remark]:
    for trial, read in misplaced(world, "capacity"):
        domain = trial.seen.called(read.name, "attributes")[0][1]
        yield expressions.remark(
            trial,
            read.spot,
            f"{read.name} is an attribute, no capacity",
            f"read it as {expression('attributes', domain, read.name)}",
        )


def unknown_name(world: World) -> Iterator[Remark]:
    for trial in troubled(world):
        for read in suspects(trial):
            known = not is_unpublished(read, trial.seen) or read.domain not in trial.seen.domains()
            if known or trial.seen.called(read.name, other(read.shelf)):
                continue  # fine, or said by one of the rules above
            noun = "an attribute" if read.shelf == "attributes" else "a capacity"
            yield expressions.remark(
                trial,
                read.spot,
                f"{read.name} is not {noun} that any device {of_class(trial)} publishes",
                elsewhere(world, read, trial.seen) or nearest_name(read, trial.seen),
            )


def missing_somewhere(world: World) -> Iterator[Remark]:
    for trial in troubled(world):
        if trial.is_guess:
            continue  # the class may well keep such devices away
        for read in suspects(trial):
            lacking = [
                device
                for device, why in trial.failed
                if NO_KEY in why and is_unpublished(read, catalog.of([device]))
            ]
            if not lacking or read.is_test or is_unpublished(read, trial.seen):
                continue
            yield expressions.remark(
                trial,
                read.spot,
                f"fails on {len(lacking)} of {rule.plural(len(trial.among), 'device')}, first on "
                f"{lacking[0].id}: no such key: {read.name}",
                f'guard it: "{read.name}" in device.{read.shelf}["{read.domain}"] && …',
            )


def wrong_kind(world: World) -> Iterator[Remark]:
    for trial, read, seen in compared(world):
        assert read.comparison is not None
        if literals.fits(read.comparison.value, seen.kinds):
            continue
        kind = min(seen.kinds)
        yield expressions.remark(
            trial,
            read.comparison.node.at,
            f"{read.name} is published as {kind}, and compared with "
            f"{literals.noun(read.comparison.value)}",
            literals.remedy(read.text, read.comparison, kind),
        )


def unseen_value(world: World) -> Iterator[Remark]:
    for trial, read, seen in compared(world):
        assert read.comparison is not None
        wanted = read.comparison.value
        fits = literals.fits(wanted, seen.kinds)
        if trial.failed or read.comparison.operator != "==" or not fits or wanted in seen.values:
            continue
        yield expressions.remark(
            trial,
            read.comparison.node.at,
            f"no device {of_class(trial)} has {read.name} {literals.text(wanted)}",
            nearest_value(wanted, seen),
        )


def other_failure(world: World) -> Iterator[Remark]:
    said = {id(trial) for trial, read, seen in compared(world) if mismatched(read, seen)}
    for trial in troubled(world):
        if trial.is_guess:
            continue
        left = [(device, why) for device, why in trial.failed if NO_KEY not in why]
        if left and id(trial) not in said:
            device, why = left[0]
            if any(literal.error in why for literal in trial.unreadable):
                continue  # said by `expressions`
            yield expressions.remark(
                trial,
                0,
                f"fails on {len(left)} of {rule.plural(len(trial.among), 'device')}, first on "
                f"{device.id}: {why}",
                "one such failure ends the Pod's whole scheduling attempt",
            )


RULES = (
    Rule(
        "domain-unknown",
        "error",
        "an expression reads a domain in which no device publishes anything",
        unknown_domain,
    ),
    Rule(
        "capacity-as-attribute",
        "error",
        "an expression reads as attribute what the devices publish as capacity",
        capacity_as_attribute,
    ),
    Rule(
        "attribute-as-capacity",
        "error",
        "an expression reads as capacity what the devices publish as attribute",
        attribute_as_capacity,
    ),
    Rule(
        "attribute-unknown",
        "error",
        "an expression reads a name that no device publishes",
        unknown_name,
    ),
    Rule(
        "attribute-not-everywhere",
        "warning",
        "an expression fails on the devices that do not publish a name it reads",
        missing_somewhere,
    ),
    Rule(
        "kind-mismatch",
        "error",
        "an attribute is compared with a literal of another kind",
        wrong_kind,
    ),
    Rule(
        "value-unseen",
        "warning",
        "an attribute is compared with a value that no device has",
        unseen_value,
    ),
    Rule(
        "selector-fails",
        "error",
        "an expression fails on a device for another reason",
        other_failure,
    ),
)


def troubled(world: World) -> Iterator[Trial]:
    """Yield the trials that failed somewhere, and those of requests that found nothing.

    A class that matches nothing is no trouble: its hardware may not be there today.
    """
    for trial in world.survey.trials:
        written = trial.written
        is_spare = world.survey.is_spare(written.entry, written.path)
        is_fruitless = bool(written.class_name) and not trial.matched and not is_spare
        if trial.among and (trial.failed or is_fruitless):
            yield trial


def suspects(trial: Trial) -> list[Read]:
    """Return the reads that can have caused the trouble: all, or those that failures name."""
    if not trial.failed:
        return [read for read in trial.reads if read.name]
    missing = {why.partition(f"{NO_KEY}: ")[2].partition(".")[0] for _, why in trial.failed}
    return [read for read in trial.reads if read.name in missing]


def misplaced(world: World, shelf: Shelf) -> Iterator[tuple[Trial, Read]]:
    """Yield the reads from this shelf of what is published on the other one only."""
    for trial in troubled(world):
        for read in suspects(trial):
            if read.shelf == shelf and is_unpublished(read, trial.seen):
                if trial.seen.called(read.name, other(shelf)):
                    yield trial, read


def compared(world: World) -> Iterator[tuple[Trial, Read, Seen]]:
    """Yield the reads of published attributes that are compared with a literal, to no avail."""
    for trial in troubled(world):
        if any(NO_KEY in why for _, why in trial.failed):
            continue
        for read in trial.reads:
            seen = trial.seen.find(read.shelf, read.domain, read.name)
            if read.comparison and read.shelf == "attributes" and seen:
                yield trial, read, seen


def mismatched(read: Read, seen: Seen) -> bool:
    return read.comparison is not None and not literals.fits(read.comparison.value, seen.kinds)


def is_unpublished(read: Read, seen: Catalog) -> bool:
    return seen.find(read.shelf, read.domain, read.name) is None


def other(shelf: Shelf) -> Shelf:
    return "capacity" if shelf == "attributes" else "attributes"


def of_class(trial: Trial) -> str:
    if trial.is_guess or not trial.written.class_name:
        return "here"
    return f"of class {trial.written.class_name}"


def elsewhere(world: World, read: Read, seen: Catalog) -> str:
    """Say where the name is published: in another domain, or by devices of another class."""
    if places := seen.called(read.name, read.shelf):
        return f"read it as {expression(*places[0])}"
    for name, group in world.survey.by_class.items():
        if not is_unpublished(read, catalog.of(group.devices)):
            return f"devices of class {name} publish it"
    return ""


def nearest_name(read: Read, seen: Catalog) -> str:
    """Name the attribute that has the wanted value, or one much like it, or a name much like it."""
    names = seen.identifiers(read.shelf, read.domain)
    wanted = read.comparison.value if read.comparison else None
    if isinstance(wanted, str):
        for value, holders in seen.texts(read.domain).items():
            if value == wanted:
                return f'the nearest is {holders[0]}, which some have as "{value}"'
        if near := rule.near(wanted, seen.texts(read.domain)):
            return f'the nearest is {seen.texts(read.domain)[near][0]}, which some have as "{near}"'
    return rule.instead(read.name, names)


def nearest_value(wanted: object, seen: Seen) -> str:
    known = {str(value): literals.text(value) for value in seen.values}
    if near := rule.near(str(wanted), known):
        return f"the nearest is {known[near]}" + (f" of {len(known)}" if len(known) > 1 else "")
    return f"seen are {rule.listed(known.values())}"
