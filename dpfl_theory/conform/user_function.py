"""The user's function: found by its name, and called with the arguments of every round by position and its
hyper-parameters by name."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpfl_theory.algorithms.user_files import module_from_file
from dpfl_theory.conform.references import Reference, Values
from dpfl_theory.conform.world import Client
from dpfl_theory.encoding import as_utf8
from dpfl_theory.errors import InputError, format_error
from dpfl_theory.problems.base import Array
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

IMPORT_SECONDS = 60.0


def function_named(name: str) -> Callable[..., Any]:
    """The function of this name. Modules are searched in the working directory too.

    Raises InputError for a name without a colon, a module that does not exist or cannot be imported, and a function
    that the module does not have.

    >>> function_named("math:sqrt")(4.0)
    2.0
    """
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise InputError(f"{name!r} does not name a function: write my_module:function, or my_file.py:function")
    try:
        with at_most(IMPORT_SECONDS):
            module = module_from_file(Path(module_name)) if module_name.endswith(".py") else _from_path(module_name)
    except InputError:
        raise
    except TimeoutExceeded as error:
        raise InputError(f"{module_name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{module_name!r} cannot be imported: {format_error(error)}") from error
    found, attribute = module, as_utf8(attribute)
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = sorted(k for k, v in vars(module).items() if callable(v) and not k.startswith("_"))
            has = f"it has {', '.join(known[:12])}" if known else "it has none"
            raise InputError(f"{module_name!r} has no function {attribute!r}: {has}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{name!r} is {type(found).__name__}: name a function")
    function: Callable[..., Any] = found
    return function


def _from_path(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            where = "in the working directory or among the installed packages"
            raise InputError(f"there is no module {name!r} {where}: give its name, or the path of its file") from None
        raise
    finally:
        sys.path.remove("")


ROUND_NUMBER = ("round_number", "server_round", "current_round")
"""Names of the number of the round, from 0."""
POSITIONS = ("w", "state", "clients", "cohort", "rng")


class UserFunctionError(Exception):
    """The function raised an exception or returned an unusable value: what it does, the remedy, if it is known, and the
    line of the function."""

    def __init__(self, sentence: str, remedy: str = "", place: tuple[str, int] | None = None) -> None:
        super().__init__(f"{sentence}: {remedy}" if remedy else sentence)
        self.sentence, self.remedy, self.place = sentence, remedy, place


class Subject:
    """A user's round.

    function: ``round(w, state, clients, cohort, rng)``, perhaps with hyper-parameters by name after these.
    taken: the hyper-parameters that it takes, each with its name in the function.

    Raises InputError for something that is not a function, has other positional arguments, or takes a parameter that
    the reference does not have.
    """

    def __init__(self, function: Callable[..., Any], reference: Reference) -> None:
        self.function = function
        self.code = getattr(inspect.unwrap(function), "__code__", None)
        self.file = None if self.code is None else self.code.co_filename
        known = {"r": "r", "cohort_size": "r", "n": "n", "layers": "layers", **dict.fromkeys(ROUND_NUMBER, "number")}
        if reference.has_sigma:
            known["sigma"] = "sigma"
        for parameter in reference.parameters:
            known |= dict.fromkeys(parameter.names, parameter.symbol)
        self.taken = _taken(hyperparameters_of(function), known, reference.name)

    def __call__(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        """Call the round with copies. Raises UserFunctionError."""
        hyperparameters = {name: v[reference_name] for name, reference_name in self.taken.items()}
        try:
            with _record_numpy_noise(rng):
                found = self.function(w.copy(), state, list(clients), cohort.copy(), rng, **hyperparameters)
        except TimeoutExceeded:
            raise
        except (Exception, SystemExit) as error:
            raise UserFunctionError(f"the function raises {format_error(error)}", place=self._line(error)) from error
        if inspect.iscoroutine(found):
            found.close()  # so that Python does not warn of it
            need = "give a plain function, for example one that calls asyncio.run"
            raise InputError(f"the function is async, so that a call of it runs nothing: {need}")
        if not isinstance(found, tuple) or len(found) != 2:
            raise UserFunctionError(f"the function returns {_described(found)}", "return the pair (w, state)")
        if getattr(found[0], "dtype", None) == np.float16:
            need = "compute in single or double precision"
            raise InputError(f"the function returns w as {found[0].dtype}, which hides differences: {need}")
        try:
            after = np.array(found[0], dtype=np.float64)
        except (TypeError, ValueError):
            sentence = f"the function returns w as {type(found[0]).__name__}, which is not an array of numbers"
            raise UserFunctionError(sentence, "return an array of floats") from None
        if after.shape != w.shape:
            sentence = f"the function returns w of shape {after.shape}, and was given {w.shape}"
            raise UserFunctionError(sentence, "return w in the shape that it has")
        try:
            return after, copy.deepcopy(found[1])
        except Exception as error:
            sentence = f"the function returns a state that cannot be copied ({format_error(error)})"
            raise UserFunctionError(sentence, "return arrays and numbers") from error

    def _line(self, error: BaseException) -> tuple[str, int] | None:
        at, place = error.__traceback__, None
        while at is not None:
            if at.tb_frame.f_code.co_filename == self.file:
                place = (str(self.file), at.tb_lineno)
            at = at.tb_next
        return place


def _described(found: Any) -> str:
    """What a function returns in place of a pair, in words."""
    if inspect.isgenerator(found):
        return "a generator, since it has yield"
    if isinstance(found, tuple):
        return f"{len(found)} values"
    return "None" if found is None else f"one {type(found).__name__}"


def hyperparameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a round after the five first ones. Raises InputError for something that is not a round."""
    if not callable(function):
        raise InputError(f"a round is {function!r}: give a function round(w, state, clients, cohort, rng)")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError(f"{function!r} has no signature: wrap it in a Python function") from None
    kinds = inspect.Parameter
    first = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if len(first) < len(POSITIONS) and not any(p.kind is kinds.VAR_POSITIONAL for p in parameters):
        need = f"a round takes {', '.join(POSITIONS)}"
        raise InputError(f"the function takes {', '.join(p.name for p in first) or 'nothing'}: {need}")
    names = [p.name for p in first]
    for at, name_ in enumerate(POSITIONS):
        if name_ in names and names.index(name_) != at:
            need = f"a round takes {', '.join(POSITIONS)}, in this order, and then its hyper-parameters by name"
            raise InputError(f"the function takes {', '.join(names)}: {need}")
    return [*first[len(POSITIONS) :], *(p for p in parameters if p.kind is kinds.KEYWORD_ONLY)]


