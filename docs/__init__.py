"""The documentation site: texts in Markdown, the modules that run its examples, and the settings of Sphinx."""
