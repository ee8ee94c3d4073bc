"""What several test files share: two small tables, a folder of larger ones, a generator, and pages without figures."""

import os
import sys
import tempfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from helpers.pages import leave_figures_unwritten
from hypothesis import HealthCheck, settings

from bayesclf.tables import datasets

for name in ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
    os.environ.pop(name, None)  # what rich and typer take from whoever started the tests
os.environ["MPLBACKEND"] = "agg"
# PyTensor would compile the inner graphs of distributions by a C compiler, which takes minutes, to draw them once, and
# would keep for each node of a graph where it was made, for messages that no test reads.
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,traceback__limit=0")

# A test may take long on a busy machine without being wrong. The nightly run is with ``--hypothesis-profile many``.
anywhere = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", anywhere, max_examples=20)
settings.register_profile("many", anywhere, max_examples=300)
settings.load_profile("few")

SPREAD = {"test_sklearn.py", "test_sbc.py", "test_nuts_agrees.py", "test_notebooks.py", "test_main_job.py"} | {
    "test_fits.py",
    "test_model_files.py",
    "test_command_lines.py",
    "test_documents.py",
}
"""Files whose tests share little, so that several workers may take tests of one file."""
LONGEST = ("test_readme.py", "test_notebooks.py", "test_main_job.py", "test_discriminant.py", "test_sbc.py")
"""Files with the longest of the slow tests: these come first, lest a worker be alone with one at the end.

The README's blocks need one another's files, so that one worker runs them all, which takes minutes.
"""


def pytest_collection_modifyitems(items):
    """Make nightly tests slow ones, and put the slow tests of the longest files before others, which keep their order.

    Tests are chosen by their marks after this.
    """
    for item in items:
        if item.get_closest_marker("nightly") is not None:
            item.add_marker("slow")

    def place(item):
        first = item.path.name in LONGEST and item.get_closest_marker("slow") is not None
        return LONGEST.index(item.path.name) if first else len(LONGEST)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests of a file to one worker, as each worker has module fixtures and compiled models of its own.

    The group marks of pytest-xdist 3.8 would do, but pytest 9.2 does not heed them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return nodeid if Path(file).name in SPREAD else file

    return ByFile(config, log)


@pytest.fixture(autouse=True, scope="session")
def temporary(tmp_path_factory):
    """Let files that libraries leave behind, as PyTensor does for each graph, go with the folders of pytest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn, as pyplot keeps figures and warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Let no test fetch from openml.org; those that are about it bring an answer of their own."""

    def fetch(**_):
        raise URLError("tests do not use the network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)


@pytest.fixture
def rng():
    """Return a generator of its own for each test, always the same."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def play_tennis():
    """Return the 14 days of Mitchell 1997, Table 3.2: four columns of words, yes or no."""
    return datasets.load("play_tennis")


@pytest.fixture(scope="session")
def mixed_table():
    """Return 90 rows of numbers, words and events with missing cells and of counts, two columns each, and labels.

    No column separates the classes, so that every estimate exists.
    """
    rng = np.random.default_rng(8)
    codes = rng.permutation(np.repeat(np.arange(3), 30))
    ward = np.where(rng.random(90) < 0.5, rng.integers(3, size=90), codes)
    X = pd.DataFrame(
        {
            "age": 30 + 5 * codes + rng.normal(0, 8, 90),
            "dose": np.exp(rng.normal(0.3 * codes, 0.8)),
            "ward": np.array(["east", "north", "west"], dtype=object)[ward],
            "smoker": np.array(["no", "yes"], dtype=object)[(rng.random(90) < 0.3 + 0.2 * codes).astype(int)],
        }
    )
    X = X.mask(rng.random(X.shape) < 0.12)
    events = (rng.random((90, 2)) < (0.3 + 0.2 * codes)[:, None]).astype(float)
    X[["fever", "cough"]] = np.where(rng.random((90, 2)) < 0.12, np.nan, events)
    X[["visits", "calls"]] = rng.poisson(np.stack([1 + codes, 3 - codes], axis=1)).astype(float)
    return X, np.array(["ill", "mild", "well"])[codes]


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of larger tables that the environment variable BAYESCLF_DATA names; skip without it."""
    folder = os.environ.get("BAYESCLF_DATA")
    if folder is None:
        pytest.skip("BAYESCLF_DATA, the folder of data sets, is not set")
    return Path(folder)


@pytest.fixture
def unwritten_figures(monkeypatch):
    """Draw figures, but leave out writing them to SVG, which takes most of a page's time, where words are compared."""
    leave_figures_unwritten(monkeypatch)
