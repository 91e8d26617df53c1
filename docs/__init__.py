"""The documentation as pages: Markdown under ``text``, what is inserted, and what commands really print."""
