"""Everything that is wrong with what was read: the public verb of this room.

`check(loaded)` takes what `client.dump.load` returned. Faults of reading and of the API come as
they are; the rules of the families beside this file add what the API accepts and what will not
work. Findings come in the order of files, lines and columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from dibs.client.dump import Loaded
from dibs.lint import (
    claims,
    demands,
    expressions,
    hardware,
    places,
    references,
    selections,
    sharing,
    validation,
    versions,
    workloads,
)
from dibs.lint.finding import Finding, Severity
from dibs.lint.rule import Remark, Rule, World
from dibs.model import kinds
from dibs.model.faults import Fault, FaultKind

RULES: tuple[Rule, ...] = (
    *versions.RULES,
    *references.RULES,
    *expressions.RULES,
    *selections.RULES,
    *demands.RULES,
    *claims.RULES,
    *hardware.RULES,
    *sharing.RULES,
    *workloads.RULES,
)

# What reading says, by the kind of its faults.
READING: dict[FaultKind, tuple[Severity, str]] = {
    FaultKind.SYNTAX: ("error", "the text is neither YAML nor JSON"),
    FaultKind.DUPLICATE_KEY: ("error", "one key stands twice in a mapping"),
    FaultKind.KIND: ("error", "kind or apiVersion is missing, or no such kind exists"),
    FaultKind.VERSION: ("error", "the version is gone, or the shape is that of another version"),
    FaultKind.UNKNOWN_FIELD: ("error", "the kind has no such field in this version"),
    FaultKind.TYPE: ("error", "a value has the wrong type"),
    FaultKind.QUANTITY: ("error", "a quantity can't be read"),
    FaultKind.DUPLICATE_OBJECT: ("error", "two different objects have one name"),
    FaultKind.BARE_WORD: ("warning", "a bare y or n, which kubectl reads as true or false"),
    FaultKind.GIVEN_UP: ("error", "too many faults: the rest of the file was not looked at"),
}


def check(loaded: Loaded) -> tuple[Finding, ...]:
    """Return every finding, in the order of files, lines and columns. Never raises."""
    world = World.of(loaded)
    found = [unread(fault) for fault in loaded.faults]
    found.extend(validation.findings(world))
    for rule in RULES:
        found.extend(placed(rule, remark) for remark in rule.remarks(world))
    files = {file: index for index, file in enumerate(loaded.files)}

    def place(finding: Finding) -> tuple[int, int, int, str]:
        return files.get(finding.file, -1), finding.line, finding.column, finding.code

    return tuple(sorted(dict.fromkeys(found), key=place))


def codes() -> Iterator[tuple[str, str, str]]:
    """Yield code, severity and meaning of all that can be found, as docs/lint.md lists them."""
    for kind, (severity, says) in READING.items():
        yield kind.value, severity, says
    for code, says in validation.CODES.values():
        yield code, "error", says
    for rule in RULES:
        yield rule.code, rule.severity, rule.says


def unread(fault: Fault) -> Finding:
    return Finding(
        severity=READING[fault.kind][0],
        code=fault.kind.value,
        message=f"{fault.path}: {fault.message}" if fault.path else fault.message,
        remedy=fault.remedy,
        file=fault.file,
        line=fault.line,
        column=fault.column,
        subject=fault.subject,
        path=fault.path,
    )


def placed(rule: Rule, remark: Remark) -> Finding:
    """Return the remark as a finding with file, line and column."""
    origin = remark.entry.origin
    if remark.offset is None:
        position = origin.position(remark.path)
        excerpt: tuple[str, ...] = ()
    else:
        position = places.inside(origin, remark.path, remark.expression, remark.offset)
        excerpt = places.excerpt(remark.expression, remark.offset)
    return Finding(
        severity=rule.severity,
        code=rule.code,
        message=remark.message,
        remedy=remark.remedy,
        file=origin.file,
        line=position.line,
        column=position.column,
        subject=kinds.name_of(remark.entry.object),
        path=origin.written(remark.path),
        excerpt=excerpt,
    )
