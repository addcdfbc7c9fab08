"""Settings of the docs' site (scripts/docs builds it)."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

project, author = "perfmodel", "the perfmodel developers"
copyright = f"2026, {author}"
extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "public_names", "accessible",
]  # fmt: skip
exclude_patterns = ["_ext", "_build"]
suppress_warnings: list[str] = []
nitpicky = True

html_theme = "furo"
html_title = "perfmodel"
html_static_path = [
    "_static",
    str(Path(str(find_spec("sphinx-mathjax-offline").origin)).parent / "static/mathjax/tex-svg.js"),
]
html_css_files = ["site.css"]
html_copy_source, html_show_sourcelink, html_show_sphinx = False, False, False
# One file with its glyphs: a page asks no server, and no other file.
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
highlight_language = "text"
nb_execution_mode = "off"  # tests/lab/test_gallery.py executes them and compares the outputs

# Types in docstrings are prose where no class has a name for them: "mapping of str to array, optional".
PROSE = r"[a-z_]+|.*[ =\[].*|ndarray|SHA-256|NoneType|TypeAliasForwardRef|Ge|AllowInfNan|FieldInfo"
nitpick_ignore_regex = [("py:class", PROSE)]
autodoc_default_options = {"members": True, "exclude-members": "set_fit_request,set_score_request,set_predict_request"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
