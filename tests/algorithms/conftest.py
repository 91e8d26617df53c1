"""A user's algorithms are registered where a test runs their file, not where tests are collected."""

collect_ignore = ["own_algorithms.py"]
