"""The shared corpora of questions, answered by `dibs conform`; skipped where they aren't there.

Everything in them is in scope. Run with -s to see how many questions there are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dibs.cli import conform
from dibs.testing.agree import agree


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["allocator", "bugs", "worst"])
def test_every_answer_is_the_right_one(
    corpus: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    elapsed_ms = []
    with (shared / "vectors" / f"{corpus}.jsonl").open() as lines:
        for number, line in enumerate(lines, 1):
            known = json.loads(line)
            given = conform.answer(json.dumps(known["question"]), number, timing=True)
            elapsed_ms.append(float(str(given["elapsed_ms"])))
            # What upstream has wrong is known, with the answer that is right.
            expected = known.get("right", known["answer"])
            if why := agree(json.loads(json.dumps(given)), expected):
                wrong.append(f"{given['id']}: {why}")
    with capsys.disabled():
        sys.stdout.write(f"\n{corpus}: {len(elapsed_ms)} questions, {sum(elapsed_ms):.0f} ms\n")
    assert not wrong, "\n".join(wrong)
