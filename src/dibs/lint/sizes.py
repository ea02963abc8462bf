"""How a size that was written as a number or a text is said as a quantity.

People write gigabytes, mebibytes and bytes alike; which one is meant shows in how large it is.
"""

from __future__ import annotations

from dibs.values.quantity import NotAQuantity, Quantity

# A device's memory lies between a gigabyte and a few terabytes, in whatever unit it is written.
MOST_GIB = 2_000
MOST_MIB = 4_000_000


def quantity(value: object) -> str | None:
    """Return the quantity that was most likely meant, None for what is no size."""
    match value:
        case str():
            return value if is_quantity(value) else None
        case bool():
            return None
        case int() | float() if value > 0:
            return of_number(int(value))
    return None


def of_number(value: int) -> str:
    if value < MOST_GIB:
        return f"{value}Gi"
    if value < MOST_MIB:
        # 40960 is 40Gi in MiB, 40000 is 40 GB in MB, which a card of 40Gi is sold as.
        return f"{value // 1024}Gi" if value % 1024 == 0 else f"{round(value / 1000)}Gi"
    return f"{value >> 30}Gi" if value % (1 << 30) == 0 else str(value)


def is_quantity(text: str) -> bool:
    """Whether this is a number with or without a unit, as the API reads it."""
    try:
        Quantity.parse(text)
    except NotAQuantity:
        return False
    return any(char.isdigit() for char in text)


def test(domain: str, name: str, operator: str, wanted: str) -> str:
    """Return the expression that compares a capacity with a quantity."""
    return f'device.capacity["{domain}"].{name}.compareTo(quantity("{wanted}")) {operator} 0'
