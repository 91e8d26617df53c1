"""Validations: scripts that reproduce one figure or table of a paper, or plot one theorem's bound against measurements.

A script is one Python file of the folder ``validations/`` or of one of its subfolders, of which each paper has one.
A file whose name starts with ``_`` is a helper, which a script imports as ``from . import _helper``. A script defines
``TITLE``, ``CAPTION``, ``SOURCE`` (a mapping with ``paper`` and ``where``), ``BUDGET_SECONDS`` (profile -> seconds on
one core) and two functions:

* ``compute(context) -> dict``: plain JSON data (NumPy arrays are converted to lists, numbers that are not finite to
  None). Its key ``configuration`` says what was run; ``claims`` is a list of mappings with ``claim`` (the printed
  sentence as a predicate), ``verdict`` (one of `CLAIM_VERDICTS`), ``paper`` and ``measured`` (what each says). A claim
  may record under ``expected`` its known verdict; another verdict then makes the exit code 1. Give a claim to
  `elsewhere` where data, metric or range are not the paper's, and to `as_question` where the paper does not state it.
* ``draw(data) -> dict[str, Figure]``: figures only from that data, as read back from the file. The key ``""`` denotes
  the file ``<name>.png``, any other key ``<name>-<key>.png``.

A script that can use the user's own data also defines ``DATA``, a phrase that names the kind of file. The file's path
is then ``context.data``, None when none was given, and its name and SHA-256 are recorded in the configuration.

Long work is a list of calls that ``context.each`` makes: each result is stored as soon as it is computed.

Scripts that use the same runs give them the same name in ``SHARED_RUNS``. They then run one after the other in one
process, where a helper that caches runs makes them once; ``BUDGET_SECONDS`` of each is its time without the others.

``dpfl-theory validate NAME`` runs a script; ``--folder DIR`` names your own folder of scripts.
"""

from dpfl_theory.validation.batch import validate
from dpfl_theory.validation.claims import ANSWERS, CLAIM_VERDICTS, as_question, counted, elsewhere
from dpfl_theory.validation.run import SCHEMA, redraw, run, to_json
from dpfl_theory.validation.script import PROFILES, Context, Script, available, load, place_of, profile_of

__all__ = [
    "ANSWERS",
    "CLAIM_VERDICTS",
    "PROFILES",
    "SCHEMA",
    "Context",
    "Script",
    "as_question",
    "available",
    "counted",
    "elsewhere",
    "load",
    "place_of",
    "profile_of",
    "redraw",
    "run",
    "to_json",
    "validate",
]
