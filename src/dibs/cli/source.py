"""The input of a command: manifests read, remarked upon, and refused if nothing can rest on them.

Unknown fields and foreign kinds are told on stderr and passed over. What can't be read, and what
no API server would have accepted, ends the command: decisions about it would be about something
else. Objects that come from a server (they have a uid) are taken as they are.
designs/040-cli.md has the reasons.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any, BinaryIO, NoReturn

import click

from dibs.cli import output
from dibs.cli.codes import MISTAKE
from dibs.client import dump
from dibs.client.dump import Entry, Loaded
from dibs.model import kinds
from dibs.model.faults import PASSED_OVER, Fault, FaultKind
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim, ResourceSlice
from dibs.model.rules import check
from dibs.schedule.snapshot import Snapshot
from dibs.supply import ledger, pools
from dibs.values.mistake import Mistake

SHOWN = 20
PROGRESS_AFTER_S = 2.0

SAVE = (
    "kubectl get nodes,pods,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,"
    "devicetaintrules -A -o yaml > dump.yaml; then add -f dump.yaml"
)
# Without these, decisions would be about something else.
NEEDED = ("ResourceSlice", "ResourceClaim", "DeviceClass", "Pod")


def snapshot(paths: tuple[str, ...], *, validate: bool = True) -> Snapshot:
    """Everything at `paths`, or in the cluster, indexed.

    Raises Mistake, or exits with 2 after listing faults.
    """
    if not paths:
        return Snapshot.of(from_cluster())
    return Snapshot.of(read(paths, validate=validate).objects)


def from_cluster(context: str = "") -> tuple[Known, ...]:
    """What the kubeconfig's cluster, or the `dibs up` of this user, has. Raises Mistake."""
    try:
        from dibs.cli import reaching
        from dibs.client import live
    except ModuleNotFoundError as lack:
        raise Mistake(
            f"reading from a cluster needs {lack.name}, which is not installed",
            remedy=f"pip install 'dibs[up]'; or {SAVE}",
        ) from lack
    path = reaching.config()
    there = live.read(path, context)
    for kind, why in there.absent.items():
        if kind.name in NEEDED:
            raise Mistake(
                f"all {kind.plural} are wanted, since devices are everybody's: {why}",
                path=str(path),
                remedy="ask with credentials that may read all namespaces, such as a viewer's",
            )
        output.remark(f"warning: {kind.plural} are left out: {why}")
    return there.objects


def trees(paths: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """Every object of files as it stands there, of whatever kind, Namespaces first.

    What is in it is the server's to judge. Raises Mistake for what can't be read.
    """
    found = dump.trees(paths, stdin=standard_input(paths))
    return tuple(sorted(found, key=lambda tree: tree.get("kind") != "Namespace"))


def read(paths: tuple[str, ...], *, validate: bool = True) -> Loaded:
    """Read and remark; what remains can be decided on."""
    progress = Progress("reading")
    loaded = dump.load(paths, stdin=standard_input(paths), progress=progress.files)
    progress.end()
    remark_on(loaded)
    unread = [fault for fault in loaded.faults if fault.kind not in PASSED_OVER]
    if unread:
        # That the list is not whole is said first, as only its begin is shown.
        unread.sort(key=lambda fault: fault.kind is not FaultKind.GIVEN_UP)
        refuse([str(fault) for fault in unread], "correct the input; dibs lint says more")
    if validate and (wrong := invalid(loaded.entries)):
        refuse(wrong, "correct the input, or decide on it all the same with --no-validate")
    claims = (each for each in loaded.objects if isinstance(each, ResourceClaim))
    slices = [each for each in loaded.objects if isinstance(each, ResourceSlice)]
    for remark in (*pools.remarks_on(slices), *ledger.remarks_on(claims, slices)):
        output.remark(f"warning: {remark}")
    if not loaded.entries:
        raise Mistake(
            f"nothing in {', '.join(paths)} concerns devices",
            remedy="Pods, claims, classes, slices and nodes are wanted",
        )
    return loaded


def standard_input(paths: Iterable[str]) -> BinaryIO:
    """stdin as bytes; a terminal there is told what it is waited for."""
    if sys.stdin is None:
        raise Mistake("standard input is closed", path="-", remedy="pass a file instead")
    if "-" in paths and sys.stdin.isatty():
        output.remark("reading manifests from the terminal; end with Ctrl-D")
    return sys.stdin.buffer


def remark_on(loaded: Loaded) -> None:
    """What is passed over, on stderr."""
    passed: list[Fault] = [fault for fault in loaded.faults if fault.kind in PASSED_OVER]
    for fault in passed[:SHOWN]:
        output.remark(f"warning: {fault}")
    if len(passed) > SHOWN:
        output.remark(f"warning: {len(passed) - SHOWN} more of these; dibs lint lists them all")
    remark_on_skipped(loaded)
    if loaded.repeated:
        output.remark(f"{loaded.repeated} objects are there more than once, and equal")


def remark_on_skipped(loaded: Loaded) -> None:
    """Objects of kinds that dibs does not read, by kind."""
    if loaded.skipped:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(loaded.skipped.items()))
        output.remark(f"skipped, being no matter of devices: {counts}")


def invalid(entries: Iterable[Entry]) -> list[str]:
    """What an API server would say to the objects that none has seen yet."""
    found: list[str] = []
    for entry in entries:
        if entry.object.metadata.uid:
            continue
        for fault in check.validate_as_found(entry.object):
            # Places take time, and only these are shown.
            line, column = entry.origin.position(fault.path) if len(found) < SHOWN else (1, 1)
            where = f"{entry.origin.file}:{line}:{column}"
            path = entry.origin.written(fault.path)
            found.append(f"{where}: {kinds.name_of(entry.object)}: {path}: {fault.body}")
    return found


def refuse(wrong: list[str], remedy: str) -> NoReturn:
    for each in wrong[:SHOWN]:
        output.complain(each)
    if len(wrong) > SHOWN:
        output.complain(f"and {len(wrong) - SHOWN} more")
    output.remark(f"nothing was decided; {remedy}")
    raise click.exceptions.Exit(MISTAKE)


class Progress:
    """A line on a terminal's stderr once the work takes longer than two seconds."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.start_s = time.monotonic()
        self.shown_s = 0.0

    def files(self, file: str, done: int, total: int) -> None:
        """`dump.load` calls it before each file, with bytes."""
        self.at(f"{file}, {done >> 20} of {total >> 20} MiB")

    def at(self, where: str) -> None:
        now_s = time.monotonic()
        late = now_s - self.start_s > PROGRESS_AFTER_S and now_s - self.shown_s > 0.2
        if late and sys.stderr is not None and sys.stderr.isatty():
            self.shown_s = now_s
            sys.stderr.write(f"\r\033[K{self.verb} {output.printable(where)}")
            sys.stderr.flush()

    def end(self) -> None:
        if self.shown_s:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
