"""`dibs get`, `apply`, `describe`, `delete`, `wait`, `logs` against `dibs up`, as they are typed.

One plane for all; each test in a namespace of its own. Tables are compared with real kubectl's.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests import upped
from tests.upped import BIN, Said

pytestmark = pytest.mark.slow

FLEET = "nodes: [{model: l4, devices: 4, nodes: 2, name: l4}]"
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, labels: {app: train}}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.dibs.dev, count: 2}}]}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: train-0, labels: {app: train}}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: train}]
  containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]
"""
WAITING = """
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec: {nodeSelector: {zone: nowhere}, containers: [{name: main, image: x}]}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("up")
    (folder / "fleet.yaml").write_text(FLEET)
    with upped.plane(folder / "data", "--fleet", str(folder / "fleet.yaml")) as config:
        yield config


class Space:
    """The command line in one namespace, and files for it."""

    def __init__(self, config: Path, folder: Path, name: str) -> None:
        self.config, self.folder, self.name = config, folder, name

    def __call__(self, *words: str) -> Said:
        return upped.said(self.config, *words, "-n", self.name)

    def yes(self, *words: str) -> str:
        said = self(*words)
        assert said.code == 0, said
        return said.out

    def file(self, *documents: str) -> str:
        path = self.folder / "objects.yaml"
        path.write_text("---\n".join(documents))
        return str(path)

    def apply(self, *documents: str) -> Said:
        return self("apply", "-f", self.file(*documents))


@pytest.fixture
def space(config: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Space]:
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[-40:].strip("-")
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}"
    (tmp_path / "space.yaml").write_text(text)
    assert upped.said(config, "apply", "-f", str(tmp_path / "space.yaml")).code == 0
    yield Space(config, tmp_path, name)
    # What one test holds of the devices the next one may want.
    upped.said(config, "delete", "namespace", name, "--no-wait")


@pytest.fixture
def trained(space: Space) -> Space:
    """With a Pod that has its devices."""
    assert space.apply(CLAIM, POD).code == 0
    space.yes("wait", "pod/train-0", "--for", "condition=PodScheduled")
    return space


# --- apply ----------------------------------------------------------------------------------------


def test_apply_says_what_became_of_each(space: Space) -> None:
    trial = space("apply", "-f", space.file(CLAIM), "--dry-run")
    assert trial.out == "resourceclaim.resource.k8s.io/train created (server dry run)\n"
    assert space("get", "claims").out == ""
    assert space.apply(CLAIM).out == "resourceclaim.resource.k8s.io/train created\n"
    assert space.apply(CLAIM).out == "resourceclaim.resource.k8s.io/train unchanged\n"
    changed = CLAIM.replace("{app: train}", "{app: train, tier: a}")
    assert space.apply(changed).out == "resourceclaim.resource.k8s.io/train configured\n"


def test_one_refused_object_keeps_no_other(space: Space) -> None:
    said = space.apply(
        MAP % "first",
        MAP % "Not_A_Name",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n",
        (MAP % "typo").replace("\ndata:", "\ndato:"),
        MAP % "last",
    )
    assert said.code == 1
    assert said.out == "configmap/first created\nconfigmap/last created\n"
    for told in ("RFC 1123", "no apps/v1 Deployment", "no metadata.name", 'unknown field "dato"'):
        assert told in said.err


def test_what_others_manage_is_not_taken_unasked(space: Space) -> None:
    assert space.apply(MAP % "shared").code == 0
    other = upped.kubectl(
        space.config, "apply", "-n", space.name, "--server-side", "--field-manager=other",
        "--force-conflicts", "-f", "-", stdin=(MAP % "shared").replace("a: b", "a: other"),
    )  # fmt: skip
    assert other.code == 0, other.err
    said = space.apply(MAP % "shared")
    assert (said.code, said.out) == (1, "")
    assert "conflict" in said.err
    assert "other" in said.err
    taken = space("apply", "-f", space.file(MAP % "shared"), "--force-conflicts")
    assert taken.out == "configmap/shared configured\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "objects.yaml:"),
        ("- 1\n", "objects.yaml"),
        ("", "objects.yaml"),
        ("\x00\x01", "objects.yaml"),
    ],
)
def test_a_file_that_is_none_is_a_mistake(space: Space, text: str, told: str) -> None:
    said = space.apply(text)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert space("apply", "-f", "/nowhere.yaml").code == 2


# --- get ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("pods",),
        ("pods", "-o", "wide"),
        ("pods,resourceclaims",),
        ("pod/train-0", "resourceclaim/train"),
        ("nodes",),
        ("pods", "-A", "-l", "app=train"),
        ("resourceslices,deviceclasses,namespaces",),
        ("events",),
    ],
)
def test_tables_are_those_of_kubectl(trained: Space, words: tuple[str, ...]) -> None:
    ours = trained.yes("get", *words)
    theirs = upped.kubectl(trained.config, "get", *words, "-n", trained.name)
    assert theirs.code == 0, theirs.err
    assert columns(ours) == columns(theirs.out)
    assert len(columns(ours)) > 1


def columns(text: str) -> list[list[str]]:
    """The cells, without ages; an empty one is a dash in ours."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"\s{2,}", line.strip()) if cell.strip(" -")]
        found.append(["AGE" if re.fullmatch(r"(\d+[smhd])+", cell) else cell for cell in cells])
    return found


