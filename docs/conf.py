"""How Sphinx builds the site: ``uv run --group docs sphinx-build -W --keep-going docs build/site``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cunumpy as xp

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "CuNumpy"
author = "The CuNumpy developers"
project_copyright = author
release = version = xp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["examples/**", "_templates/**"]
templates_path = ["_templates"]

# Markdown. Pages link to headings of other pages, as they do where the repository is read.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

# Docstrings. A word in single backquotes is a link where there is such a name, and code where there is none.
default_role = "py:obj"
autodoc_typehints = "none"  # the sections of parameters say them
autodoc_member_order = "bysource"
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_use_plots = False
add_module_names = False
toc_object_entries_show_parents = "hide"
python_display_short_literal_types = True

# Looks.
html_theme = "pydata_sphinx_theme"
html_title = f"CuNumpy {release}"
html_static_path = ["_static"]
html_css_files = ["cunumpy.css"]
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "CuNumpy", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg", "alt_text": ""},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": []}
pygments_style = "default"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

GENERATED = Path(__file__).parent / "reference" / "generated"


def leave_out_fields(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out a named tuple's fields: its section of attributes describes them."""
    kind = type(value).__name__
    return True if kind in ("_tuplegetter", "member_descriptor") else None


def show_call(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Show how a name of kernels in Python syntax is called there; to Python it is no function."""
    signature = getattr(value, "signature", None)
    if type(value).__name__ == "Primitive" and signature:
        lines += ["", f"``jit.{value.name}{signature}``", ""]


def setup(app: Sphinx) -> None:
    """Make the pages of the API anew each time, so that none stays of a name that has gone."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("autodoc-process-docstring", show_call)
