"""The statements of paper-name."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "paper-name",
    authors="The authors",  # <-
    title="Title of the paper",  # <-
    year="2026",  # <-
    copy="the full text of the second version",  # <- which copy you read
    contents={"Section 3": "theorem1"},  # <- by section, the names of its statements in the order of the pages
)
