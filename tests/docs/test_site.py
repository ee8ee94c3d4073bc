"""The documentation's site, as `python3 tasks.py docs` has built it, and the scripts that it is made of."""

import ast
import importlib
import json
import re
import subprocess
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from helpers.site import Site

import bayesclf as bc
from bayesclf.diagnostics import CHECKS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = DOCS / "_build" / "html"
OF_CHROMIUM = {"accounts.google.com", "clients2.google.com", "update.googleapis.com", "www.google.com"}
"""Hosts that the browser asks for its own sake, whatever the page, an empty one too."""
PUBLIC = json.loads((ROOT / "tests" / "public_api.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site():
    """Return the built site."""
    if not (BUILT / "index.html").exists():
        pytest.skip("the site is not built: python3 tasks.py docs")
    return Site(BUILT)


@pytest.fixture(scope="module")
def objects(site):
    """Return the names of Python that the site has pages or sections of, from its inventory."""
    inventory = (BUILT / "objects.inv").read_bytes().split(b"\n", 4)[4]
    lines = zlib.decompress(inventory).decode().splitlines()
    return {line.split(" ")[0] for line in lines if " py:" in line}


@pytest.mark.slow
class TestSite:
    def test_nothing_is_loaded_from_elsewhere(self, site):
        assert len(site.pages) > 100
        assert site.loaded_from_elsewhere() == []

    def test_every_inner_link_and_anchor_leads_somewhere(self, site):
        assert site.dead() == []

    def test_every_public_name_is_in_the_reference(self, objects, monkeypatch):
        """Functions and classes of the modules that it has, what those with `__all__` export, and types of results.

        Other modules on record hold what `bayesclf` exports, beside names of their own.
        """
        monkeypatch.syspath_prepend(DOCS)
        groups = importlib.import_module("extensions.reference").GROUPS
        modules = {"bayesclf", *(f"bayesclf.{name}" for group in groups for name in group.modules)}
        assert len(modules) > 10
        assert modules <= PUBLIC.keys()
        lacking = [name for group in groups for name in group.results if name not in objects]
        for module, names in PUBLIC.items():
            if module not in modules:
                continue
            exported = module == "bayesclf" or hasattr(__import__(module, fromlist=["_"]), "__all__")
            for name, what in names.items():
                made = isinstance(what, dict) or what.startswith(("function", "exception"))
                if what != "module" and (exported or made) and f"{module}.{name}" not in objects:
                    lacking.append(f"{module}.{name}")
        assert lacking == []

    def test_methods_of_classifiers_are_in_the_reference(self, objects):
        methods = {
            "predict_proba",
            "predict_interval",
            "diagnose",
            "report",
            "fit_stream",
            "as_prior",
            "explain",
            "save",
        }
        assert {f"bayesclf.NaiveBayes.{name}" for name in methods} <= objects

    def test_every_check_has_a_page_with_an_example_and_its_rates(self, site):
        for code, check in CHECKS.items():
            text = (BUILT / "checks" / f"{code}.html").read_text(encoding="utf-8")
            assert f"{code} {check.title}" in text
            assert "Next step:" in text
            assert "simulation" in text or "Not simulated" in text, code

    def test_every_notebook_is_shown_with_its_figures(self, site):
        for notebook in (ROOT / "notebooks").glob("*.ipynb"):
            page = site.pages[(BUILT / "tutorials" / f"{notebook.stem}.html").resolve()]
            drawn = notebook.read_text(encoding="utf-8").count('"image/png"')
            assert sum("_images" in address for address in page.loads) == drawn > 0

    def test_formulas_are_drawn(self, site):
        text = (BUILT / "reference" / "generated" / "bayesclf.families.Poisson.html").read_text(encoding="utf-8")
        assert text.count("<mfrac>") >= 2
        assert "MathJax" not in text


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", "gallery/index", "tutorials/01_three_rules", "reference/families", "search"])
def test_a_browser_asks_for_nothing_but_files(site, page, tmp_path):
    """Scripts too could load something: the browser's own log of requests has the last word."""
    log = tmp_path / "requests.json"
    quiet = ("--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={tmp_path}"]
    command += [f"--log-net-log={log}", "--virtual-time-budget=3000", "--dump-dom", (BUILT / f"{page}.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "bd-content" in done.stdout
    asked = set(re.findall(r'"url":"https?://([^/"]*)', log.read_text(encoding="utf-8", errors="replace")))
    assert asked <= OF_CHROMIUM


@pytest.fixture
def external(monkeypatch):
    """Return the extension that links to other projects."""
    pytest.importorskip("docutils", reason="Sphinx, of the group 'docs', is not installed")
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("extensions.external_names")


@pytest.mark.slow
def test_every_external_name_is_used_and_exists_and_has_a_page(external):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "bayesclf").rglob("*.py")]
    for name, found in external.known().items():
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name
        assert urlsplit(found.address).scheme == "https", name
        assert last in found.address or name == "numpy.random.Generator", name
        used = rf"`{re.escape(name)}`" + (rf"|\b{last}\b" if found.kind == "class" else "")
        assert any(re.search(used, text) for text in sources), name
    assert len(set(external.types().values())) == sum(each.kind == "class" for each in external.known().values())


@pytest.mark.slow
def test_types_of_parameters_lead_to_other_projects(site, external):
    page = site.pages[(BUILT / "reference" / "generated" / "bayesclf.compare.html").resolve()]
    names = external.known()
    links = {address for each in site.pages.values() for address in each.links}
    assert names["numpy.random.Generator"].address in page.links
    assert {each.address for each in names.values()} <= links


def test_every_figure_is_in_the_gallery():
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "gallery").glob("*.py"))
    shown = set(re.findall(r"bc\.plots\.(\w+)\(", scripts))
    functions = {name for name in bc.plots.__all__ if name.islower()}
    assert functions <= shown


@pytest.mark.parametrize("script", sorted((DOCS / "gallery").glob("*.py")), ids=lambda path: path.stem)
def test_scripts_of_the_gallery_are_on_the_list_and_short(script):
    extension = ast.parse((DOCS / "extensions" / "gallery.py").read_text(encoding="utf-8"))
    names = {node.value for node in ast.walk(extension) if isinstance(node, ast.Constant)}
    assert script.stem in names
    for cell in script.read_text(encoding="utf-8").split("# %% ")[1:]:
        assert len(cell.strip().splitlines()) <= 12


def test_what_is_loaded_and_what_is_dead_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "sheet.css").write_text("@import 'https://a.test/font.css'; p { background: url(data:image/png;x) }")
    (tmp_path / "index.html").write_text(
        '<link rel="canonical" href="https://b.test"><link rel="stylesheet" href="//c.test/x.css">'
        '<script src="https://d.test/y.js"></script><img src="gone.png"><a href="https://e.test">out</a>'
        '<p style="background: url(http://f.test/z.png)"></p><style>p { background: url(https://g.test/w.png) }</style>'
        '<a href="other.html#here">fine</a><a href="other.html#there">no</a><a href="none.html">no</a>'
        '<a href="#">top</a>'
    )
    site = Site(tmp_path)
    assert [found.split(": ")[1] for found in site.loaded_from_elsewhere()] == [
        *("//c.test/x.css", "https://d.test/y.js", "http://f.test/z.png", "https://g.test/w.png"),
        "https://a.test/font.css",
    ]
    assert site.dead() == ["index.html: other.html#there", "index.html: none.html", "index.html: gone.png"]
