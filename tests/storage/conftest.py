"""A small fit, where it is saved, and its file."""

import pytest
from helpers.stored import NUMBERS, Y

import bayesclf as bc


@pytest.fixture(scope="module")
def gnb():
    return bc.GaussianNB(inference=bc.engines.Exact(draws=5, chains=2), random_state=1).fit(NUMBERS, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.nc"


@pytest.fixture(scope="module")
def content(gnb, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.nc"
    gnb.save(path)
    return path.read_bytes()


@pytest.fixture
def saved(content, path):
    path.write_bytes(content)
    return path
