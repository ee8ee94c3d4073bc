"""Settings of the documentation's site, which `python3 tasks.py docs` builds."""

import os
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))  # for the folder of extensions

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")

project = "bayesclf"
author = "The bayesclf authors"
version = release = version_of("bayesclf")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    *(f"extensions.{name}" for name in ("mathml", "docstrings", "check_pages")),
]
exclude_patterns = ["_build", "_templates", "extensions", "**.py"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [
    # Code in single backticks of a docstring is a link where it names something public, and code where it does not;
    # this is also the role of `X`, `alpha=2.0` and names of private functions.
    ("py:obj", ".*"),
    # Parts of types, which are not public by themselves.
    ("py:class", r"bayesclf\.arrays\..*|collections\.abc\..*"),
]
smartquotes = False  # quotes in docstrings are those of code
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
show_warning_types = True

# Prose

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"  # except for the pages of the gallery
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

for copy in (DOCS / "tutorials").glob("*.ipynb"):
    copy.unlink()
for notebook in (DOCS.parent / "notebooks").glob("*.ipynb"):
    shutil.copy2(notebook, DOCS / "tutorials")  # with its time, so that only changed ones are read again

# Docstrings

autosummary_generate = True
autosummary_generate_overwrite = True
autosummary_ignore_module_all = False
autosummary_imported_members = True  # the names of __all__
autodoc_typehints = "none"  # types stand in the docstrings
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {
    *("GL01", "GL03", "GL05", "GL06", "GL08", "GL09", "GL10", "SS01", "SS03", "SS04", "SS06"),
    *("PR02", "PR05", "PR06", "PR07", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05"),
}
# Constants and fields, which have the docstrings of their types.
numpydoc_validation_exclude = {r"\.[A-Z_]+$", r"\.ColumnKind$", r"\.Columns\."}
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # words of types other than these
NAMES = DOCS / "external_names.txt"
"""Names of other projects that docstrings mention, what they are, and their pages: an inventory of Sphinx, as text."""
CLASSES = [line.split()[0] for line in NAMES.read_text(encoding="utf-8").splitlines() if " class " in line]
intersphinx_mapping = {"others": ("https://", str(NAMES))}  # the file has the hosts; nothing is fetched
numpydoc_xref_aliases = (
    {name: name for name in DEFAULT_LINKS}  # no links to `int` and the like
    | {name.rpartition(".")[2]: name for name in CLASSES}
    | {"xr.DataTree": "xarray.DataTree", "pd.DataFrame": "pandas.DataFrame", "pd.Series": "pandas.Series"}
)
copybutton_exclude = ".linenos, .gp, .go"

# Pages; everything that they load lies in the folder

html_theme = "pydata_sphinx_theme"
html_title = "bayesclf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_sidebars = {"gallery": []}  # a section of one page
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