def _taken(parameters: Sequence[inspect.Parameter], known: Mapping[str, str], name: str) -> dict[str, str]:
    taken = {}
    for p in parameters:
        if p.name in known:
            taken[p.name] = known[p.name]
        elif p.default is p.empty:
            hyperparameters = ", ".join(sorted(known))
            raise InputError(
                f"the function asks for {p.name!r}, which is not a parameter of {name}: it has {hyperparameters}"
            )
    return taken


@contextlib.contextmanager
def replaced(functions: Mapping[tuple[Any, str], Any]) -> Iterator[None]:
    """Replaces these attributes inside the context."""
    before = {place: getattr(*place) for place in functions}
    try:
        for (owner, name), function in functions.items():
            setattr(owner, name, function)
        yield
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)


GLOBAL = ("normal", "standard_normal", "laplace", "multivariate_normal")
"""NumPy's functions whose noise comes from NumPy's global generator."""


@contextlib.contextmanager
def _record_numpy_noise(rng: Any) -> Iterator[None]:
    """Inside the context, the noise of NumPy's global generator comes from this one. If draws are real, the global
    generator stays unchanged, also where the function seeds it."""
    if getattr(rng, "true", True):
        yield
        return
    own: dict[tuple[Any, str], Any] = {(np.random, name): getattr(rng, name) for name in GLOBAL}
    with replaced({**own, (np.random, "randn"): lambda *shape: rng.standard_normal(shape or None)}):
        yield


@contextlib.contextmanager
def generators_kept() -> Iterator[None]:
    """Restores the global generators of libraries afterwards."""
    torch = sys.modules.get("torch")
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    theirs = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(theirs)


def seeded(seed: int) -> None:
    """Seeds the global generators of all libraries."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (the user's code may draw from it)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)
