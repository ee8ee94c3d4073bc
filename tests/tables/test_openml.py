"""Tables from openml.org: what `sklearn.datasets.fetch_openml` returns, under the names of this package."""

from http.client import RemoteDisconnected
from urllib.error import URLError

import pandas as pd
import pytest
from sklearn.utils import Bunch

from bayesclf.errors import InputError
from bayesclf.tables import datasets
from bayesclf.tables.datasets import load


def theirs(name, data_folder):
    """Return a table as openml.org has it: other names and labels, and digits that are categories."""
    own = pd.read_csv(data_folder / f"{name}.csv")
    frame = own.drop(columns="class").rename(columns=str.upper)
    if name == "pima":
        return own, frame.assign(**{"class": pd.Categorical("tested_" + own["class"])})
    price = own["class"].map({"low": 20.0, "high": 30.0})
    return own, frame.assign(CHAS=pd.Categorical(frame["CHAS"].astype(str)), MEDV=price.where(price > 20, 21.0))


@pytest.fixture
def fetched(monkeypatch):
    """Return a function that lets a table be what openml.org has, or an error, and returns what it is asked for."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)

    def give(frame, error=None, **more):
        asked = {}

        def fetch(**words):
            asked.update(words)
            if error is not None:
                raise error
            return Bunch(frame=frame, **{"target_names": [], "details": {}} | more)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return asked

    return give


@pytest.mark.parametrize("name", datasets.KNOWN["openml"])
def test_a_named_table_is_fetched_and_renamed(name, data_folder, fetched):
    own, frame = theirs(name, data_folder)
    fetched(frame)
    data = load(name)
    pd.testing.assert_frame_equal(data.frame, own, check_dtype=False)
    assert (data.target, data.license) == ("class", "unclear")
    assert data.source == datasets.KNOWN["openml"][name].source


@pytest.mark.parametrize(("name", "words"), [("credit-g", {"name": "credit-g"}), ("31", {"data_id": 31})])
def test_by_name_and_by_number(name, words, fetched):
    frame = pd.DataFrame({"job": pd.Categorical(["a", "b"]), "risk": ["good", "bad"]})
    asked = fetched(frame, target_names=["risk"], details={"id": "31"})
    credit = load(f"openml:{name}")
    assert (credit.target, credit.source) == ("risk", "https://www.openml.org/d/31")
    assert words.items() <= asked.items()


def test_without_a_named_label(fetched):
    fetched(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(InputError, match="target='COL'"):
        load("openml:x")
    assert load("openml:x", target="b").y.tolist() == [2]
    fetched(pd.DataFrame({"class": [1], "b": [2]}))
    assert load("openml:x").target == "class"


ERRORS = [URLError("Name or service not known"), TimeoutError(), RemoteDisconnected("closed"), ValueError("none found")]


@pytest.mark.parametrize("error", ERRORS)
def test_without_a_network_the_sentence_says_what_else_there_is(error, fetched):
    fetched(None, error)
    with pytest.raises(InputError, match=r"openml:credit-g cannot be fetched .* check its number and the network"):
        load("openml:credit-g")
    with pytest.raises(InputError, match=r"boston does not ship .* cannot be fetched .* boston.csv, in a folder"):
        load("boston")