def test_get_in_all_forms(trained: Space) -> None:
    assert trained.yes("get", "pods", "-o", "name") == "pod/train-0\n"
    assert (
        trained.yes("get", "claim/train", "-o", "name") == "resourceclaim.resource.k8s.io/train\n"
    )
    one = json.loads(trained.yes("get", "pod", "train-0", "-o", "json"))
    assert (one["kind"], one["metadata"]["name"]) == ("Pod", "train-0")
    several = yaml.safe_load(trained.yes("get", "pods,claims", "-o", "yaml"))
    assert [each["kind"] for each in several["items"]] == ["Pod", "ResourceClaim"]
    assert {each["apiVersion"] for each in several["items"]} == {"v1", "resource.k8s.io/v1"}
    assert json.loads(trained.yes("get", "configmaps", "-o", "json"))["items"] == []


def test_get_selects(trained: Space) -> None:
    node = json.loads(trained.yes("get", "pod/train-0", "-o", "json"))["spec"]["nodeName"]
    there = trained.yes("get", "pods", "--field-selector", f"spec.nodeName={node}", "-o", "name")
    assert there == "pod/train-0\n"
    elsewhere = trained("get", "pods", "--field-selector", "spec.nodeName=none")
    assert (elsewhere.code, elsewhere.out) == (0, "")
    assert elsewhere.err == f"no pods in namespace {trained.name}\n"
    assert trained("get", "pods", "-l", "app!=train").out == ""
    wrong = trained("get", "pods", "--field-selector", "spec.image=x")
    assert wrong.code == 2
    assert "spec.nodeName" in wrong.err
    assert trained("get", "pods", "-l", "((").code == 2


