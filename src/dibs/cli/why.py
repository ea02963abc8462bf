"""`dibs why KIND/NAME`: the tree of reasons for a Pod or claim. Exit 0 if it has all, 1 if not."""

from __future__ import annotations

from collections.abc import Collection

import click

from dibs.allocate.orders import Order
from dibs.cli import options, output, paint, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.schedule.snapshot import Key, Snapshot
from dibs.schedule.state import Options
from dibs.values import nearest
from dibs.values.mistake import Mistake
from dibs.view import records, why
from dibs.view.why import Account

KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
    **dict.fromkeys(("claim", "claims", "resourceclaim", "resourceclaims"), "claim"),
}


@click.command("why", help=COMMANDS["why"])
@click.argument("subject", metavar="KIND/NAME")
@click.option("-n", "--namespace", default="", help="Where it is; needed if several have the name.")
@options.files
@options.order
@options.verbose("Every node and every device, one by one; and what was remembered.")
@options.output("tree", "json")
def command(
    subject: str,
    namespace: str,
    paths: tuple[str, ...],
    no_validate: bool,
    order: Order,
    verbose: bool,
    form: str | None,
) -> int:
    kind, name = parse(subject)
    snapshot = source.snapshot(paths, validate=not no_validate)
    account = explain(kind, name, namespace, snapshot, Options(order=order))
    if (form or ("tree" if output.is_terminal() else "json")) == "json":
        output.say_json(records.account(account))
    else:
        paint.show_tree(why.tree(account, every_node=verbose))
    if verbose:
        output.remark_on(account.before.stats)
    return YES if account.is_yes else NO


def parse(subject: str) -> tuple[str, str]:
    kind, slash, name = subject.partition("/")
    if not slash or not name:
        raise Mistake(
            "a kind and a name are wanted", path=subject, remedy="as in pod/train-0 or claim/gpu"
        )
    if kind.lower().partition(".")[0] not in KINDS:
        raise Mistake(
            f"{kind!r} is no kind that gets devices",
            path=subject,
            remedy="ask about a pod or a claim",
        )
    return KINDS[kind.lower().partition(".")[0]], name


def explain(kind: str, name: str, namespace: str, snapshot: Snapshot, chosen: Options) -> Account:
    if kind == "pod":
        return why.of_pod(snapshot, find(kind, name, namespace, snapshot.pods), chosen)
    return why.of_claim(snapshot, find(kind, name, namespace, snapshot.claims), chosen)


def find(kind: str, name: str, namespace: str, known: Collection[Key]) -> Key:
    """The one object that is meant. Raises Mistake when there is none, or more than one."""
    if namespace and Key(namespace, name) in known:
        return Key(namespace, name)
    found = sorted(key for key in known if key.name == name)
    if len(found) == 1 and not namespace:
        return found[0]
    if found and not namespace:
        spaces = ", ".join(key.namespace for key in found)
        raise Mistake(f"it is in namespaces {spaces}", path=f"{kind}/{name}", remedy="say -n")
    where = f" in namespace {namespace}" if namespace else ""
    elsewhere = ", ".join(key.namespace for key in found)
    names = {key.name for key in known if namespace in ("", key.namespace)}
    remedy = f"there is one in {elsewhere}" if found else nearest.question(name, names)
    remedy = remedy or f"there are {len(known)} {kind}s in the input"
    raise Mistake(f"no such {kind}{where} in the input", path=f"{kind}/{name}", remedy=remedy)
