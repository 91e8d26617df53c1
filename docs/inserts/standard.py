"""How many checks the standard profile runs of each statement, and how many it leaves out."""

from __future__ import annotations

from dpfl_theory import statements
from dpfl_theory.checks.profiles import left_out, standard
from dpfl_theory.checks.runner import plan

__all__ = ["insert"]


def insert() -> str:
    """A table of the statements of which checks are left out, those with most first."""
    every = plan(statements.all_statements())
    kept = standard(every)
    missing, known = left_out(every, kept), left_out(every, ())
    lines = [
        f"{len(kept)} of {len(every)} checks are run. Of {len(known) - len(missing)} statements none is left out.",
        "",
        "| statement | checks | run | left out |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| `{id_}` | {known[id_]} | {known[id_] - count} | {count} |"
            for id_, count in sorted(missing.items(), key=lambda pair: (-pair[1], pair[0]))
        ),
    ]
    return "\n".join(lines) + "\n"
