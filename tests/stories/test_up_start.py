"""`dibs up` begins and ends: what a wrong start says, what it leaves, and how it is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from tests import upped

pytestmark = pytest.mark.slow

TEAM = """
apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: team}
data: {a: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    process = upped.start(tmp_path / "data", "-f", str(tmp_path / "team.yaml"))
    config = upped.ready(process)
    assert config == tmp_path / "data" / "kubeconfig"
    there = upped.said(config, "get", "configmap/first", "class/gpu.example.com", "-n", "team")
    assert there.code == 0, there
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")
    # And again, on what is there already.
    with upped.plane(tmp_path / "data", "-f", str(tmp_path / "team.yaml")) as config:
        assert upped.said(config, "get", "configmap/first", "-n", "team").code == 0


def test_whoever_is_connected_does_not_keep_it(tmp_path: Path) -> None:
    process = upped.start(tmp_path / "data")
    config = upped.ready(process)
    with socket.create_connection(("127.0.0.1", port_of(config))):
        process.terminate()
        assert process.wait(20) == 0
    process.communicate()


def port_of(config: Path) -> int:
    text = config.read_text()
    return int(text.partition("127.0.0.1:")[2].partition('"')[0])


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = upped.refused(tmp_path / "data", listen=f"127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in said
    assert "address already in use" in said
    assert "--listen" in said
    with upped.plane(tmp_path / "data"):
        pass


@pytest.mark.parametrize("listen", ["here", "127.0.0.1:http", "127.0.0.1:65536", ":6443", ""])
def test_an_address_that_is_none(tmp_path: Path, listen: str) -> None:
    assert "--listen: an address and a port are wanted" in upped.refused(tmp_path, listen=listen)
    assert not any(tmp_path.iterdir())


def test_a_second_one_on_the_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with upped.plane(data) as config:
        said = upped.refused(data)
        assert f"{data}: in use by another dibs (pid " in said
        # The first one goes on.
        assert upped.said(config, "get", "namespaces").code == 0


def test_folders_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for path in (file, file / "below"):
        said = upped.refused(path)
        assert said.startswith(f"dibs: {path}: ")
        assert "name a folder that you may write to" in said
    assert file.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    said = upped.refused(tmp_path)
    tmp_path.chmod(0o700)
    assert "ermission denied" in said
    assert not any(tmp_path.iterdir())


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("create table mine (a)")
    other.close()


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 100)


def cut(path: Path) -> None:
    """A store of ours of which the end is gone."""
    with upped.plane(path.parent):
        pass
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize("made", [foreign, noise, cut])
def test_a_database_that_is_not_ours_or_broken(tmp_path: Path, made: object) -> None:
    path = tmp_path / "store.db"
    assert callable(made)
    made(path)
    before = path.read_bytes()
    said = upped.refused(tmp_path)
    assert str(path) in said
    assert "; " in said, "what to do next"
    # Whoever knows more of it than we do finds it as it was.
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["ca.key", "tokens.key"])
def test_keys_that_others_may_read(tmp_path: Path, name: str) -> None:
    with upped.plane(tmp_path):
        pass
    (tmp_path / name).chmod(0o644)
    said = upped.refused(tmp_path)
    assert f"{name}: others may read or write it (mode 0644)" in said
    assert "chmod 600" in said


def test_an_authority_without_its_key(tmp_path: Path) -> None:
    with upped.plane(tmp_path):
        pass
    (tmp_path / "ca.key").unlink()
    assert "ca.key is missing beside ca.crt" in upped.refused(tmp_path)
    assert not (tmp_path / "ca.key").exists()


@pytest.mark.parametrize("option", ["-f", "--fleet"])
@pytest.mark.parametrize("text", [None, "a: [", "- 1", "\x00"])
def test_files_that_are_none(tmp_path: Path, option: str, text: str | None) -> None:
    file = tmp_path / "file.yaml"
    if text is not None:
        file.write_text(text)
    assert str(file) in upped.refused(tmp_path / "data", option, str(file))
    assert not (tmp_path / "data").exists()


def test_an_object_that_is_refused_ends_the_start(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n")
    assert "ConfigMap Not_A_Name: " in upped.refused(tmp_path / "data", "-f", str(file))


@pytest.mark.skipif(not shutil.which("unshare") or os.geteuid() != 0, reason="no small disk here")
@pytest.mark.parametrize("kilobytes", [4, 40, 60, 64, 68])
def test_a_disk_that_is_full_at_start(tmp_path: Path, kilobytes: int) -> None:
    """Wherever it is full: told, and a start with room goes on from what is there."""
    folder = tmp_path / "disk"
    folder.mkdir()
    script = (
        f"mount -t tmpfs -o size={kilobytes}k none {folder} || exit 77; "
        f"{upped.BIN}/dibs up --data {folder}/data --listen 127.0.0.1:0; code=$?; "
        f"cp -a {folder}/data {tmp_path}/left || true; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=30
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system may be mounted here")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("dibs: ")
    assert "Traceback" not in done.stderr
    assert "disk" in done.stderr or "space" in done.stderr
    if (tmp_path / "left").exists():
        with upped.plane(tmp_path / "left"):
            pass


def test_an_end_by_force_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    process = upped.start(tmp_path / "data")
    config = upped.ready(process)
    assert upped.said(config, "apply", "-f", str(tmp_path / "team.yaml")).code == 0
    process.kill()
    process.communicate()
    begun = time.monotonic()
    with upped.plane(tmp_path / "data") as config:
        assert time.monotonic() - begun < 20
        assert upped.said(config, "get", "configmap/first", "-n", "team").code == 0


def test_it_listens_everywhere_under_the_name_of_the_box(tmp_path: Path) -> None:
    process = upped.start(tmp_path / "data", listen="0.0.0.0:0")
    try:
        config = upped.ready(process)
        assert upped.said(config, "get", "namespaces").code == 0
        url = f"https://{socket.gethostname()}:{port_of(config)}"
        words = ("ada", "--role", "viewer", "--server", url, "--data", str(tmp_path / "data"))
        made = upped.run("kubeconfig", *words)
        assert made.code == 0, made
        assert url in made.out
        (tmp_path / "ada").write_text(made.out)
        assert upped.said(tmp_path / "ada", "get", "namespaces").code == 0
        assert "--server" in upped.run("kubeconfig", *words[:4], "gpubox").err
    finally:
        process.terminate()
        process.communicate(timeout=20)
