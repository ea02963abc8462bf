"""Why a Pod waits, in one line: for its condition, its event, a list.

The tree of all reasons is `why`'s. Here the first nodes speak for all, so that a line costs the
same in a large cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import assert_never

from dibs.allocate.outcome import AskNo, Refused, TimedOut
from dibs.schedule.plan import NodeAnswer, Objection, Waits
from dibs.view import words

# So many nodes are asked for their reason, and so many reasons are told.
MOST_NODES = 24
MOST_REASONS = 3


def of(waits: Waits) -> str:
    """`none of 500 nodes fits: 480 taint gpu=yes:NoSchedule is not tolerated; …`."""
    if waits.objections:
        return words.listed([each.text for each in waits.objections], MOST_REASONS)
    count = len(waits.nodes)
    asked = list(islice(waits.nodes, MOST_NODES))
    reasons = Counter(reason(waits.nodes[name]) for name in asked)
    told = "; ".join(_counted(reasons, len(asked)))
    head = "the only node doesn't fit" if count == 1 else f"none of {count} nodes fits"
    seen = f" (of the first {len(asked)})" if len(asked) < count else ""
    return f"{head}{seen}: {told}" if told else head


def reason(answer: NodeAnswer) -> str:
    """One node's reason, the same for nodes that are out for the same cause."""
    match answer:
        case Objection():
            return answer.text
        case TimedOut():
            return answer.message
        case Refused():
            return _refused(answer)
        case _:
            assert_never(answer)


def _refused(refused: Refused) -> str:
    if (culprit := refused.culprit) is not None:
        return f"claim {culprit.claim}, {culprit.title}: {_short(culprit)}"
    if refused.pools and not refused.asks:
        return refused.pools[0].text
    return refused.note or "each request could be met, but not all at once"


def _short(ask: AskNo) -> str:
    if ask.fit >= ask.wanted:
        return ask.note
    causes = Counter(each.reason.code for each in ask.noes)
    why = ", ".join(f"{count} {CODES.get(code, code)}" for code, count in causes.most_common(2))
    return f"{ask.fit} of {ask.wanted} devices fit" + (f" ({why})" if why else "")


# A few words for what `allocate.outcome` codes.
CODES = {
    "held": "in use",
    "selector": "not selected",
    "selector-error": "whose selector fails",
    "capacity": "with too little capacity",
    "counter": "whose card is used up",
    "tainted": "tainted",
    "unreachable": "out of reach",
    "constraint": "against a constraint",
    "group": "that don't go with what is in use",
    "node-resource": "for which the node lacks resources",
}


def _counted(reasons: Counter[str], asked: int) -> Iterable[str]:
    common = reasons.most_common(MOST_REASONS)
    for text, count in common:
        yield text if count == asked else f"{count} × {text}"
    if rest := asked - sum(count for _, count in common):
        yield f"{rest} for other reasons"
