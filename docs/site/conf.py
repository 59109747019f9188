"""Sphinx' configuration of the documentation site. stage.py makes the folder of its sources."""

import inspect
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "lsm"
author = copyright = "lsm contributors"
version = release = os.environ.get("VERSION", "").removeprefix("v")
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.githubpages",
    "sphinx_copybutton",
    "sphinx_design",
]

# Anchors are those of the forge.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
smartquotes = False  # it would make a dash of --
highlight_language = "none"

# The package's documentation needs none of what it runs with.
autodoc_mock_imports = ["h5py", "matplotlib", "numba", "numpy", "pylops", "xarray"]
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "lsm"
html_favicon = html_logo = "static/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
templates_path = []
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0b5a7a", "color-brand-content": "#0b5a7a"},
    "dark_css_variables": {"color-brand-primary": "#6cb8d8", "color-brand-content": "#6cb8d8"},
}


def constructor(app, what, name, obj, options, signature, returns):
    """The arguments of a class: autodoc would show those of a mocked base."""
    if what != "class" or "__init__" not in vars(obj):
        return None
    own = inspect.signature(obj.__init__)
    return str(own.replace(parameters=list(own.parameters.values())[1:])), returns


def setup(app):
    app.connect("autodoc-process-signature", constructor)
