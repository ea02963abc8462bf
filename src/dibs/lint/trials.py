"""Every selector of the input, tried on the devices that it would be asked about.

A class is asked about all published devices, a request's selectors about those that its class
selects, each selector about those that the ones before it left: as the allocator does it. What
comes out is judged by the rules of `expressions`, `selections` and `demands`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dibs.cel import CompileError, EvaluationError, parse
from dibs.client.dump import Entry, Loaded
from dibs.lint import catalog, inputs, reads
from dibs.lint.catalog import NOTHING, Catalog
from dibs.lint.inputs import Wish
from dibs.lint.published import Group, Published
from dibs.lint.reads import Read
from dibs.model.objects import DeviceClass, DeviceSelector, DeviceSubRequest, ExactDeviceRequest
from dibs.request import literals, selectors
from dibs.request.literals import Unreadable
from dibs.request.views import DeviceView

NO_DEVICES = Group()
ALTERNATIVE = ".firstAvailable["

# The API takes no longer ones, and says so by itself.
MAX_EXPRESSION_BYTES = 10 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """One selector where it stands. `class_name` is "" when it is the class's own."""

    entry: Entry
    path: str
    text: str
    class_name: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one selector said of each device it was asked about; nothing if it has a `fault`.

    `seen` is what the devices it was asked about publish; `cost` is estimated, as at admission.
    `is_guess` when the class is not in the input, and the devices are those of the drivers that
    the expression itself names.
    """

    written: Written
    reads: tuple[Read, ...] = ()
    fault: CompileError | None = None
    seen: Catalog = NOTHING
    among: tuple[Published, ...] = ()
    matched: Group = NO_DEVICES
    failed: tuple[tuple[Published, str], ...] = ()
    cost: int = 0
    is_guess: bool = False
    # Its constants that fail whenever they are reached.
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """One request or alternative, and the devices that would do.

    `offered` are those its class selects, `fitting` those that its own selectors leave; both are
    None when that can't be known: no such class in the input, or a selector that doesn't compile
    or fails.
    """

    wish: Wish
    path: str
    name: str
    request: ExactDeviceRequest | DeviceSubRequest
    offered: Group | None
    fitting: Group | None


@dataclass(frozen=True, slots=True)
class Survey:
    """`by_class` has the devices of each class of the input whose selectors compile."""

    trials: tuple[Trial, ...] = ()
    demands: tuple[Demand, ...] = ()
    by_class: Mapping[str, Group] = field(default_factory=dict)
    # Prioritized lists of which an alternative fits: entry and path of the request.
    granted: frozenset[tuple[int, str]] = frozenset()

    def is_spare(self, entry: Entry, path: str) -> bool:
        """Whether the path is in an alternative that may well fit nothing: another one does.

        A prioritized list (KEP-4816) may name hardware that not every cluster has.
        """
        request, listed, _ = path.partition(ALTERNATIVE)
        return bool(listed) and (id(entry), request) in self.granted


def survey(loaded: Loaded, devices: tuple[Published, ...]) -> Survey:
    """Try every selector of every class, claim and template that is not allocated yet."""
    found = _Surveyor(devices)
    by_class: dict[str, Group] = {}
    for entry, cls in inputs.of_kind(loaded, DeviceClass):
        found.classes.add(cls.metadata.name)
        left, _ = found.narrow(entry, "spec.selectors", cls.spec.selectors, "", Group(devices))
        if left is not None:
            by_class[cls.metadata.name] = left
    demands = []
    for wish in inputs.wishes(loaded):
        if wish.is_allocated:
            continue
        for path, name, request in requests(wish):
            offered = by_class.get(request.device_class_name)
            left, is_sure = found.narrow(
                wish.entry, f"{path}.selectors", request.selectors, request.device_class_name,
                offered,
            )  # fmt: skip
            demands.append(Demand(wish, path, name, request, offered, left if is_sure else None))
    granted = frozenset(
        (id(each.wish.entry), each.path.partition(ALTERNATIVE)[0])
        for each in demands
        if each.fitting
    )
    return Survey(tuple(found.trials), tuple(demands), by_class, granted)


def requests(wish: Wish) -> Iterator[tuple[str, str, ExactDeviceRequest | DeviceSubRequest]]:
    """Yield path, name ("gpu" or "gpu/small") and content of each request and alternative."""
    for index, request in enumerate(wish.spec.devices.requests):
        path = f"{wish.root}.devices.requests[{index}]"
        if request.exactly is not None:
            yield f"{path}.exactly", request.name, request.exactly
        for sub_index, sub in enumerate(request.first_available):
            yield f"{path}.firstAvailable[{sub_index}]", f"{request.name}/{sub.name}", sub


class _Surveyor:
    """Remembers what was asked already: many claims are alike."""

    def __init__(self, devices: tuple[Published, ...]) -> None:
        self.devices = devices
        self.classes: set[str] = set()
        self.trials: list[Trial] = []
        self.known: dict[tuple[str, ...], Trial] = {}

    def narrow(
        self,
        entry: Entry,
        path: str,
        written_selectors: tuple[DeviceSelector, ...],
        class_name: str,
        devices: Group | None,
    ) -> tuple[Group | None, bool]:
        """Try the selectors one after the other.

        Returns the devices that all of them match, None if that can't be known, and whether no
        selector failed on any device.
        """
        left, is_sure = devices, True
        chain: tuple[str, ...] = (class_name,)
        for index, selector in enumerate(written_selectors):
            text = selector.cel.expression if selector.cel else ""
            if not text or len(text.encode()) > MAX_EXPRESSION_BYTES:
                left = None  # the rules of the API say so
                continue
            chain += (text,)
            written = Written(entry, f"{path}[{index}].cel.expression", text, class_name)
            if chain not in self.known:
                if class_name and class_name not in self.classes:
                    self.known[chain] = self.guessed(written)
                else:
                    self.known[chain] = tried(written, left or NO_DEVICES)
            trial = replace(self.known[chain], written=written)
            self.trials.append(trial)
            left = None if trial.fault or left is None else trial.matched
            is_sure = is_sure and not trial.failed
        return left, is_sure

    def guessed(self, written: Written) -> Trial:
        """Ask a selector of an unknown class about the drivers whose domains it reads."""
        blank = tried(written, NO_DEVICES)
        domains = {read.domain for read in blank.reads}
        meant = tuple(each for each in self.devices if each.id.driver in domains)
        return replace(tried(written, Group(meant)), is_guess=True)


def tried(written: Written, group: Group) -> Trial:
    """Compile one selector and ask it about each device."""
    try:
        root = parse.parse(written.text)
        found = reads.reads(root)
    except CompileError as fault:
        return Trial(written, fault=fault)
    try:
        selector = selectors.compile(written.text)
    except CompileError as fault:
        return Trial(written, found, fault)
    matched: list[Published] = []
    failed: list[tuple[Published, str]] = []
    for each in group.devices:
        try:
            fits, _ = selector.decide(DeviceView.of(each.id.driver, each.device))
        except EvaluationError as error:
            failed.append((each, error.text))
            continue
        if fits:
            matched.append(each)
    return Trial(
        written,
        found,
        None,
        catalog.of(group.devices),
        group.devices,
        Group(tuple(matched)),
        tuple(failed),
        selector.program.max_cost,
        unreadable=tuple(literals.unreadable(root)),
    )
