"""Device models: what a card is, and into which partitions it can be cut.

The facts are in `models.yaml`, read once; what drivers publish of them is `fleet`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import yaml

from dibs.values import nearest
from dibs.values.mistake import Mistake


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A partition: `size` in memory slices of the card, beginning at one of `places`."""

    size: int
    places: tuple[int, ...]
    sevenths: int


class Geometry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    slices: int
    profiles: Mapping[str, Profile]


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`names` has what the vendor calls each profile of the geometry on this card."""

    product: str
    brand: str
    architecture: str
    compute: str
    memory: str
    geometry: str = ""
    names: Mapping[str, str] = {}


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    geometries: Mapping[str, Geometry]
    models: Mapping[str, Model]


@cache
def catalogue() -> Catalogue:
    """All models, by name."""
    text = resources.files("dibs.drivers").joinpath("models.yaml").read_text()
    return msgspec.convert(yaml.safe_load(text), Catalogue)


def find(name: str) -> Model:
    """Raises Mistake for a model that isn't there."""
    known = catalogue().models
    if name not in known:
        remedy = nearest.question(name, known) or f"one of {', '.join(known)}"
        raise Mistake("is no model of a device", value=name, remedy=remedy)
    return known[name]


def geometry(model: Model) -> Geometry | None:
    """How the card can be cut; None for one that can't."""
    return catalogue().geometries[model.geometry] if model.geometry else None
