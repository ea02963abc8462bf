"""docs/lint.md lists exactly the codes there are, and each code has a case that finds it."""

from __future__ import annotations

from pathlib import Path

from dibs.lint import check

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases"


def test_the_table_is_the_code() -> None:
    text = (ROOT / "docs" / "lint.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{code}` | {severity} | {says} |" for code, severity, says in check.codes()]


def test_codes_are_distinct() -> None:
    codes = [code for code, _, _ in check.codes()]
    assert len(codes) == len(set(codes))
