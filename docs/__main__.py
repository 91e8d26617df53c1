"""``python -m docs``: build the pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.build import ROOT, build
from dpfl_theory.errors import DpflError


def main() -> int:
    """Build into a folder; exit code 1 where a text does not come out as it says."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the documentation as pages.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", help="the folder (build/docs)")
    parser.add_argument(
        "--without-reference", action="store_true", help="leave out the reference of the Python interface"
    )
    options = parser.parse_args()
    try:
        pages = build(options.output, reference=not options.without_reference)
    except (DpflError, OSError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    print(f"{len(pages)} pages: {options.output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
