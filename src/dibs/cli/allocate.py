"""`dibs allocate`: decide on everybody who waits, and print what was decided.

The answer goes to stdout, who waits and why to stderr (or into the table). Exit 1 if anybody does.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from dibs.allocate.orders import Order
from dibs.cli import options, output, paint, source
from dibs.cli.codes import NO, YES
from dibs.cli.commands import COMMANDS
from dibs.client import dump, writing
from dibs.model import codec
from dibs.model.kinds import Known
from dibs.schedule import pods
from dibs.schedule.plan import Decision, Plan, Write
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import Options, State
from dibs.values import nearest
from dibs.values.mistake import Mistake
from dibs.view import plans, words


@click.command("allocate", help=COMMANDS["allocate"])
@options.files
@options.order
@click.option("--node", default="", metavar="NAME", help="Place on this node only.")
@options.verbose("Tell what was remembered, and how often that helped, on stderr.")
@options.output("table", "json", "yaml")
def command(
    paths: tuple[str, ...],
    no_validate: bool,
    order: Order,
    node: str,
    verbose: bool,
    form: str | None,
) -> int:
    snapshot = source.snapshot(paths, validate=not no_validate)
    if node:
        check_node(node, snapshot)
    state = State.of(snapshot, Options(order=order, node=node))
    plan = decide(state, is_strict=bool(paths))
    form = form or ("table" if output.is_terminal() else "json")
    if form == "table":
        show_table(plan)
    else:
        print_objects(plans.objects(plan, snapshot), form)
        for each in plans.waiting(plan):
            output.remark(f"{each.subject} waits: {plans.reason(each)}")
    point_on(plan, snapshot, paths)
    if verbose:
        output.remark_on(state.stats)
    return YES if plan.is_complete else NO


def print_objects(decided: Sequence[Known], form: str) -> None:
    if form == "yaml" and decided:
        output.say_plain(dump.write(decided, "yaml"))
    else:
        # Always a List, also of one: scripts look into items.
        items = [codec.encode(each) for each in decided]
        whole = {"apiVersion": "v1", "kind": "List", "items": items}
        if form == "yaml":
            # Nothing at all would be no manifest for who reads it.
            output.say_plain(writing.yaml_text([whole]))
        else:
            output.say_json(whole)


def decide(state: State, *, is_strict: bool) -> Plan:
    """`pods.plan`, with a line on the terminal when it takes long."""
    progress = source.Progress("deciding on")
    decisions: list[Decision] = []
    writes: list[Write] = []
    for decision, written in pods.steps(state.snapshot, state.options, state, is_strict=is_strict):
        decisions.append(decision)
        writes += written
        progress.at(str(decision.subject))
    progress.end()
    return Plan(tuple(decisions), tuple(writes))


def show_table(plan: Plan) -> None:
    found = plans.table(plan)
    if found.rows:
        paint.show_table(found)
    for told in plans.reasons(plan):
        paint.show_tree(told)


def point_on(plan: Plan, snapshot: Snapshot, paths: tuple[str, ...]) -> None:
    """What was done, and where to read more."""
    waiting = plans.waiting(plan)
    if waiting:
        who = waiting[0].subject
        kind = "pod" if who.kind == "Pod" else "claim"
        files = " ".join(f"-f {shlex.quote(path)}" for path in paths)
        output.remark(
            f"{len(waiting)} of {len(plan.decisions)} "
            f"{'waits' if len(waiting) == 1 else 'wait'}; "
            f"see: dibs why {kind}/{who.key.name} -n {who.key.namespace} {files}"
        )
    elif not plans.table(plan).rows:
        pods_ = words.counted(len(snapshot.pods), "Pod")
        claims = words.counted(len(snapshot.claims), "claim")
        output.remark(f"nothing waits: {pods_} and {claims} have all they need")
    if snapshot.nodes_are_implied and snapshot.nodes:
        output.remark(
            "the input has no Node; those that ResourceSlices name are taken, without labels "
            "and taints"
        )


def check_node(node: str, snapshot: Snapshot) -> None:
    if node not in snapshot.nodes:
        remedy = nearest.question(node, snapshot.nodes)
        raise Mistake("no such node in the input", path=f"--node {node}", remedy=remedy)
