"""Missing values held as numbers: found where they are, seldom where they are not, and emptied on request."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.tables import datasets
from bayesclf.tables.datasets import KNOWN
from bayesclf.tables.remarks import emptied, spike

TABLES, ROWS = 300, 1000

SHARE = stats.uniform(0.02, 0.4)
"""Of zeros beyond those of the count."""


def inflated(rng, cells):
    return np.where(rng.random(len(cells)) < SHARE.rvs(random_state=rng), 0, cells)


CLEAN = {
    "log-normal": lambda rng: rng.lognormal(3, rng.uniform(0.2, 2), ROWS),
    "log-normal, rounded": lambda rng: rng.lognormal(rng.uniform(0, 4), rng.uniform(0.2, 2), ROWS).round(
        int(rng.integers(3))
    ),
    "gamma": lambda rng: rng.gamma(rng.uniform(0.3, 10), 5, ROWS),
    "gamma, rounded": lambda rng: rng.gamma(rng.uniform(0.3, 10), 5, ROWS).round(int(rng.integers(2))),
    "normal, rounded": lambda rng: rng.normal(rng.uniform(-3, 10), rng.uniform(0.5, 5), ROWS).round(),
    "Poisson": lambda rng: rng.poisson(rng.uniform(0.3, 30), ROWS),
    "Poisson with more zeros": lambda rng: inflated(rng, rng.poisson(rng.uniform(0.3, 40), ROWS)),
    "negative binomial with more zeros": lambda rng: inflated(
        rng, rng.negative_binomial(rng.uniform(0.5, 5), rng.uniform(0.05, 0.5), ROWS)
    ),
    "log-normal amounts, many of them 0": lambda rng: inflated(rng, rng.lognormal(3, rng.uniform(0.5, 2), ROWS)),
    "gamma amounts, many of them 0": lambda rng: inflated(rng, rng.gamma(rng.uniform(0.3, 4), 5, ROWS)),
}


def coded(rng, cells, value, share):
    return np.where(rng.random(len(cells)) < share, value, cells)


HIDDEN = {
    "body mass, 0": lambda rng: coded(rng, rng.gamma(22, 1.45, 768).round(1), 0, 0.015),
    "blood pressure, 0": lambda rng: coded(rng, rng.normal(72, 12, 768).round(), 0, 0.045),
    "glucose, 0": lambda rng: coded(rng, rng.normal(121, 30, 768).round().clip(30), 0, 0.03),
    "weight, 999": lambda rng: coded(rng, rng.normal(75, 12, 768).round(1), 999, 0.02),
    "weight, -9": lambda rng: coded(rng, rng.normal(75, 12, 768).round(1), -9, 0.02),
}


def share_found(draw):
    rng = np.random.default_rng(5)
    return np.mean([spike(pd.Series(draw(rng))) is not None for _ in range(TABLES)])


@pytest.mark.parametrize("name", CLEAN)
def test_false_alarms_are_rare(name):
    # at most 1%, give or take three standard errors
    assert share_found(CLEAN[name]) <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / TABLES)


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_missing_values_are_found(name):
    assert share_found(HIDDEN[name]) > 0.9


@pytest.mark.parametrize("name", [*KNOWN["own"], "iris", "wine", "breast_cancer"])
def test_of_the_shipped_tables_only_the_ceiling_of_capital_gain_is_noted(name):
    frame = datasets.load(name).X
    found = {str(column): spike(frame[column]).value for column in frame if spike(frame[column])}
    assert found == ({"capital_gain": 99999.0} if name == "adult" else {})


def test_zeros_of_pima(data_folder):
    frame = datasets.load("pima").X
    found = {name: spike(frame[name]).cells for name in frame if spike(frame[name])}
    assert found == {"glucose": 5, "blood_pressure": 35, "skin_thickness": 227, "bmi": 11}


@pytest.mark.parametrize(
    "cells",
    [
        [0.0, 0.0] + [50.0 + k for k in range(40)],  # two cells are no spike
        [0.0] * 50 + [50.0 + k for k in range(40)],  # most cells
        [0.0] * 5 + [3.0, 4.0, 5.0] * 20,  # grades
        [0.0] * 5 + [50.0 + k for k in range(10)],  # too few others
        [-1.0] * 8 + [-2.0, -3.0] + [float(k) for k in range(60)],  # others are negative too
        [True, False] * 40,
        list("ab") * 40,
    ],
)
def test_what_is_no_spike(cells):
    assert spike(pd.Series(cells)) is None


@pytest.mark.parametrize("code", [99.0, -9.0])
def test_codes_among_answers_from_1_to_5(code):
    answers = [1.0, 2.0, 3.0, 4.0, 5.0] * 20
    assert spike(pd.Series([*answers, *[code] * 8])).value == code
    assert spike(pd.Series([*answers, *[-1.0] * 8])) is None  # a rank below the others
    assert spike(pd.Series([*answers, *[9.0, 10.0, 60.0], *[code] * 8])) is None  # not so far


def test_a_code_far_from_all_others_may_be_rarer_than_they_are():
    ages = np.repeat(np.arange(18.0, 91.0), 6)
    assert spike(pd.Series([*ages, *[999.0] * 3])).value == 999
    assert spike(pd.Series([*ages, *[999.0] * 2])) is None
    assert spike(pd.Series([*ages, *[99.0] * 3])) is None  # an age, perhaps


def test_words_and_whole_numbers_are_emptied():
    frame = pd.DataFrame({"n": [1, -1, 3], "w": ["a", "?", None], "c": pd.Categorical(["0", "1", "0"])})
    found = emptied(frame, {"n": [-1], "w": ["?"], "c": ["0"]})
    assert found["n"].tolist()[::2] == [1, 3]
    assert found.isna().to_numpy().tolist() == [[False, False, True], [True, True, False], [False, True, True]]


def test_what_cannot_be_emptied():
    frame = pd.DataFrame({"age": [1, 2]})
    with pytest.raises(InputError, match=r"no column 'windy' \(did you mean 'wind'\?\)"):
        datasets.load("play_tennis", missing={"windy": [0]})
    assert emptied(frame, {"age": [0]}).equals(frame)


@pytest.mark.parametrize("codes", [{"a": [99]}, [99]])
def test_a_value_that_no_cell_has_is_said_by_every_reader(codes, tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3, 4] * 10, "y": ["no", "yes"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t.csv: no cell .*is 99, the value given as missing; check"):
        datasets.read(tmp_path / "t.csv", "y", missing=codes)
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", frame, [frame]):
        with pytest.raises(InputError, match=r"no cell .*is 99, the value given as missing; check"):
            bc.NaiveBayes(inference="map").fit_stream(source, "y", reading={"missing": codes})


@pytest.fixture
def with_na(tmp_path):
    """Return a file as R writes it, and one with empty cells instead of NA."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=40).round(2), "word": rng.choice(["a", "b"], 40), "y": ["no", "yes"] * 20}
    )
    frame.loc[::7, "x"] = np.nan
    frame.to_csv(tmp_path / "na.csv", index=False, na_rep="NA")
    frame.to_csv(tmp_path / "empty.csv", index=False)
    return tmp_path / "na.csv", tmp_path / "empty.csv"


@pytest.mark.parametrize("kinds", [{}, {"x": "number"}])
def test_a_word_that_stands_for_missing_does_not_make_numbers_categories(with_na, kinds):
    na, empty = with_na
    found = datasets.load(na, "y", kinds, missing={"x": ["NA"]}).frame
    pd.testing.assert_frame_equal(found, datasets.load(empty, "y").frame)
    pd.testing.assert_frame_equal(datasets.load(na, "y", kinds).frame, found)
