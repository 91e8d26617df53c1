"""Function classes over which the worst cases of an `Iteration` are taken."""

from __future__ import annotations

from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]

_WHAT = {
    "convex": "every f_i is convex",
    "strongly convex": "every f_i is mu-strongly convex: a symbol is the constant strong-convexity",
}


def _items() -> list[Item]:
    from dpfl_theory.statements.iteration import FUNCTIONS

    smooth = "L-smooth where a symbol is the constant smoothness, else any"
    return [Item(name, _WHAT[name], facts={"members": smooth}) for name in FUNCTIONS]


USE = "Iteration(step, ..., functions='NAME') in a statement file (dpfl_theory.statements.iteration)"
KIND = Kind("classes", "class", "function classes for your own theorem", _items, USE, ("members",))
