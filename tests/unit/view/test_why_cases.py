"""Runs tests/cases/view/*.yaml: a world, a question, and the whole tree that answers it.

given: a world in shorthand (tests/worlds.py)
ask: pod/train            # or claim/x
verbose: true             # every node and device, if set
yes: false                # what the exit code follows from
tree: |                   # word for word
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import worlds
from dibs.schedule.snapshot import Key
from dibs.view import records, tree, why
from dibs.view.why import Account

CASES = Path(__file__).parents[2] / "cases" / "view"


def cases() -> Iterator[Any]:
    for file in sorted(CASES.glob("*.yaml")):
        for case in yaml.load(file.read_text(), yaml.CSafeLoader):
            yield pytest.param(case, id=f"{file.stem}: {case['name']}")


def account_of(case: dict[str, Any]) -> Account:
    kind, _, name = case["ask"].partition("/")
    snapshot = worlds.snapshot(case["given"])
    ask = why.of_pod if kind == "pod" else why.of_claim
    return ask(snapshot, Key("default", name))


@pytest.mark.parametrize("case", list(cases()))
def test_tree(case: dict[str, Any]) -> None:
    account = account_of(case)
    told = tree.text(why.tree(account, every_node=case.get("verbose", False)))
    assert told == case["tree"].rstrip("\n")
    assert account.is_yes == case["is_yes"]


@pytest.mark.parametrize("case", list(cases()))
def test_record_says_the_same(case: dict[str, Any]) -> None:
    record = records.account(account_of(case))
    assert json.loads(json.dumps(record)) == record
    assert (record["outcome"] in ("placed", "settled")) == case["is_yes"]
    for suggestion in record["suggestions"]:
        assert suggestion["text"] in case["tree"]
