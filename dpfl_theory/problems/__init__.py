"""Problems: families of convex client objectives with certified constants, found by scanning this package.

A module joins the catalogue by defining ``FAMILIES``, a dictionary from the name of a family to a constructor whose
parameters are plain JSON data (numbers, strings, lists). ``EXAMPLES``, from the same names to lists of parameters,
gives the small instances on which the tests check every law; a family whose parameters all have defaults needs none.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.parameter import Meaning, meanings
from dpfl_theory.errors import EnvironmentFault, InputError, unknown_name

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["examples", "families", "make"]


@functools.cache
def _catalogue() -> tuple[dict[str, Callable[..., Problem]], dict[str, list[dict[str, Any]]]]:
    found: dict[str, Callable[..., Problem]] = {}
    small: dict[str, list[dict[str, Any]]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for kind, constructor in getattr(module, "FAMILIES", {}).items():
            if kind in found:
                raise RuntimeError(f"problem family {kind!r} is defined twice, the second time in {module.__name__}")
            found[kind] = constructor
        small.update(getattr(module, "EXAMPLES", {}))
    return found, small


def families() -> dict[str, Callable[..., Problem]]:
    """The constructors of all problem families by name; modules are imported on the first call.

    >>> "huber" in families()
    True
    """
    return dict(_catalogue()[0])


def examples() -> dict[str, list[dict[str, Any]]]:
    """Small instances of the families for tests and examples: name -> parameters of each.

    >>> all(kind in families() for kind in examples())
    True
    """
    return {kind: [dict(p) for p in found] for kind, found in _catalogue()[1].items()}


_TOO_LARGE = ("array is too big", "Maximum allowed")
"""The start of NumPy's message that no array can have such a shape."""


def make(kind: str, **parameters: Any) -> Problem:
    """The problem of family ``kind`` with the given parameters (plain JSON data).

    Raises InputError for an unknown family or parameter (with the nearest name), a missing parameter, and every value
    that the family's constructor refuses. Raises EnvironmentFault for a problem that does not fit into memory.

    >>> make("huber-scalar", minimisers=[0.0, 2.0], thresholds=[1.0, 1.0]).n
    2
    """
    known = families()
    if kind not in known:
        raise unknown_name("problem family", kind, known)
    signature = inspect.signature(known[kind])
    for name in parameters:
        if name not in signature.parameters:
            near = difflib.get_close_matches(name, signature.parameters, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(signature.parameters)}"
            raise InputError(f"problem family {kind!r} has no parameter {name!r}: {hint}")
    for name, parameter in signature.parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in parameters:
            wanted = meanings(known[kind]).get(name, Meaning("it")).text
            raise InputError(f"problem family {kind!r} needs the parameter {name!r}: add {wanted}")
    try:
        return known[kind](**parameters)
    except (MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith(_TOO_LARGE):
            raise
        sizes = ", ".join(f"{name} = {value}" for name, value in parameters.items() if isinstance(value, int))
        message = f"a problem {kind!r} with {sizes or 'these parameters'} needs more memory than available"
        raise EnvironmentFault(f"{message}: take fewer clients, records, dimensions") from error
