"""Doctests of these modules: the directives need Sphinx, which only ``make docs`` installs."""

collect_ignore = ["conf.py", "extension.py"]
