"""What a text may insert, found by scan: one module each, with ``insert``, which returns HTML or Markdown."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpfl_theory.errors import unknown_name
from dpfl_theory.report.templates import render

__all__ = ["TEMPLATES", "named", "rendered"]

TEMPLATES = Path(__file__).parents[1] / "templates"


def named(name: str) -> Callable[..., str]:
    """The insert of that name. Raises InputError for another name."""
    known = {info.name for info in pkgutil.iter_modules(__path__)}
    if name not in known:
        raise unknown_name("insert", name, sorted(known))
    found: Callable[..., str] = importlib.import_module(f"{__name__}.{name}").insert
    return found


def rendered(template: str, **values: Any) -> str:
    """A template's HTML, which begins with an element."""
    return render(template, TEMPLATES, **values).strip() + "\n"
