"""Python files of a user, which run only when they are named."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from dpfl_theory.errors import InputError


def module_from_file(file: Path) -> Any:
    """Run a file as a module; its folder is on the import path meanwhile. Raises InputError for a missing file."""
    if not file.is_file():
        raise InputError(f"the file {str(file)!r} does not exist: give the path of a Python file")
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError(f"the file {str(file)!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for code that looks up its own module, as dataclasses do
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.resolve().parent))
    return module
