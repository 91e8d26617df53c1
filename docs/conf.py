"""The settings of Sphinx, which builds the documentation from the texts in this folder: ``make docs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from jupyter_client.manager import KernelManager  # noqa: E402

from dpfl_theory import __version__  # noqa: E402

project = "dpfl_theory"
author = "The dpfl_theory maintainers"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "docs.extension",
]
exclude_patterns = ["**/__pycache__"]
source_suffix = {".md": "myst-nb"}
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
smartquotes = False  # -- is the start of an option, not a dash

nb_execution_mode = "force"  # a cache knows the cells, and not the package whose results they show
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # hints such as that a font cache is built; tests make warnings errors
if hasattr(KernelManager, "transport_encryption"):  # since version 8.9; without it each kernel prints a warning
    KernelManager.transport_encryption.default_value = "auto"
os.environ.update(DPFL_THEORY_STORE="off", DPFL_THEORY_HINTS="off")  # of the notebooks' kernels

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "dpfl_theory"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_theme_options = {"navigation_with_keys": True}
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
templates_path: list[str] = []
pygments_style = "friendly"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
suppress_warnings = ["ref.python"]
"""A name that two modules publish is one object here: a link leads to one of them."""

nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]
"""Every link of a text must have a target. Names in signatures and docstrings are links only where they are public."""
