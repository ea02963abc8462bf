"""`dibs up` as it is shipped, and kubectl with the kubeconfig that it wrote: TLS, tokens, loops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
DEMO = Path(__file__).parents[2] / "examples" / "demo"


@contextmanager
def up(data: Path) -> Iterator[Path]:
    """Run a plane on a free port; yield its kubeconfig. It must end well."""
    plane = subprocess.Popen(
        [str(BIN / "dibs"), "up", "--data", str(data), "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert plane.stdout
        line = plane.stdout.readline()
        assert line.startswith("ready KUBECONFIG="), line
        yield Path(line.strip().partition("=")[2])
        plane.send_signal(signal.SIGTERM)
        assert plane.wait(20) == 0
    finally:
        plane.kill()
        plane.communicate()


def kubectl(config: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [str(BIN / "kubectl"), "--cache-dir", str(config.parent / "cache"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "KUBECONFIG": str(config)},
    )
    assert done.returncode == code, (words, done.stderr)
    return done.stdout + (done.stderr if code else "")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("up") / "data"


def test_a_demo_by_kubectl(data: Path) -> None:
    with up(data) as config:
        assert "system:authenticated" in kubectl(config, "auth", "whoami")
        kubectl(config, "apply", "-f", str(DEMO))
        kubectl(config, "wait", "--for=condition=PodScheduled", "pod/serve", "--timeout=30s")
        placed = json.loads(kubectl(config, "get", "resourceclaim", "big", "-o", "json"))
        assert placed["status"]["reservedFor"][0]["name"] == "serve"
        node = kubectl(config, "get", "pod", "serve", "-o", "jsonpath={.spec.nodeName}")
        assert kubectl(config, "get", "resourceclaims", "big", "--no-headers").split()[3] == node
        kubectl(config, "wait", "--for=create", "serviceaccount/default", "--timeout=10s")
        token = kubectl(config, "create", "token", "default").strip()
        assert "system:serviceaccount:default:default" in kubectl(
            config, "--token", token, "--kubeconfig", str(without_user(config)), "auth", "whoami"
        )
        said = kubectl(
            config, "--token", "wrong", "--kubeconfig", str(without_user(config)), "get", "pods",
            code=1,
        )  # fmt: skip
        assert "Unauthorized" in said or "must be logged in" in said
    # What was acknowledged is there after the end.
    with up(data) as config:
        again = json.loads(kubectl(config, "get", "resourceclaim", "big", "-o", "json"))
        assert again == placed


def without_user(config: Path) -> Path:
    """A kubeconfig that knows the server and nobody."""
    tree = json.loads(config.read_text())
    tree["users"][0]["user"] = {}
    path = config.parent / "nobody"
    path.write_text(json.dumps(tree))
    return path
