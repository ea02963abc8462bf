"""What the API server would refuse, in its words, at the lines of the file.

`model.rules` decides; here each fault gets its place, the path in the version that was written,
and a remedy where a near name is known. Expressions and admin access are left to their own rules,
which can say more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dibs.client.dump import Entry
from dibs.lint import rule
from dibs.lint.finding import Finding
from dibs.lint.rule import World
from dibs.model import kinds, rules
from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dibs.model.rules import FaultType, FieldFault

CODES: dict[FaultType, tuple[str, str]] = {
    FaultType.REQUIRED: ("required", "a required field is missing or empty"),
    FaultType.INVALID: ("invalid", "a value breaks a rule of the API"),
    FaultType.NOT_SUPPORTED: ("not-supported", "a value is not one of those the field knows"),
    FaultType.DUPLICATE: ("duplicate", "two items of a list have one key"),
    FaultType.TOO_MANY: ("too-many", "a list is longer than the API allows"),
    FaultType.TOO_LONG: ("too-long", "a value is longer than the API allows"),
    FaultType.FORBIDDEN: ("forbidden", "a field may not be set here"),
    FaultType.NOT_FOUND: ("not-found", "a value names what is not in the object"),
    FaultType.INTERNAL: ("internal", "the API server could not check the value"),
}

REFERENCE = re.compile(r"\.(constraints|config)\[\d+\]\.requests\[\d+\]$")
QUOTED = re.compile(r'"([^"]+)"')
POD_CLAIM = re.compile(r"\.resources\.claims\[\d+\](\.name)?$")


def findings(world: World) -> Iterator[Finding]:
    """Yield every fault of every object, status included.

    A field that could not be read is missing from the object: that was said already.
    """
    unread = {(fault.file, fault.path) for fault in world.loaded.faults}
    for entry in world.loaded.entries:
        for fault in rules.validate_as_found(entry.object):
            found = finding(entry, fault)
            if fault.type is not FaultType.REQUIRED or (found.file, found.path) not in unread:
                yield found


def finding(entry: Entry, fault: FieldFault) -> Finding:
    origin = entry.origin
    position = origin.position(fault.path)
    path = origin.written(fault.path)
    return Finding(
        severity="error",
        code=CODES[fault.type][0],
        message=f"{path}: {fault.body}" if path else fault.body,
        remedy=remedy(entry, fault),
        file=origin.file,
        line=position.line,
        column=position.column,
        subject=kinds.name_of(entry.object),
        path=path,
    )


def remedy(entry: Entry, fault: FieldFault) -> str:
    """Say what may have been meant by a name that isn't there, "" for all other faults.

    Names of enumerations differ by case only, as `all` for `All`, more often than otherwise.
    """
    if not isinstance(fault.value, str):
        return ""
    if fault.type is FaultType.NOT_SUPPORTED:
        supported = {each.lower(): each for each in QUOTED.findall(fault.detail)}
        meant = supported.get(rule.near(fault.value.lower(), supported))
        return f"did you mean {meant}?" if meant else ""
    if isinstance(entry.object, Pod) and POD_CLAIM.search(fault.path):
        return rule.instead(fault.value, [used.name for used in entry.object.spec.resource_claims])
    spec = spec_of(entry)
    if spec is not None and REFERENCE.search(fault.path):
        return rule.instead(fault.value, request_names(spec))
    return ""


def spec_of(entry: Entry) -> ResourceClaimSpec | None:
    match entry.object:
        case ResourceClaim(spec=spec):
            return spec
        case ResourceClaimTemplate(spec=template):
            return template.spec
    return None


def request_names(spec: ResourceClaimSpec) -> Iterator[str]:
    for request in spec.devices.requests:
        yield request.name
        yield from (f"{request.name}/{sub.name}" for sub in request.first_available)
