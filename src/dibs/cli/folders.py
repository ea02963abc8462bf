"""Where `dibs up` keeps everything, if nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path


def data(chosen: str | None = None) -> Path:
    """The data folder: the one that was chosen, or $XDG_DATA_HOME/dibs (~/.local/share/dibs)."""
    if chosen:
        return Path(chosen).absolute()
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(home).expanduser() / "dibs"
