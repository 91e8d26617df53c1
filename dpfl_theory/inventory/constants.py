"""Constants of a problem that a symbol of an `Iteration` may denote."""

from __future__ import annotations

from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]


def _items() -> list[Item]:
    from dpfl_theory.statements.iteration import CONSTANTS, OF_INSTANCES

    given = {True: "by the instance; runs take their problem's", False: "found from problem and start"}
    return [Item(name, what, facts={"value": given[name in OF_INSTANCES]}) for name, what in CONSTANTS.items()]


USE = "Iteration(step, {'SYMBOL': 'NAME', ...}) in a statement file (dpfl_theory.statements.iteration)"
KIND = Kind(
    "constants", "constant", "constants of the problem for symbols of your own theorem", _items, USE, ("value",)
)
