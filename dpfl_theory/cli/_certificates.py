"""`check --certificate FILE`: the proofs of worst cases, in a file that a script with only the standard library
verifies."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import print_message

if TYPE_CHECKING:
    from dpfl_theory.core import Check, Statement
    from dpfl_theory.core.evidence import Evidence

__all__ = ["target_of", "write_certificates"]

METHOD = "worst-case"


def target_of(
    file: str | None, output: str | None, pairs: Sequence[tuple[Statement, Check]], reads: str | None = None
) -> Path | None:
    """The file for certificates, None without one.

    Raises InputError where it is the file of the output or of the statements, and where it cannot be written. The same
    holds where none of these checks is a worst case.
    """
    if file is None:
        return None
    target = writable(file, reads=(reads,))
    if output is not None and Path(output).resolve() == target.resolve():
        raise InputError("--certificate and --output name the same file: give each its own")
    if pairs and not any(check.method == METHOD for _, check in pairs):
        raise InputError(
            f"--certificate writes proofs of worst cases, but no check here uses the method {METHOD}: leave it out"
        )
    return target


def write_certificates(target: Path, evidence: Sequence[Evidence]) -> None:
    """Write the certificates of the proofs, and report their number. Without any, no file is written."""
    from dpfl_theory.checks.certificate_file import SCRIPT, of_evidence, text, verified

    worst = [e for e in evidence if e.method == METHOD]
    certificates = of_evidence(e.to_json() for e in worst)
    without = {str(e.notes["no_certificate"]) for e in worst if "no_certificate" in e.notes}
    for why in sorted(without):
        print_message(f"a proof has no certificate: {why}")
    if not certificates and not without:
        print_message(
            f"none of {len(worst)} worst-case checks was proved in rational arithmetic: {target} is not written"
        )
    elif not certificates:
        print_message(f"there is no certificate: {target} is not written")
    if not certificates:
        return
    for c in certificates:
        if not verified(c):  # as a reader would; failure is an internal error
            raise ArithmeticError(f"the certificate of {c['statement']}, {c['check']}, proves nothing")
    write(target, text(certificates))
    proved = len({(c["statement"], c["check"]) for c in certificates})
    count = f"{len(certificates)} certificate{'s' if len(certificates) > 1 else ''}"
    script = shlex.quote(str(SCRIPT))
    print_message(f"{count}, of {proved} of {len(worst)} worst-case checks: {target}")
    print_message(f"verify with: python {script} {shlex.quote(str(target))}")
