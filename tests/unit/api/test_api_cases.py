"""Whole conversations with the server, as data: tests/cases/api.

A case is a list of steps, each a request and what its answer must have. In `has` a mapping may
have more keys than are named, a text that begins with `~` must only be contained. `{key}` in a
step is what an earlier one `keep`s under that name.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from dibs.api.server import serving
from dibs.testing import apiserver

CASES = Path(__file__).parents[2] / "cases" / "api"
KINDS = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "yaml": "application/yaml",
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "partial": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
}


def cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        for case in yaml.safe_load_all(path.read_text()):
            marks = [pytest.mark.slow] if case.get("slow") else []
            yield pytest.param(case, id=f"{path.stem}: {case['case']}", marks=marks)


@pytest.mark.parametrize("case", list(cases()))
def test_conversation(case: dict[str, Any]) -> None:
    asyncio.run(talk(case))


async def talk(case: dict[str, Any]) -> None:
    clock = apiserver.Clock()
    kept: dict[str, str] = {}
    async with (
        apiserver.in_memory(clock) as plane,
        serving.listening(plane) as server,
        aiohttp.ClientSession(server.url) as client,
    ):
        for number, step in enumerate(case["steps"], 1):
            if "wait" in step:
                clock.now += step["wait"]
                continue
            await take(client, step, kept, f"step {number}, {step['do']}")


async def take(
    client: aiohttp.ClientSession, step: dict[str, Any], kept: dict[str, str], told: str
) -> None:
    method, path = filled(step["do"], kept).split(" ", 1)
    body = filled(step.get("body"), kept)
    headers = {"User-Agent": "tester/1.0"}
    if body is not None:
        headers["Content-Type"] = KINDS.get(step.get("as", ""), "application/json")
    if "accept" in step:
        headers["Accept"] = KINDS[step["accept"]]
    data = body if isinstance(body, str) else json.dumps(body) if body is not None else None
    async with client.request(method, path, data=data, headers=headers) as answer:
        text = await answer.text()
        assert answer.status == step.get("code", 200), f"{told}: {answer.status} {text}"
        found = parsed(text, is_stream="watch=" in path)
        warned = answer.headers.getall("Warning", [])
    if "has" in step:
        differences = list(against(filled(step["has"], kept), found, ""))
        assert not differences, f"{told}: {differences}"
    for path in step.get("lacks", ()):
        assert at(found, path) is None, f"{told}: there is {path}: {at(found, path)}"
    assert len(warned) == len(step.get("warns", ())), f"{told}: {warned}"
    for wanted, warning in zip(step.get("warns", ()), warned, strict=True):
        assert wanted in warning, told
    for name, path in step.get("keep", {}).items():
        kept[name] = at(found, path)


def parsed(text: str, *, is_stream: bool) -> Any:
    """JSON, the lines of a watch as a list, or text as it is."""
    if is_stream and not text.startswith('{"kind":"Status"'):
        return [json.loads(line) for line in text.split("\n") if line]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def filled(value: Any, kept: dict[str, str]) -> Any:
    """Put in what was kept."""
    if isinstance(value, str):
        for name, text in kept.items():
            value = value.replace("{" + name + "}", str(text))
        return value
    if isinstance(value, list):
        return [filled(each, kept) for each in value]
    if isinstance(value, dict):
        return {key: filled(each, kept) for key, each in value.items()}
    return value


def at(tree: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(tree, list):
            tree = tree[int(step)] if int(step) < len(tree) else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def against(wanted: Any, found: Any, path: str) -> Iterator[str]:
    """Yield where what was found isn't what was wanted."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, each in wanted.items():
            yield from against(each, found.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from against(one, other, f"{path}[{index}]")
    elif isinstance(wanted, str) and wanted.startswith("~"):
        if wanted[1:] not in str(found):
            yield f"{path}: {found!r} has no {wanted[1:]!r}"
    elif wanted != found:
        yield f"{path}: {found!r} instead of {wanted!r}"
