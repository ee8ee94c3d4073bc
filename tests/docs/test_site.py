"""The documentation's site, as `python3 tasks.py docs` has built it, and the scripts that it is made of."""

import importlib
import json
import re
import subprocess
import zlib
from pathlib import Path

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
        assert len(site.pages) > 60
        assert site.loaded_from_elsewhere() == []

    def test_there_are_at_most_120_pages(self, site):
        assert len(site.pages) <= 120

    def test_every_public_name_is_in_the_reference(self, objects):
        """Names of the package, and those of the modules that the reference lists.

        Other modules on record hold what `bayesclf` exports, beside names of their own.
        """
        listed = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
        modules = ["bayesclf", *re.findall(r"^   (bayesclf\.[\w.]+)$", listed, flags=re.MULTILINE)]
        assert len(modules) > 10
        assert set(modules) <= PUBLIC.keys()
        names = {f"{module}.{name}" for module in modules for name, what in PUBLIC[module].items() if what != "module"}
        results = set(re.findall(r"^.. autoclass:: (\S+)$", listed, flags=re.MULTILINE))
        assert names | results <= objects

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

    def test_every_check_has_a_section_with_its_rates(self, site):
        text = "".join(page.read_text(encoding="utf-8") for page in site.pages if page.name.startswith("of_"))
        for code, check in CHECKS.items():
            assert f"{code} {check.title}" in text
        assert text.count("simulat") >= len(CHECKS)
        assert "Next step:" in text

    def test_every_notebook_is_shown_with_its_figures(self, site):
        for notebook in (ROOT / "notebooks").glob("*.ipynb"):
            page = site.pages[(BUILT / "tutorials" / f"{notebook.stem}.html").resolve()]
            drawn = notebook.read_text(encoding="utf-8").count('"image/png"')
            assert sum("_images" in address for address in page.loads) == drawn > 0

    def test_formulas_are_drawn(self, site):
        text = (BUILT / "reference" / "generated" / "bayesclf.families.html").read_text(encoding="utf-8")
        assert text.count("<mfrac>") >= 2
        assert "MathJax" not in text


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", "gallery", "tutorials/01_three_rules", "reference/index", "search"])
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


@pytest.fixture(scope="module")
def external():
    """Return (name, kind, address) of what other projects have, from the inventory of the site's links."""
    lines = (DOCS / "external_names.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line[0] != "#"]


@pytest.mark.slow
def test_every_external_name_is_used_and_exists(external):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "bayesclf").rglob("*.py")]
    assert len(external) > 10
    for name, kind, address in external:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name
        assert last in address or name == "numpy.random.Generator", name
        used = rf"`{re.escape(name)}`" + (rf"|\b{last}\b" if kind == "class" else "")
        assert any(re.search(used, text) for text in sources), name


@pytest.mark.slow
def test_types_of_parameters_lead_to_other_projects(site, external):
    page = site.pages[(BUILT / "reference" / "functions.html").resolve()]
    addresses = {name: f"https://{address}#{name}" for name, _, address in external}
    assert addresses["numpy.random.Generator"] in page.links
    assert set(addresses.values()) <= {address for each in site.pages.values() for address in each.links}


def test_every_figure_is_in_the_gallery():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert {name for name in bc.plots.__all__ if name.islower()} == set(re.findall(r"bc\.plots\.(\w+)\(", page))


@pytest.mark.slow
def test_the_gallery_shows_each_figure(site):
    shown = site.pages[(BUILT / "gallery.html").resolve()].loads
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert sum("_images" in each for each in shown) == len(re.findall(r"^ *bc\.plots\.", page, re.MULTILINE))


def test_what_is_loaded_from_elsewhere_is_found(tmp_path):
    (tmp_path / "sheet.css").write_text("@import 'https://a.test/font.css'; p { background: url(data:image/png;x) }")
    (tmp_path / "index.html").write_text(
        '<link rel="canonical" href="https://b.test"><link rel="stylesheet" href="//c.test/x.css">'
        '<script src="https://d.test/y.js"></script><img src="here.png"><a href="https://e.test">out</a>'
        '<p style="background: url(http://f.test/z.png)"></p><style>p { background: url(https://g.test/w.png) }</style>'
    )
    assert [found.split(": ")[1] for found in Site(tmp_path).loaded_from_elsewhere()] == [
        *("//c.test/x.css", "https://d.test/y.js", "http://f.test/z.png", "https://g.test/w.png"),
        "https://a.test/font.css",
    ]
