"""Sphinx settings. Nothing is fetched, by the build or by the pages: they open offline."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import make_commands  # noqa: E402
import make_gallery  # noqa: E402
import make_ledger  # noqa: E402
import make_modules  # noqa: E402
import make_notebooks  # noqa: E402
import make_statements  # noqa: E402
import make_theories  # noqa: E402

import swingby  # noqa: E402
from swingby.lab.explorer.explore import explore  # noqa: E402

make_commands.main(HERE / "generated")
make_gallery.main(HERE / "generated" / "gallery")
make_statements.main(HERE / "generated")
make_ledger.main(HERE / "generated")
make_modules.main(HERE / "generated")
make_notebooks.main(HERE / "generated")
make_theories.main(HERE / "generated")
#: The explorer is written by each build, and lies beside the pages as it is.
EXTRA = HERE / "generated" / "extra"
EXTRA.mkdir(exist_ok=True)
explore(EXTRA / "explorer.html")

project = "swingby"
author = "The swingby developers"
project_copyright = "The swingby developers"
version = release = swingby.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
# A formula is set when it comes into sight: the ledger has hundreds.
mathjax3_config = {"loader": {"load": ["ui/lazy"]}}
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build",
    "_templates",
    "generated/statements.md",
    "generated/ledger.md",
    "Thumbs.db",
]
templates_path = ["_templates"]

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_extra_path = [str(EXTRA)]
html_theme = "pydata_sphinx_theme"
html_title = f"swingby {version}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["enlarge.js"]
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "show_prev_next": True,
    "navbar_center": [],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


#: Parts of a docstring that are not prose: roles, literals, and blocks of mathematics.
NOT_PROSE = re.compile(r":math:`[^`]*`|``[^`]*``|^ *\.\. math::.*\n(?:(?: +.*)?\n)*", re.MULTILINE)


def escape_mathematics(app, what, name, obj, options, lines):
    """In prose ``|w_ij|`` is a size and ``p_-`` a name; reStructuredText sees markup there."""
    text = "\n".join(lines) + "\n"
    kept = NOT_PROSE.findall(text)
    prose = []
    for part in NOT_PROSE.split(text):
        part = part.replace("|", r"\|")
        part = re.sub(r"(\w)_(?=[-+])", r"\1\\_", part)
        prose.append(re.sub(r"^\((?=\w\))", r"\\(", part, flags=re.MULTILINE))
    pieces = [piece for pair in zip(prose, [*kept, ""], strict=True) for piece in pair]
    lines[:] = "".join(pieces).split("\n")


def setup(app):
    """Register the docstring hook."""
    app.connect("autodoc-process-docstring", escape_mathematics)