@pytest.mark.parametrize("form", ["table", "yaml", "json", "name"])
def test_a_name_that_is_not_there_keeps_no_other(trained: Space, form: str) -> None:
    said = trained("get", "pods", "none", "train-0", "-o", form)
    assert said.code == 1
    assert said.err == 'dibs: pods "none" not found\n'
    assert "train-0" in said.out
    alone = trained("get", "pod", "none", "-o", form)
    assert (alone.code, alone.out) == (1, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("get", "podz"), "podz: the cluster serves nothing of that name; did you mean"),
        (("get",), "a kind is wanted"),
        (("get", "pods/"), "pods/: is no KIND/NAME"),
        (("get", "pods,claims", "-w"), "one kind"),
        (("get", "pods", "-w", "-o", "yaml"), "one kind as a table"),
        (("get", "pods", "-o", "xml"), "xml"),
        (("describe", "pods"), "pods: a name is wanted; as in pod/NAME"),
        (("delete", "pods"), "pods: a name is wanted"),
        (("delete",), "names or -f are wanted"),
        (("delete", "pod/a", "-f", "x"), "one of the two"),
        (("wait", "pods", "--for", "delete"), "a name is wanted"),
        (("wait", "pod/a", "--for", "happiness"), "'happiness' can't be waited for"),
        (("wait", "pod/a", "--for", "condition"), "'condition' can't be waited for"),
        (("wait", "pod/a", "--for", "delete=x"), "'delete=x' can't be waited for"),
        (("wait", "pod/a", "--for", "delete", "--timeout", "soon"), "'soon' is no length of time"),
        (("wait", "pod/a", "--for", "delete", "--timeout", "nan"), "'nan' is no length of time"),
        (("get", "pods", "--context", "none"), "contexts has no 'none'; one of: dibs"),
    ],
)
def test_wrong_command_lines(config: Path, words: tuple[str, ...], told: str) -> None:
    said = upped.said(config, *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("dibs: ")
    assert told in said.err


def test_a_watch_shows_its_heads_once_and_every_change(space: Space) -> None:
    space.apply(WAITING)
    space.yes("wait", "pod/lost", "--for", "condition=PodScheduled=False")
    with watching(space, "pods") as lines:
        assert lines().split()[0] == "NAME"
        assert lines().split()[0] == "lost"
        space.apply(WAITING.replace("lost", "another"))
        assert lines().startswith("another")
        space.yes("delete", "pod/lost", "pod/another")
        rest = [lines().split()[0] for _ in range(2)]
        assert {"lost", "another"} >= set(rest)


class watching:
    """`dibs get … -w` until the block ends, by Ctrl-C."""

    def __init__(self, space: Space, *words: str) -> None:
        self.process = subprocess.Popen(
            [str(BIN / "dibs"), "get", *words, "-n", space.name, "-w"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"KUBECONFIG": str(space.config), "HOME": str(space.folder)},
        )

    def __enter__(self) -> watching:
        return self

    def __call__(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def __exit__(self, kind: object, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=10)
        assert kind or (self.process.returncode, err) == (130, "")


# --- describe, wait, delete, logs -----------------------------------------------------------------


def test_describe_has_object_reasons_and_events(trained: Space) -> None:
    trained.apply(WAITING)
    trained("wait", "pod/lost", "--for", "condition=PodScheduled=False")
    said = trained("describe", "pod", "lost", "none", "train-0")
    assert said.code == 1
    assert 'pods "none" not found' in said.err
    assert "nodeSelector wants label zone=nowhere" in said.out
    assert "managedFields" not in said.out
    assert re.search("Warning +FailedScheduling", said.out)
    assert f"pod {trained.name}/train-0 " in said.out
    claim = trained.yes("describe", "claim/train")
    assert f"claim {trained.name}/train is allocated" in claim
    assert "kind: Node" in trained.yes("describe", "node", "l4-0")


def test_wait_ends_when_it_is_so(trained: Space) -> None:
    met = "resourceclaim.resource.k8s.io/train condition met\n"
    assert trained.yes("wait", "claim/train", "--for", "allocated") == met
    assert trained.yes("wait", "pod/none", "--for", "delete") == "pod/none condition met\n"
    begun = time.monotonic()
    said = trained(
        "wait", "pod", "none", "train-0", "--for", "condition=Ready", "--timeout", "0.3s"
    )
    assert said.code == 1
    # For all of them together.
    assert time.monotonic() - begun < 5
    assert said.err.splitlines() == [
        "dibs: pod/none: not condition=Ready after 0.3 s",
        "dibs: pod/train-0: not condition=Ready after 0.3 s",
    ]
    looked = trained(
        "wait", "pod/train-0", "--for", "condition=podscheduled=true", "--timeout", "0"
    )
    assert looked.code == 0


def test_delete_waits_until_nothing_is_left(trained: Space) -> None:
    path = trained.file(CLAIM, POD)
    kept = trained("delete", "claim/train", "--timeout", "0.2s")
    assert kept.code == 1
    assert "still there after 0.2 s" in kept.err
    said = trained("delete", "-f", path)
    assert said.code == 0, said
    assert said.out.splitlines() == [
        f'resourceclaim.resource.k8s.io "train" deleted from {trained.name} namespace',
        f'pod "train-0" deleted from {trained.name} namespace',
    ]
    again = trained("delete", "-f", path)
    assert (again.code, again.out) == (1, "")
    assert again.err.count("not found") == 2
    lenient = trained("delete", "-f", path, "--ignore-not-found")
    assert (lenient.code, lenient.out, lenient.err) == (0, "", "")


def test_logs_that_nobody_keeps(trained: Space) -> None:
    said = trained("logs", "train-0", "-c", "main", "--tail", "3")
    assert (said.code, said.out) == (1, "")
    assert "no agent runs its containers" in said.err
    assert 'pods "none" not found' in trained("logs", "none").err


# --- what reads a whole cluster -------------------------------------------------------------------


def test_reasons_and_devices_come_from_the_plane(trained: Space) -> None:
    trained.apply(WAITING)
    why = trained("why", "pod/lost")
    assert why.code == 1
    assert json.loads(why.out)["outcome"] == "waits"
    assert trained("why", "pod/train-0").code == 0
    devices = upped.said(trained.config, "devices")
    held = [json.loads(line) for line in devices.out.splitlines()]
    assert [each["claim"] for each in held if each["pods"]] == [f"{trained.name}/train"] * 2
    allocated = upped.said(trained.config, "allocate", "-o", "json")
    assert allocated.code == 1
    assert "lost" in allocated.err


def test_a_plane_that_is_gone_is_told(tmp_path: Path) -> None:
    with upped.plane(tmp_path / "data") as config:
        pass
    for words in (("get", "pods"), ("why", "pod/x"), ("devices",), ("logs", "x")):
        said = upped.said(config, *words)
        assert said.code == 2
        assert "can't be reached" in said.err
        assert "see that it runs" in said.err


def test_a_watch_ends_with_its_plane(tmp_path: Path) -> None:
    with upped.plane(tmp_path / "data") as config:
        watch = watching(Space(config, tmp_path, "default"), "namespaces")
        assert watch().startswith("NAME")
        assert watch().startswith("default")
    _, err = watch.process.communicate(timeout=30)
    assert watch.process.returncode == 2
    assert "can't be reached" in err
