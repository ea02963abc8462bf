"""What the commands do with files that are wrong: the exit code, the place, the remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dibs.cli.main import main

DEMO = Path(__file__).parents[3] / "examples" / "demo"

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: g, %s}]
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: x, namespace: default%s}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: %s}}]}}
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n"


def run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | bytes, *more: str
) -> tuple[int, str, str]:
    file = tmp_path / "in.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = main(["allocate", "-f", str(file), *more])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: [\n", "in.yaml:2:1", ""),
        (b"\x00\x01\x02" * 50, "in.yaml", "binary"),
        (b"kind: \xff\xfe\n", "in.yaml", ""),
        ("", "in.yaml", "no manifest"),
        ("# only a remark\n", "in.yaml", "no manifest"),
        ("- a\n- b\n", "in.yaml:1:1", ""),
        ("apiVersion: resource.k8s.io/v9\nkind: ResourceClaim\n", "in.yaml:1:1", "v1beta2"),
        ("apiVersion: apps/v1\nkind: Deployment\n", "in.yaml", "concerns devices"),
        (CLAIM % ("", "[a]"), "in.yaml:5:", "deviceClassName"),
        (CLAIM % ("", "A_B"), "in.yaml:5:", "deviceClassName"),
        (POD % "resourceClaimName: a, resourceClaimTemplateName: b", "in.yaml:7:", "at most one"),
        (POD % "source: {resourceClaimName: a}", "in.yaml:7:", "source"),
        (NODE + "---\n" + NODE.replace("{name", "{labels: {a: b}, name"), "in.yaml:", "differs"),
    ],
)
def test_what_nothing_can_rest_on_ends_the_command(
    text: str | bytes,
    place: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    code, out, err = run(capsys, tmp_path, text)
    assert code == 2
    assert not out
    assert place in err
    assert said in err


def test_an_unknown_field_is_warned_of_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    claim = CLAIM % ("", "gpu") + "status: {alocation: {}}\n"
    code, _, err = run(capsys, tmp_path, NODE + "---\n" + claim)
    assert code == 1  # the class isn't there, which is a refusal
    assert "warning: " in err
    assert "in.yaml:10:" in err
    assert "alocation" in err


def test_kinds_that_do_not_matter_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    code, _, err = run(capsys, tmp_path, "---\n".join([NODE, other, other]))
    assert code == 0
    assert "2 apps/v1 Deployment" in err


def test_equal_objects_are_only_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, tmp_path, NODE + "---\n" + NODE)
    assert code == 0
    assert "more than once" in err


def test_rules_are_not_put_to_what_a_server_has_accepted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = CLAIM % (", uid: 0f0e0d0c-0000-4000-8000-000000000000", "A_B")
    code, _, err = run(capsys, tmp_path, NODE + "---\n" + bad)
    assert code == 1
    assert "device class A_B does not exist" in err


def test_no_validate_decides_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run(capsys, tmp_path, NODE + "---\n" + CLAIM % ("", "A_B"), "--no-validate")
    assert code == 1
    assert "device class A_B does not exist" in err


def test_but_not_on_an_entry_that_could_mean_two_things(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    both = POD % "resourceClaimName: a, resourceClaimTemplateName: b"
    code, _, err = run(capsys, tmp_path, NODE + "---\n" + both, "--no-validate")
    assert code == 2
    assert "Pod default/p: spec.resourceClaims[0]" in err


@pytest.mark.parametrize("name", ["nothing-here", "empty-folder"])
def test_paths_that_have_nothing(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty-folder").mkdir()
    assert main(["devices", "-f", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err


def test_the_demo_as_objects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["allocate", "-f", str(DEMO)]) == 1
    out, err = capsys.readouterr()
    items = json.loads(out)["items"]
    assert [item["kind"] for item in items] == ["ResourceClaim", "Pod", "ResourceClaim", "Pod"]
    claim, pod = items[0], items[1]
    assert claim["metadata"]["generateName"] == "notebook-gpu-"
    assert claim["metadata"]["ownerReferences"][0]["name"] == "notebook"
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert claim["status"]["reservedFor"][0]["name"] == "notebook"
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("node-a", "gpu-0")
    assert pod["spec"]["nodeName"] == "node-a"
    [status] = pod["status"]["resourceClaimStatuses"]
    assert status == {"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}
    assert "pod default/train waits" in err
    assert "dibs why pod/train -n default" in err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_output_can_be_fed_back(
    form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main(["allocate", "-f", str(DEMO), "-o", form])
    decided = tmp_path / f"decided.{form}"
    decided.write_text(capsys.readouterr().out)
    arguments = ["-f", str(DEMO / "cluster.yaml"), "-f", str(decided)]
    assert main(["allocate", *arguments]) == 0
    assert "nothing waits" in capsys.readouterr().err
    assert main(["devices", *arguments]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    held = {f"{row['node']}/{row['device']}": row["containers"] for row in rows if row["claim"]}
    assert held == {"node-a/gpu-0": ["jupyter"], "node-b/gpu-0": ["vllm"]}


@pytest.mark.parametrize(("claims", "count"), [((), 0), (("x",), 1)])
def test_json_is_always_a_list(
    claims: tuple[str, ...], count: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (DEMO / "cluster.yaml").read_text()
    text += "".join(f"---{CLAIM % ('', 'gpu.example.com')}" for _ in claims)
    code, out, _ = run(capsys, tmp_path, text)
    assert code == 0
    assert json.loads(out)["kind"] == "List"
    assert len(json.loads(out)["items"]) == count


def test_the_demo_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["allocate", "-f", str(DEMO), "-o", "table"]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["WHO", "ANSWER", "NODE", "DEVICES"]
    assert rows[1].split()[:4] == ["pod", "default/notebook", "placed", "node-a"]
    assert rows[3].split()[:3] == ["pod", "default/train", "waits"]
    assert rows[4] == "pod default/train waits"
    assert rows[7] == "  node-c  pool node-c is incomplete: 1 of 3 slices, generation 7"


def test_why_is_one_json_object_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "pod/train", "-f", str(DEMO)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"] == "waits"
    assert [node["node"] for node in told["nodes"]] == ["node-a", "node-b", "node-c"]


@pytest.mark.parametrize(
    ("subject", "more", "said"),
    [
        ("pod/trian", [], "did you mean train?"),
        ("pod/train", ["-n", "other"], "there is one in default"),
        ("claim/nothing-like-it", [], "no such claim in the input"),
        ("node/node-a", [], "ask about a pod or a claim"),
    ],
)
def test_why_of_what_is_not_there(
    subject: str, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", subject, *more, "-f", str(DEMO)]) == 2
    assert said in capsys.readouterr().err


def test_why_wants_a_namespace_when_several_have_the_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    two = [CLAIM % ("", "gpu"), (CLAIM % ("", "gpu")).replace("default", "other")]
    file = tmp_path / "in.yaml"
    file.write_text("---\n".join(two))
    assert main(["why", "claim/x", "-f", str(file)]) == 2
    assert "namespaces default, other; say -n" in capsys.readouterr().err
    assert main(["why", "claim/x", "-n", "other", "-f", str(file)]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["devices", "--node", "node-d"], "did you mean node-"),
        (["devices", "--class", "gpu.exmaple.com"], "did you mean gpu.example.com?"),
        (["allocate", "--node", "node-d"], "did you mean node-"),
    ],
)
def test_names_that_are_not_in_the_input(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "-f", str(DEMO)]) == 2
    assert said in capsys.readouterr().err


def test_devices_of_a_node_and_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--node", "node-b", "--class", "gpu.example.com"]
    assert main(["devices", *only, "-f", str(DEMO)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["device"] for row in rows] == ["gpu-0", "gpu-1"]


def test_lint_finds_and_says_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "in.yaml"
    file.write_text(CLAIM % ("", "A_B"))
    assert main(["lint", str(file)]) == 1
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any(each["line"] == 5 and each["severity"] == "error" for each in findings)


def test_control_characters_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (DEMO / "cluster.yaml").read_text().replace("{string: A100}", r'{string: "A\e[31m"}')
    file = tmp_path / "in.yaml"
    file.write_text(text)
    assert main(["devices", "-f", str(file), "-o", "table", "--no-validate"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"A\x1b[31m" in out


@pytest.mark.slow
def test_standard_input() -> None:
    command = [sys.executable, "-m", "dibs", "devices", "-f", "-"]
    text = (DEMO / "cluster.yaml").read_bytes()
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 6


def test_lint_names_the_kinds_it_passes_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "in.yaml"
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s%d}\n"
    file.write_text("---\n".join(secret % number for number in range(2)))
    assert main(["lint", str(file)]) == 0
    assert "skipped, being no matter of devices: 2 v1 Secret" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_nothing_decided_is_an_empty_list(
    form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, tmp_path, NODE, "-o", form)
    assert code == 0
    assert yaml.safe_load(out) == {"apiVersion": "v1", "kind": "List", "items": []}


@pytest.mark.parametrize("command", [["allocate"], ["why", "pod/train"]])
def test_what_was_remembered_is_told_if_asked(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = main([*command, "-f", str(DEMO)])
    out, err = capsys.readouterr()
    assert " known (" not in err
    assert main([*command, "-f", str(DEMO), "-v", "-o", "json"]) == quiet
    told, err = capsys.readouterr()
    assert " known (" in err
    assert len(told) >= len(out) - 1
