"""Posteriors too large to keep: from which size on, and that what was drawn of them is not part of them."""

import pytest

import bayesclf as bc
from bayesclf.engines import inference

X = [["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]]
Y = ["no", "yes", "no", "yes"]
DRAWS = 7


@pytest.fixture
def model():
    return bc.CategoricalNB(inference="map").fit(X, Y).model_


@pytest.mark.parametrize(("spare", "kept"), [(0, True), (-1, False)])
def test_draws_are_kept_up_to_a_number_of_bytes(spare, kept, model, monkeypatch):
    numbers = 2 + 2 * 4  # π, and θ of two levels of two columns in two classes
    assert inference.parameter_count(model) == numbers
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 8 * numbers * DRAWS + spare)
    assert (inference.seeded_if_large(model, DRAWS, seed=1) is None) == kept


def test_blocks_are_drawn_of_as_many_as_go_into_their_bytes(model, monkeypatch):
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    monkeypatch.setattr(inference, "DRAW_BLOCK_BYTES", 8 * inference.parameter_count(model) * 3)
    assert inference.seeded_if_large(model, DRAWS, seed=1).block == 3
