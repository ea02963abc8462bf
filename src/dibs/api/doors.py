"""The subresources that aren't a view of the object: binding, eviction, finalize, token.

Each takes a body of its own kind. Who may use them is the gate's; which node a Pod gets is decided
by whoever binds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dibs.api import deletes, failures, kinds, stamps, storage, writes
from dibs.api.calls import Call, DeleteOptions, Tree, WriteOptions, Written
from dibs.api.gate import Account
from dibs.api.plane import Plane
from dibs.store.faults import Conflict
from dibs.store.records import Entry, Put

# Bounds of a token's life. Source: TokenRequest; an hour unless asked otherwise.
_SHORTEST_S, _USUAL_S, _LONGEST_S = 600, 3600, 1 << 32

Change = Callable[[Tree], Tree]


async def bind(plane: Plane, call: Call, body: Tree, options: WriteOptions) -> Tree:
    """Give a Pod its node. Raises Failure: 400, 404, 409."""
    target = body.get("target") or {}
    node = target.get("name")
    if not node or target.get("kind") not in (None, "", "Node"):
        raise failures.bad_request("target: a binding names a node: {kind: Node, name: …}")
    about = body.get("metadata") or {}

    def bound(pod: Tree) -> Tree:
        metadata, spec = dict(pod["metadata"]), pod.get("spec") or {}
        if about.get("uid") and about["uid"] != metadata["uid"]:
            raise _not_bound(call, f"the UID in the precondition ({about['uid']}) is another")
        if metadata.get("deletionTimestamp"):
            raise _not_bound(
                call, f"pod {call.name} is being deleted, cannot be assigned to a host"
            )
        if spec.get("nodeName"):
            taken = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
            raise _not_bound(call, taken)
        if spec.get("schedulingGates"):
            raise _not_bound(call, f"pod {call.name} has non-empty .spec.schedulingGates")
        if about.get("annotations"):
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                **about["annotations"],
            }
        metadata["generation"] = int(metadata.get("generation") or 0) + 1
        status = _scheduled(pod.get("status") or {}, stamps.seconds(plane.world.now()))
        return {
            **pod, "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status,
        }  # fmt: skip

    await _change(plane, call, bound, options)
    return success(201)


def _not_bound(call: Call, why: str) -> failures.Failure:
    text = f'Operation cannot be fulfilled on pods/binding "{call.name}": {why}'
    return failures.Failure(
        409, "Conflict", text, failures.Details(name=call.name, kind="pods/binding")
    )


def _scheduled(status: Tree, now: str) -> Tree:
    others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    told = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    return {**status, "conditions": [*others, told]}


async def evict(plane: Plane, call: Call, options: DeleteOptions) -> Tree:
    """Delete a Pod as `kubectl drain` does; there are no budgets to respect."""
    await deletes.delete(plane, replace(call, subresource=""), options)
    return success(201)


async def finalize(plane: Plane, call: Call, body: Tree, options: WriteOptions) -> Written:
    """Write `spec.finalizers` of a namespace; without any left it is gone."""
    return await writes.update(plane, call, body, options)


def token(plane: Plane, call: Call, body: Tree) -> Tree:
    """Answer a TokenRequest with a token of the ServiceAccount. Raises Failure: 400, 404, 405."""
    account = plane.reader.tree(plane.entry(call))
    spec = body.get("spec") or {}
    seconds = spec.get("expirationSeconds") or _USUAL_S
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise failures.bad_request(
            f"spec.expirationSeconds: may not be less than {_SHORTEST_S} seconds or larger than "
            f"{_LONGEST_S} seconds"
        )
    holder = Account(call.namespace, call.name, account["metadata"]["uid"])
    if about := spec.get("boundObjectRef"):
        holder = _bound_to(plane, call, holder, about)
        spec = {**spec, "boundObjectRef": {**about, "uid": holder.bound_uid}}
    given = plane.gate.token(holder, tuple(spec.get("audiences") or ()), seconds)
    if given is None:
        raise failures.wrong_method()
    text, ends = given
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": call.name, "namespace": call.namespace},
        "spec": {**spec, "expirationSeconds": seconds},
        "status": {"token": text, "expirationTimestamp": stamps.seconds(ends)},
    }


# What a token can die with, and the resource of it.
_BOUND = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


def _bound_to(plane: Plane, call: Call, account: Account, about: Tree) -> Account:
    """Return the account with what its token shall die with. Raises Failure: 400, 404, 409."""
    kind, name = about.get("kind", ""), about.get("name", "")
    if kind not in _BOUND or about.get("apiVersion") not in (None, "", "v1"):
        told = f"{about.get('apiVersion') or 'v1'} {kind}"
        raise failures.bad_request(
            f"cannot bind token to object of type {told}; it can be a Pod, a Node or a Secret of v1"
        )
    resource = kinds.find("", "v1", _BOUND[kind])
    assert resource is not None, kind
    entry = plane.store.get(storage.key_of(resource, call.namespace, name))
    if entry is None:
        raise failures.not_found(resource, name)
    found = plane.reader.tree(entry)
    uid = found["metadata"]["uid"]
    if about.get("uid") not in (None, "", uid):
        why = (
            f"the UID in the bound object reference ({about['uid']}) does not match the UID in "
            f"record ({uid}). The object might have been deleted and then recreated"
        )
        raise failures.conflict(resource, name, why)
    runs_as = (found.get("spec") or {}).get("serviceAccountName") if kind == "Pod" else call.name
    if runs_as != call.name:
        raise failures.bad_request(
            f'cannot bind token for serviceaccount "{call.name}" to pod running with different '
            f'serviceaccount name "{runs_as}"'
        )
    return replace(account, bound_kind=kind, bound_name=name, bound_uid=uid)


async def _change(plane: Plane, call: Call, change: Change, options: WriteOptions) -> None:
    for _ in range(writes.MOST_TRIES):
        entry: Entry = plane.entry(call)
        old = plane.reader.tree(entry)
        new = change(old)
        plane.object_to(call, old, new)
        if options.dry_run:
            return
        try:
            [event] = await plane.commit(Put(entry.key, storage.to_bytes(new), entry.mod_revision))
        except Conflict:
            continue
        plane.reader.written(event, new)
        return
    raise failures.conflict(call.resource, call.name)


def success(code: int) -> Tree:
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code,
    }  # fmt: skip
