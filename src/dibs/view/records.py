"""The same accounts for programs: plain dicts that become JSON.

Keys are the contract: every record has all of its keys, in this order, whatever the answer is.
Texts are those of the trees; programs should go by `outcome`, `about` and `code`.
"""

from __future__ import annotations

from typing import assert_never

from dibs.allocate.outcome import AskNo, Refused, TimedOut
from dibs.schedule import footprint
from dibs.schedule.plan import (
    Broken,
    ClaimUse,
    Decision,
    NodeAnswer,
    Objection,
    Placed,
    Settled,
    Subject,
    Waits,
)
from dibs.schedule.snapshot import key_of
from dibs.schedule.state import State
from dibs.supply import taints
from dibs.view import devices, drawn, granted, why
from dibs.view.why import Account

Record = dict[str, object]


def account(told: Account) -> Record:
    """One account of `why`."""
    decision = told.decision
    return {
        "kind": told.asked.kind,
        "namespace": told.asked.key.namespace,
        "name": told.asked.key.name,
        "decidedWith": subject(decision.subject) if decision.subject != told.asked else None,
        "outcome": outcome(decision),
        "node": decision.node if isinstance(decision, Placed | Settled) else "",
        "message": message(told),
        "objections": objections(decision),
        "claims": [claim(use, told.state) for use in decision.claims],
        "nodes": nodes(decision),
        "suggestions": [{"text": each.text, "node": each.node} for each in told.suggestions],
        "users": [str(user) for user in told.users],
        "draws": draws(told),
    }


def message(told: Account) -> str:
    """What the failure is, or what the cluster says of a Pod that dibs would place."""
    decision = told.decision
    if isinstance(decision, Broken):
        return decision.failed.message
    if isinstance(decision, Placed) and decision.subject.kind == "Pod":
        return why.held_up(told.before.snapshot.pods[decision.subject.key])
    return ""


def draws(told: Account) -> list[Record]:
    """What the Pod draws from its node through claims (KEP-5517): amounts by resource."""
    return [
        {
            "claim": status.resource_claim_name,
            "containers": list(status.containers),
            "amounts": {
                name: str(amount)
                for name, amount in sorted(footprint.through_claims([status]).items())
            },
        }
        for status in drawn.of_account(told.decision, told.before)
    ]


def subject(who: Subject) -> Record:
    return {"kind": who.kind, "namespace": who.key.namespace, "name": who.key.name}


def outcome(decision: Decision) -> str:
    """`placed` and `settled` are yes, `waits` and `failed` are no."""
    match decision:
        case Placed():
            return "placed"
        case Settled():
            return "settled"
        case Waits():
            return "waits"
        case Broken():
            return "failed"
        case _:
            assert_never(decision)


def objections(decision: Decision) -> list[Record]:
    found = decision.objections if isinstance(decision, Waits) else ()
    return [objection(each) for each in found]


def objection(against: Objection) -> Record:
    return {"about": against.about, "text": against.text, "remedy": against.remedy}


def nodes(decision: Decision) -> list[Record]:
    """Each node that was asked and said no, in the order in which they were asked."""
    match decision:
        case Waits():
            answers = decision.nodes
        case Placed():
            answers = decision.passed_over
        case _:
            return []
    return [{"node": name, **answer(each)} for name, each in answers.items()]


def answer(said: NodeAnswer) -> Record:
    found: Record = {"answer": "", "text": "", "pools": [], "requests": []}
    match said:
        case Objection():
            found |= {"answer": said.about, "text": said.text}
        case TimedOut():
            found |= {"answer": "timed out", "text": said.message}
        case Refused():
            found |= {
                "answer": "refused",
                "text": said.note,
                "pools": [
                    {"pool": str(p.pool), "kind": p.kind, "text": p.text} for p in said.pools
                ],
                "requests": [request(ask) for ask in said.asks],
            }
        case _:
            assert_never(said)
    return found


def request(ask: AskNo) -> Record:
    return {
        "claim": ask.claim,
        "request": ask.request,
        "wanted": ask.wanted,
        "candidates": ask.candidates,
        "fit": ask.fit,
        "note": ask.note,
        "devices": [
            {
                "driver": no.device.driver,
                "pool": no.device.pool,
                "device": no.device.device,
                "code": no.reason.code,
                "text": no.reason.text,
                "holder": no.reason.holder.claim if no.reason.holder else "",
                "overlaps": [devices.overlap_record(each) for each in no.reason.overlaps],
            }
            for no in ask.noes
        ],
    }


def claim(use: ClaimUse, state: State) -> Record:
    """A claim of the subject and, if it is allocated, its devices and what let them in."""
    node = granted.node_of(use.claim)
    return {
        "namespace": key_of(use.claim.metadata).namespace,
        "name": use.claim.metadata.name,
        "entry": use.entry,
        "template": use.template,
        "group": use.group.metadata.name if use.group else "",
        "resources": [
            {
                "container": each.container_name,
                "resource": each.resource_name,
                "request": each.request_name,
            }
            for each in use.mappings
        ],
        "allocated": use.claim.status.allocation is not None,
        "node": node,
        "reservedFor": [reference.name for reference in use.claim.status.reserved_for],
        "devices": [device(grant) for grant in granted.grants(use.claim, state)],
        "passedOver": [
            {
                "request": other.request,
                "answer": answer(other.refused) if other.refused else None,
            }
            for other in granted.passed(use.claim, node, state)
        ],
    }


def device(grant: granted.Grant) -> Record:
    result = grant.result
    return {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        "published": grant.candidate is not None,
        "sharedWith": list(dict.fromkeys(each.claim for each in grant.sharers)),
        "taint": taints.text_of(grant.taint) if grant.taint else "",
        "share": result.share_id or "",
        "asked": {name: str(value) for name, value in grant.wanted.items()},
        "consumed": {name: str(value) for name, value in result.consumed_capacity.items()},
        "left": granted.left_over(grant),
        "awaited": list(grant.wait.awaited),
        "failedBy": [condition.type for condition in grant.wait.failed],
        "adminAccess": bool(result.admin_access),
        "selectors": [
            {"owner": match.owner, "expression": match.expression, "answer": match.answer}
            for match in grant.matches
        ],
    }
