"""How far probabilities move: what is resampled, what the intervals are, and that both agree."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import bayesclf as bc
from bayesclf.errors import InputError


def table(rng, rows):
    y = rng.integers(2, size=rows)
    return rng.normal(size=(rows, 4)) + 0.6 * y[:, None], y


@pytest.fixture(scope="module")
def found():
    X, y = table(np.random.default_rng(1), 150)
    return bc.instability(bc.GaussianNB(random_state=1), X, np.array(["no", "yes"])[y], refits=12, random_state=3)


def test_intervals_surround_the_probabilities(found):
    lines = found.table
    assert lines["row"].tolist() == list(range(1, 151))
    assert ((lines["refit_low"] < lines["refit_high"]) & (lines["posterior_low"] < lines["posterior_high"])).all()
    assert (lines["probability"] >= 0.5).all()  # that of the predicted class
    middle = (lines["refit_low"] + lines["refit_high"]) / 2
    assert (middle - lines["probability"]).abs().mean() < 0.05
    assert found.change == pytest.approx(lines["change"].mean())


def test_it_is_said_in_words_and_drawn(found):
    assert found.sentence.startswith("in 12 samples of as many rows, drawn from the table, probabilities move by 0.0")
    refits, posterior = (found.table[f"{of}_high"] - found.table[f"{of}_low"] for of in ("refit", "posterior"))
    widths = f"intervals are {refits.mean():.3f} wide on average, those of the posterior {posterior.mean():.3f}"
    assert found.sentence.endswith(widths)
    refits, posterior = found.plot().axes
    segments = refits.collections[0].get_segments()
    np.testing.assert_allclose([part[:, 1] for part in segments], found.table[["refit_low", "refit_high"]])
    assert posterior.get_title(loc="left") == "posterior"


def test_where_the_model_is_true_refits_move_as_far_as_the_posterior_says():
    X, y = table(np.random.default_rng(5), 300)
    lines = bc.instability(bc.GaussianNB(random_state=1), X, y, "bayes-optimal", 1, refits=20).table
    widths = [(lines[f"{name}_high"] - lines[f"{name}_low"]).mean() for name in ("refit", "posterior")]
    assert 0.7 < widths[0] / widths[1] < 1.3


def test_more_rows_are_more_stable_and_a_point_estimate_has_no_posterior():
    changes = []
    for rows in (60, 960):
        X, y = table(np.random.default_rng(2), rows)
        changes.append(bc.instability(bc.GaussianNB(inference="map", random_state=1), X, y, refits=10))
    assert changes[1].change < changes[0].change / 2
    assert changes[0].table["posterior_low"].isna().all()
    assert "posterior" not in changes[0].sentence
    assert len(changes[0].plot().axes) == 1


def test_the_seed_decides():
    X, y = table(np.random.default_rng(2), 40)
    one, two, other = (
        bc.instability(bc.GaussianNB(), X, y, refits=3, random_state=seed).table["change"] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_what_cannot_be_used_is_refused():
    X, y = table(np.random.default_rng(2), 20)
    with pytest.raises(InputError, match="instability is that of a bayesclf classifier"):
        bc.instability(GaussianNB(), X, y)
    with pytest.raises(InputError, match="refits must be"):
        bc.instability(bc.GaussianNB(), X, y, refits=1)
    with pytest.raises(InputError, match="outcome must be one of the classes 0, 1, not 7"):
        bc.instability(bc.GaussianNB(), X, y, outcome=7)
