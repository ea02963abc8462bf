"""Who am I, may I, may they, whose token is this: questions that are asked by creating them.

Nothing is stored; the gate answers. Source: authentication.k8s.io/v1, authorization.k8s.io/v1.
"""

from __future__ import annotations

from typing import Any

from dibs.api import selecting
from dibs.api.calls import Asked, Call, Caller, Tree
from dibs.api.gate import Credentials, Gate, Rule


def answer(gate: Gate, call: Call, body: Tree) -> Tree:
    """Return the review with its status. `body` has the shape of its kind."""
    head = {
        "kind": call.resource.kind,
        "apiVersion": call.resource.api_version(),
        "metadata": {**(body.get("metadata") or {})},
    }
    spec = body.get("spec") or {}
    match call.resource.kind:
        case "SelfSubjectReview":
            return {**head, "status": {"userInfo": _user(call.caller)}}
        case "TokenReview":
            return {**head, "spec": spec, "status": _of_token(gate, spec)}
        case "SelfSubjectRulesReview":
            rules = gate.rules(call.caller, spec.get("namespace") or "default")
            return {**head, "spec": spec, "status": _rules(rules)}
        case "SelfSubjectAccessReview":
            return {**head, "spec": spec, "status": _verdict(gate, call.caller, spec, "")}
        case _:
            extra = {key: tuple(value) for key, value in (spec.get("extra") or {}).items()}
            groups = tuple(spec.get("groups") or ())
            caller = Caller(spec.get("user", ""), groups, spec.get("uid", ""), extra)
            return {**head, "spec": spec, "status": _verdict(gate, caller, spec, call.namespace)}


def _verdict(gate: Gate, caller: Caller, spec: Tree, namespace: str) -> Tree:
    refusal = gate.refusal(caller, _asked(spec, namespace))
    return {"allowed": True} if refusal is None else {"allowed": False, "reason": refusal}


def _asked(spec: Tree, namespace: str) -> Asked:
    if path := spec.get("nonResourceAttributes"):
        return Asked(path.get("verb", "").lower(), path=path.get("path", ""))
    about = spec.get("resourceAttributes") or {}
    return Asked(
        about.get("verb", ""),
        about.get("group", ""),
        about.get("resource", ""),
        about.get("subresource", ""),
        about.get("namespace", "") or namespace,
        about.get("name", ""),
        fields=_fields(about.get("fieldSelector") or {}),
    )


def _fields(selector: Tree) -> tuple[tuple[str, str], ...]:
    """Those with one value, written as text or as requirements. Raises Failure (400)."""
    if text := selector.get("rawSelector"):
        return selecting.equalities(text)
    return tuple(
        (each.get("key", ""), each["values"][0])
        for each in selector.get("requirements") or ()
        if each.get("operator") == "In" and len(each.get("values") or ()) == 1
    )


def _of_token(gate: Gate, spec: Tree) -> Tree:
    caller = gate.who(Credentials(f"Bearer {spec.get('token', '')}"))
    if caller is None or not spec.get("token"):
        return {"authenticated": False, "error": "the token is unknown, or its time is over"}
    return {"authenticated": True, "user": _user(caller)}


def _user(caller: Caller) -> dict[str, Any]:
    found: dict[str, Any] = {"username": caller.name, "groups": list(caller.groups)}
    if caller.uid:
        found["uid"] = caller.uid
    if caller.extra:
        found["extra"] = {key: list(value) for key, value in caller.extra.items()}
    return found


def _rules(rules: tuple[Rule, ...]) -> Tree:
    resources = [
        {
            "verbs": list(rule.verbs),
            "apiGroups": list(rule.groups),
            "resources": list(rule.resources),
            **({"resourceNames": list(rule.names)} if rule.names else {}),
        }
        for rule in rules
        if not rule.paths
    ]
    paths = [
        {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)}
        for rule in rules
        if rule.paths
    ]
    return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
