"""Load a user's function by name: ``package.module:function``, or ``path/to/file.py:function``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpfl_theory.encoding import as_utf8
from dpfl_theory.errors import InputError, format_error
from dpfl_theory.runtime.python_files import module_from_file
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

__all__ = ["function_named"]

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
