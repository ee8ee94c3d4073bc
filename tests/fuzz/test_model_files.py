"""Model files that are damaged, or crafted by someone who knows the format: the model that was saved, or a sentence."""

import math
import resource
import time

import numpy as np
import pytest
from helpers.fuzz import Refusal, answer, efforts
from helpers.stored import MIXED, NUMBERS, TEXTS, WORDS, Y, parts_of, tamper
from helpers.strangers import GROWN, altered, damaged
from hypothesis import strategies as st

import bayesclf as bc
from bayesclf.engines import Exact, Laplace, inference
from bayesclf.storage import container

MOST_KILOBYTES = 300_000
"""How much more memory a process may have taken after reading files of some kilobytes than before."""
CPU_SECONDS = 20
"""What one file may take to be read and to predict; most take hundredths of a second."""
MODELS = {
    "gnb": (lambda: bc.GaussianNB(inference=Exact(draws=5, chains=2), random_state=1), NUMBERS),
    "nb": (lambda: bc.NaiveBayes(inference=Exact(draws=5, chains=2), random_state=1), MIXED),
    "lr": (
        lambda: bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=5, chains=2, limit=10), random_state=1),
        WORDS,
    ),
    "text": (lambda: bc.TextNB(inference="map"), TEXTS),
    "tan": (lambda: bc.BayesNetClassifier(inference="map"), WORDS),
    "joint": (lambda: bc.JointBayes(inference="map"), WORDS),
    "seeded": (lambda: bc.GaussianNB(inference=Exact(draws=5, chains=2), random_state=2), NUMBERS),
}
STRANGE = (
    None, True, 0, 1, -1, 3, 10**12, 2.5, "x", "", [], {}, [1, 2], {"tuple": [1, 2]}, {"float": "nan"}, {"array": "mu"},
    {"float": "x"}, ["a", "b", "c"], "no", {"type": "GaussianNB"}, -math.pi, 2**70, "n" * 10_000,
)  # fmt: skip
"""What a value of a file's state is replaced by."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the bytes of a saved model of each kind, with its table."""
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for name, (make, X) in MODELS.items():
        with pytest.MonkeyPatch.context() as patch:
            if name == "seeded":
                patch.setattr(inference, "POSTERIOR_BYTES", 0)
            clf = make().fit(X, Y)
        clf.save(folder / f"{name}.nc")
        found[name] = ((folder / f"{name}.nc").read_bytes(), X, clf.predict_proba(X))
    return found


@pytest.fixture
def bounded():
    """Check that the memory of the process has not grown much."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES


def loaded(path):
    clf = answer(lambda: bc.load(path))
    if isinstance(clf, Refusal):
        assert clf.kind == "InputError"
    return clf


@efforts(short=10, ci=250, full=10_000)
def test_damaged_files(files, tmp_path, bounded, effort):
    path = tmp_path / "model.nc"

    def check(name, seed):
        content, X, expected = files[name]
        path.write_bytes(damaged(content, np.random.default_rng(seed)))
        clf = loaded(path)
        if isinstance(clf, Refusal):
            return "damaged refused"
        np.testing.assert_array_equal(clf.predict_proba(X), expected)
        return "damaged but equal"

    effort.explore(check, name=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 2**63))


def crafted(path, rng):
    """Change a file in one of the ways that keep its checksum right, or need none."""
    match rng.integers(4):
        case 0:
            tamper(path, GROWN[rng.integers(len(GROWN))])
        case 1:
            groups, own, head = parts_of(path)
            with np.errstate(all="ignore"):
                values = np.frombuffer(own[: len(own) // 8 * 8]) * 10.0 ** rng.integers(-3, 300)
            path.write_bytes(container.signed(groups, values.tobytes() + own[8 * len(values) :], head))
        case _:
            altered(path, rng, STRANGE)


@efforts(short=6, ci=40, full=300)
def test_crafted_files(files, tmp_path, bounded, effort):
    path = tmp_path / "model.nc"

    def check(name, seed):
        content, X, _ = files[name]
        path.write_bytes(content)
        crafted(path, np.random.default_rng(seed))
        start = time.process_time()
        clf = loaded(path)
        if isinstance(clf, Refusal):
            assert time.process_time() - start < CPU_SECONDS
            return "crafted refused"
        found = answer(lambda: clf.predict_proba(X))
        assert time.process_time() - start < CPU_SECONDS
        return "crafted, predictions refused" if isinstance(found, Refusal) else "crafted, predictions made"

    effort.explore(check, name=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 2**63))
