"""The allocator's side of the conformance protocol: one question a line in, one answer a line out.

Objects are decoded but not validated, as many questions are invalid on purpose; the API server's
defaults are filled in. A line that can't be read is answered `mistake`, and the next one is read.
The questions of the selector language are `conform_cel`'s.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TextIO, TypeVar

from dibs.allocate import allocator
from dibs.allocate.orders import Order
from dibs.allocate.outcome import Allocated, AskNo, Failed, Outcome, Refused, TimedOut
from dibs.model import codec, defaults
from dibs.model.core import Node
from dibs.model.kinds import Known
from dibs.model.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from dibs.supply.features import Features
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.values.mistake import Mistake

Tree = Mapping[str, object]
Item = TypeVar("Item", bound=Known)

DEFAULT_TIMEOUT_S = 10.0
# One step of the search takes about this long, with the bounds: it turns seconds into a budget.
STEPS_PER_S = 5_000

_KEYS = ("id", "features", "node", "slices", "classes", "claims", "allocated", "timeout_s")
FEATURES = {
    re.sub(r"_(\w)", lambda match: match[1].upper(), field.name): field.name
    for field in fields(Features)
}


@dataclass(frozen=True, slots=True)
class Question:
    """One line, read."""

    id: str
    features: Features
    node: Node
    slices: tuple[ResourceSlice, ...]
    classes: Mapping[str, DeviceClass]
    claims: tuple[ResourceClaim, ...]
    allocated: tuple[ResourceClaim, ...]
    timeout_s: float


def run(
    stdin: Iterable[str | bytes],
    stdout: TextIO,
    *,
    order: Order = "first-fit",
    timing: bool = False,
) -> int:
    """Answer every line, and return the exit code: 0 whatever the answers are."""
    for number, line in enumerate(stdin, 1):
        if line.strip():
            stdout.write(json.dumps(answer(line, number, order=order, timing=timing)) + "\n")
            stdout.flush()
    return 0


def answer(
    line: str | bytes, number: int = 1, *, order: Order = "first-fit", timing: bool = False
) -> dict[str, object]:
    """Answer one line; `number` is its place in the input, for the mistakes in it."""
    asked: object = None
    try:
        asked = _tree(line)
        question = read(asked)
    except Mistake as mistake:
        found = asked.get("id") if isinstance(asked, dict) else None
        id_ = found if isinstance(found, str) else ""
        return {"id": id_, "outcome": "mistake", "message": f"line {number}: {mistake}"}
    start = time.perf_counter()
    outcome = decide(question, order)
    given = {"id": question.id, **_told(outcome)}
    if timing:
        given["elapsed_ms"] = round((time.perf_counter() - start) * 1000, 3)
    return given


def decide(question: Question, order: Order) -> Outcome:
    """Ask the allocator, as strictly as kube-scheduler."""
    options = allocator.Options(
        strict=True,
        order=order,
        budget=max(1, int(question.timeout_s * STEPS_PER_S)),
        share_id=lambda claim, number: f"share-{number + 1}",
    )
    supply = Supply.of(question.slices, question.features)
    ledger = Ledger.of(question.allocated, question.features)
    return allocator.allocate(
        question.node, question.claims, supply, ledger, question.classes, options
    )


# --- reading ----------------------------------------------------------------------------------


def read(asked: object) -> Question:
    """Read a question from its tree. Raises Mistake with the path of what is wrong."""
    if not isinstance(asked, dict):
        raise Mistake(f"a question is an object, not {_kind_of(asked)}")
    for key in asked:
        if key not in _KEYS:
            raise Mistake("unknown field", path=str(key), remedy=f"known are {', '.join(_KEYS)}")
    for key in ("node", "claims"):
        if asked.get(key) is None:
            raise Mistake("required", path=key)
    classes = _items(asked, "classes", DeviceClass)
    return Question(
        id=_text(asked.get("id", "")),
        features=_features(asked.get("features")),
        node=_item(asked["node"], "node", Node),
        slices=_items(asked, "slices", ResourceSlice),
        classes={each.metadata.name: each for each in classes},
        claims=tuple(defaults.apply(each) for each in _items(asked, "claims", ResourceClaim)),
        allocated=_items(asked, "allocated", ResourceClaim),
        timeout_s=_seconds(asked.get("timeout_s")),
    )


def _tree(line: str | bytes) -> object:
    try:
        text = line.decode() if isinstance(line, bytes) else line
        tree: object = json.loads(
            text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant
        )
    except UnicodeDecodeError:
        raise Mistake("not UTF-8") from None
    except RecursionError:
        raise Mistake("nested too deeply") from None
    except json.JSONDecodeError as fault:
        raise Mistake(f"not JSON: {fault.msg} at column {fault.colno}") from None
    except ValueError as fault:  # an integer of more digits than Python reads
        raise Mistake(f"not JSON that can be read: {fault}") from None
    return tree


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Mistake("this key stands twice in one object", path=twice)
    return tree


def _no_constant(name: str) -> object:
    raise Mistake(f"{name} is no JSON number")


def _features(asked: object) -> Features:
    if asked is None:
        return Features()
    if not isinstance(asked, dict):
        raise Mistake(f"an object of booleans, not {_kind_of(asked)}", path="features")
    # Who lists features means these and no others, as upstream's structs have it.
    chosen = dict.fromkeys(FEATURES.values(), False)
    for name, value in asked.items():
        if name not in FEATURES:
            known = ", ".join(FEATURES)
            raise Mistake("unknown feature", path=f"features.{name}", remedy=f"known are {known}")
        if not isinstance(value, bool):
            raise Mistake(f"a boolean, not {_kind_of(value)}", path=f"features.{name}")
        chosen[FEATURES[name]] = value
    return Features(**chosen)


def _items(asked: Tree, key: str, struct: type[Item]) -> tuple[Item, ...]:
    trees = asked.get(key)
    if trees is None:
        return ()
    if not isinstance(trees, list):
        raise Mistake(f"a list, not {_kind_of(trees)}", path=key)
    return tuple(_item(tree, f"{key}[{index}]", struct) for index, tree in enumerate(trees))


def _item(tree: object, path: str, struct: type[Item]) -> Item:
    group = "v1" if struct is Node else "resource.k8s.io/v1"
    decoded = codec.decode(tree, api_version=group, kind=struct.__name__)
    for fault in decoded.faults:
        where = f"{path}.{fault.path}" if fault.path else path
        raise Mistake(fault.message, path=where, remedy=fault.remedy)
    if not isinstance(decoded.object, struct):
        raise Mistake(f"{decoded.kind or _kind_of(tree)} is no {struct.__name__}", path=path)
    return decoded.object


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Mistake(f"text, not {_kind_of(value)}", path="id")
    return value


def _seconds(value: object) -> float:
    if value is None:
        return DEFAULT_TIMEOUT_S
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise Mistake("a number of seconds, above 0 and at most 86400", path="timeout_s")
    return float(value)


def _kind_of(tree: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(tree), "a number")


# --- telling ----------------------------------------------------------------------------------


def _told(outcome: Outcome) -> dict[str, object]:
    match outcome:
        case Allocated():
            trees = [_allocation(each) for each in outcome.allocations]
            return {"outcome": "allocated", "allocations": trees}
        case Refused():
            return {"outcome": "refused", "message": outcome.note, "reasons": _reasons(outcome)}
        case Failed():
            return {"outcome": "error", "message": outcome.message}
        case TimedOut():
            return {"outcome": "timeout", "message": outcome.message}


def _allocation(allocation: AllocationResult) -> object:
    status = ResourceClaimStatus(allocation=allocation)
    tree = codec.encode(ResourceClaim(status=status))["status"]
    assert isinstance(tree, dict)
    if allocation.devices == DeviceAllocationResult():
        tree["allocation"].setdefault("devices", {})
    return tree["allocation"]


def _reasons(refused: Refused) -> list[object]:
    """The structured tree: faulty pools first, then every request with its devices."""
    faults: list[object] = [
        {"pool": str(fault.pool), "kind": fault.kind, "text": fault.text} for fault in refused.pools
    ]
    return faults + [_ask(ask) for ask in refused.asks]


def _ask(ask: AskNo) -> dict[str, object]:
    told: dict[str, object] = {
        "claim": ask.claim,
        "request": ask.request,
        "wanted": ask.wanted,
        "candidates": ask.candidates,
        "fit": ask.fit,
        "devices": [
            {"device": str(no.device), "code": no.reason.code, "text": no.reason.text}
            for no in ask.noes
        ],
    }
    if ask.note:
        told["note"] = ask.note
    return told
