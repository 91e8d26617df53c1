"""``python -m dpfl_theory``: the command line."""

from dpfl_theory.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
