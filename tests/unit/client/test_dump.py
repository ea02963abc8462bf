"""What paths stand for, and what is said about those that cannot be read."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from dibs.client import dump, sources
from dibs.client.dump import Loaded
from dibs.model.faults import FaultKind
from dibs.values.mistake import Mistake

NODE = "{apiVersion: v1, kind: Node, metadata: {name: %s}}\n"


def load(paths: Sequence[Path | str], stdin: str = "") -> Loaded:
    return dump.load([str(path) for path in paths], stdin=io.BytesIO(stdin.encode()))


def mistake(paths: Sequence[Path | str], stdin: str = "") -> Mistake:
    with pytest.raises(Mistake) as caught:
        load(paths, stdin)
    return caught.value


def names(loaded: Loaded) -> list[str]:
    return [item.metadata.name for item in loaded.objects]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """b.yaml, a.yml, below/c.json; a hidden file, a hidden folder, a text."""
    for name, node in (("b.yaml", "b"), ("a.yml", "a"), (".d.yaml", "d"), ("notes.txt", "e")):
        (tmp_path / name).write_text(NODE % node)
    for name, node in (("below", "c"), (".git", "f")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(NODE % node)
    return tmp_path


def test_folders_are_read_in_order_without_what_is_hidden(folder: Path) -> None:
    loaded = load([folder])
    assert names(loaded) == ["a", "b", "c"]
    assert loaded.files == (f"{folder}/a.yml", f"{folder}/b.yaml", f"{folder}/below/x.json")


def test_files_of_any_name_and_stdin_in_the_order_given(folder: Path) -> None:
    loaded = load([folder / "notes.txt", "-", folder / "a.yml"], NODE % "s")
    assert names(loaded) == ["e", "s", "a"]
    assert [entry.origin.file for entry in loaded.entries][1] == "-"


def test_a_file_given_twice_is_read_once(folder: Path) -> None:
    link = folder / "z.yaml"
    link.symlink_to(folder / "b.yaml")
    loaded = load([folder / "b.yaml", folder])
    assert names(loaded) == ["b", "a", "c"]
    assert loaded.repeated == 0


def test_links_in_a_circle_end(folder: Path) -> None:
    (folder / "below" / "up").symlink_to(folder)
    assert names(load([folder])) == ["a", "b", "c"]


def test_an_object_twice_is_counted_or_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(NODE % "a")
    (tmp_path / "b.yaml").write_text(NODE % "a" + "---\n" + NODE.replace("}}", ", uid: x}}") % "a")
    loaded = load([tmp_path])
    assert names(loaded) == ["a"]
    assert loaded.repeated == 1
    (fault,) = loaded.faults
    assert fault.kind is FaultKind.DUPLICATE_OBJECT
    assert (fault.file, fault.line) == (f"{tmp_path}/b.yaml", 3)
    assert f"{tmp_path}/a.yaml:1" in fault.message
    assert fault.subject == "Node a"


def test_objects_that_get_their_name_later_are_never_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "kind: Pod\napiVersion: v1\nmetadata: {generateName: a-}\n---\n" * 2
    )
    assert len(load([tmp_path]).entries) == 2


def test_faults_name_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n---\nb: [\n---\n" + NODE.replace("name", "nam") % "x")
    assert [fault.where for fault in load([path]).faults] == [
        f"{path}:4:1",
        f"{path}:1:1",
        f"{path}:5:41",
    ]


def test_places_are_found_for_paths_of_v1_in_a_file_of_v1beta1(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: resource.k8s.io/v1beta1\n"
        "  kind: ResourceClaim\n"
        "  spec:\n    devices:\n      requests:\n"
        "      - name: a\n        deviceClassName: c\n        count: 3\n"
        "- apiVersion: resource.k8s.io/v1beta1\n"
        "  kind: ResourceSlice\n"
        "  spec:\n    devices:\n    - name: a\n      basic:\n        allNodes: true\n"
    )
    claim, slice_ = (entry.origin for entry in load([path]).entries)
    v1 = "spec.devices.requests[0].exactly.count"
    assert claim.written(v1) == "spec.devices.requests[0].count"
    assert claim.position(v1) == (11, 9)
    assert claim.value_position(v1) == (11, 16)
    assert claim.position() == (4, 3)
    assert slice_.written("spec.devices[0].allNodes") == "spec.devices[0].basic.allNodes"
    assert slice_.position("spec.devices[0].allNodes") == (18, 9)
    assert slice_.position("spec.devices[0].name") == (16, 7)


def test_progress_is_told_before_each_file(folder: Path) -> None:
    told: list[tuple[str, int, int]] = []
    paths = [str(folder / "a.yml"), str(folder / "b.yaml")]
    dump.load(paths, stdin=io.BytesIO(), progress=lambda *at: told.append(at))
    size = len(NODE) - 1
    assert told[0] == (paths[0], 0, 2 * size)
    assert (paths[1], size, 2 * size) in told
    assert told[-1] == (paths[1], 2 * size, 2 * size)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_paths_that_are_not_there(folder: Path) -> None:
    missing = mistake([folder / "b.yml"])
    assert str(missing).startswith(f"{folder}/b.yml: no such file or folder; did you mean ")
    assert "b.yaml" in missing.remedy
    assert mistake([folder / "x" / "y"]).message == "no such file or folder"
    (folder / "gone.yaml").symlink_to(folder / "x")
    assert mistake([folder]).message == "the link points to nothing"
    assert "NUL" in mistake(["a\0b"]).message


def test_files_and_folders_without_manifests(tmp_path: Path) -> None:
    assert mistake([tmp_path]).message == "no manifest in this folder"
    (tmp_path / "a.yaml").write_text("# nothing\n")
    assert mistake([tmp_path / "a.yaml"]).message == "no manifest in it"
    assert load([tmp_path]).entries == ()
    empty = mistake(["-"])
    assert (empty.path, empty.message) == ("-", "standard input is empty")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert mistake([tmp_path / "pipe"]).message == "a named pipe, not a file"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert mistake([tmp_path / "socket"]).message == "a socket or device, not a file"


def test_a_pipe_of_the_shell_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, (NODE % "a").encode())
    os.close(writer)
    try:
        assert names(load([f"/dev/fd/{reader}"])) == ["a"]
    finally:
        os.close(reader)


def test_what_is_no_text_names_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \0")
    binary = mistake([path])
    assert binary.path == f"{path}:2:4"
    assert binary.remedy
    path.write_bytes("a: 1".encode("utf-16"))
    assert mistake([path]).path == str(path)


def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(sources.MAX_BYTES + 1)
    large = mistake([path])
    assert large.message == "larger than 256 MiB"
    assert "dump fewer" in large.remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(folder: Path) -> None:
    (folder / "a.yml").chmod(0)
    assert "permission denied" in mistake([folder / "a.yml"]).message


def test_every_file_of_real_drivers_loads_or_says_why(shared: Path) -> None:
    """Those with faults are the ones whose first lines announce it."""
    faulty: dict[str, set[FaultKind]] = {}
    for path in sorted((shared / "slices").glob("*.yaml")):
        loaded = load([path])
        kinds = {fault.kind for fault in loaded.faults}
        if kinds:
            faulty[path.name] = kinds
        assert loaded.entries or FaultKind.KIND in kinds
    assert faulty == {
        # v1beta1's devices[].basic under v1
        "dranet-gke-a3-nic-old-api.yaml": {FaultKind.VERSION},
        # capacity without {value: …}, as it was in v1alpha3, and two slices of one name
        "kep4815-tpu-multi-host.yaml": {FaultKind.TYPE, FaultKind.DUPLICATE_OBJECT},
        # elided with "..."
        "kep5075-bandwidth.yaml": {FaultKind.VERSION, FaultKind.KIND},
        # attributes without a type, and the field of 1.36
        "kep5517-node-allocatable.yaml": {FaultKind.TYPE, FaultKind.UNKNOWN_FIELD},
        # a node called n
        "nvidia-h100-consumable-shares-4.yaml": {FaultKind.BARE_WORD},
        "nvidia-h100-consumable-shares-unlimited.yaml": {FaultKind.BARE_WORD},
        "nvidia-vgpu-compatibility-groups.yaml": {FaultKind.BARE_WORD},
        # "quantity" where "value" belongs
        "sriov-amd-cpu-memory-topology-doc.yaml": {FaultKind.UNKNOWN_FIELD},
    }


def test_a_file_of_faults_is_given_up_after_a_thousand(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"kind":"List","items":[' + ",".join(["1"] * 3000) + "]}")
    *listed, last = load([path]).faults
    assert len(listed) == 1000
    assert {fault.kind for fault in listed} == {FaultKind.KIND}
    assert last.kind is FaultKind.GIVEN_UP
    assert "2000 more objects" in last.message
    assert (last.line, last.column) == (1, 25 + 2 * 1000)


def test_warnings_are_counted_after_a_thousand_and_no_object_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    item = (
        '{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c%d"},"x":1}'
    )
    path.write_text('{"kind":"List","items":[' + ",".join(item % i for i in range(1500)) + "]}")
    loaded = load([path])
    assert len(loaded.entries) == 1500
    assert len(loaded.faults) == 1001
    assert "500 more" in loaded.faults[-1].message


def test_the_place_of_a_whole_item_is_found_without_reading_it() -> None:
    (fault,) = load(
        ["-"], '{"kind":"List",\n "items":[[' + ",".join(["1"] * 100_000) + "]]}"
    ).faults
    assert (fault.line, fault.column) == (2, 11)


@pytest.mark.parametrize("text", ["- 1\n" * 50_000, "[" + "1," * 100_000 + "\n"])
def test_a_large_list_is_no_manifest_whatever_follows(text: str) -> None:
    (fault,) = load(["-"], text).faults
    assert fault.kind is FaultKind.SYNTAX


def test_an_empty_path_is_called_empty() -> None:
    told = mistake([""])
    assert told.message == "the path is empty"
    assert told.remedy
