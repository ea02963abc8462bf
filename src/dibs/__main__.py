"""`python -m dibs` is the same as `dibs`."""

from __future__ import annotations

from dibs.cli.main import run

if __name__ == "__main__":
    run()
