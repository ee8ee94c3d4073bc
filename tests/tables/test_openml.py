"""Tables from openml.org, by a server of our own that answers as openml.org does."""

import gzip
import hashlib
import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import _openml

from bayesclf.errors import InputError
from bayesclf.tables import datasets, openml

ROWS = 40


def fetched(name, seed=0):
    """Return a made-up table with the columns of openml.org."""
    table, rng = openml.NAMED[name], np.random.default_rng(seed)
    cells = {column: rng.integers(1, 90, ROWS) / (1 if j % 2 else 10) for j, column in enumerate(table.features)}
    if "CHAS" in cells:
        cells["CHAS"] = np.where(rng.random(ROWS) < 0.5, "0", "1")
    label = rng.choice(list(table.labels), ROWS) if table.labels else np.arange(ROWS) / 2
    return pd.DataFrame({**cells, table.label: label})


def arff(frame):
    nominal = {name: sorted(set(frame[name])) for name in frame if frame[name].dtype == "str"}
    kinds = [f"{{{','.join(map(repr, nominal[name]))}}}" if name in nominal else "numeric" for name in frame]
    attributes = [f"@attribute {name} {kind}" for name, kind in zip(frame, kinds, strict=True)]
    quoted = frame.assign(**{name: "'" + frame[name] + "'" for name in nominal})
    rows = quoted.to_csv(index=False, header=False, lineterminator="\n")
    return "\n".join(["@relation made", *attributes, "@data", rows])


def answers(number, frame, version=1):
    """Return what openml.org answers, by path."""
    text = arff(frame).encode()
    about = {
        "id": str(number),
        "name": "made",
        "description": "made up",
        "version": str(version),
        "format": "ARFF",
        "status": "active",
        "licence": "Public",
        "file_id": "7",
        "default_target_attribute": str(frame.columns[-1]),
        "md5_checksum": hashlib.md5(text).hexdigest(),
        "url": "https://www.openml.org/data/v1/download/7",
    }
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "nominal" if frame[name].dtype == "str" else "numeric",
            "is_target": "true" if index == len(frame.columns) - 1 else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, name in enumerate(frame)
    ]
    quality = [{"name": "NumberOfInstances", "value": str(len(frame))}]
    return {
        f"/api/v1/json/data/{number}": json.dumps({"data_set_description": about}).encode(),
        f"/api/v1/json/data/features/{number}": json.dumps({"data_features": {"feature": features}}).encode(),
        f"/api/v1/json/data/qualities/{number}": json.dumps({"data_qualities": {"quality": quality}}).encode(),
        "/data/v1/download/7": text,
    }


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Serve what a test puts into a dictionary of paths, in place of openml.org."""
    served = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = served.get(self.path)
            self.send_response(404 if body is None else 200)
            if body is not None:
                body = gzip.compress(body)
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{running.server_port}/"
    monkeypatch.setattr("sklearn.datasets.fetch_openml", _openml.fetch_openml)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    original = _openml.urlopen

    def redirected(request, *arguments, **named):
        request.full_url = re.sub(r"https://\w+\.openml\.org/", address, request.full_url)
        return original(request, *arguments, **named)

    monkeypatch.setattr(_openml, "urlopen", redirected)
    yield served
    running.shutdown()
    thread.join()
    running.server_close()


def known_as(monkeypatch, name, frame):
    """Let this package know a made-up table as `name`."""
    table = openml.NAMED[name]
    features = frame[list(table.features)].astype(float).rename(columns=dict(table.features))
    if table.labels:
        label = frame[table.label].map(table.labels)
    else:
        label = np.where(frame[table.label] > np.median(frame[table.label]), "high", "low")
    own = features.assign(**{"class": label})
    sha256 = hashlib.sha256(openml.canonical(own).encode()).hexdigest()
    monkeypatch.setitem(openml.NAMED, name, replace(table, sha256=sha256))
    return own


@pytest.mark.parametrize("name", openml.NAMED)
def test_a_named_table_is_fetched_renamed_and_compared(name, server, monkeypatch):
    frame = fetched(name)
    number = openml.NAMED[name].number
    server |= answers(number, frame)
    own = known_as(monkeypatch, name, frame)
    data = datasets.load(name)
    pd.testing.assert_frame_equal(data.frame, own, check_dtype=False)
    assert data.target == "class"
    assert data.source == f"https://www.openml.org/d/{number}"
    assert "unclear" in data.license
    assert set(data.y) == {"pima": {"negative", "positive"}, "boston": {"low", "high"}}[name]


@pytest.mark.slow
def test_another_table_is_refused(server):
    server |= answers(37, fetched("pima"))
    with pytest.raises(
        InputError, match=r"openml.org is not the pima that bayesclf knows: its cells have the checksum"
    ):
        datasets.load("pima")


def test_another_version_is_refused(server, monkeypatch):
    frame = fetched("pima")
    known_as(monkeypatch, "pima", frame)
    server |= answers(37, frame, version=2)
    with pytest.raises(InputError, match="it is of version 2, not 1; load it as openml:37"):
        datasets.load("pima")


@pytest.mark.slow
def test_missing_columns_are_named(server):
    server |= answers(37, fetched("pima").drop(columns=["plas", "age"]))
    with pytest.raises(InputError, match="it lacks the columns plas, age"):
        datasets.load("pima")


def test_without_a_network_the_sentence_says_what_else_there_is(monkeypatch):
    def down(**_):
        raise URLError("Name or service not known")

    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", down)
    with pytest.raises(
        InputError, match=r"boston does not ship .* cannot be fetched .* boston.csv, in a folder that BAY"
    ):
        datasets.load("boston")


def test_a_file_of_the_folder_goes_before_the_network(tmp_path, monkeypatch):
    (tmp_path / "pima.csv").write_text("age,class\n1,u\n2,v\n")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    assert datasets.load("pima").frame.shape == (2, 2)
    assert [info.place for info in datasets.available() if "pima" in info.name] == ["folder"]


@pytest.mark.parametrize("name", openml.NAMED)
def test_the_checksum_is_that_of_the_table(name, data_folder):
    table, own = openml.NAMED[name], pd.read_csv(data_folder / f"{name}.csv")
    assert hashlib.sha256(openml.canonical(own).encode()).hexdigest() == table.sha256
    assert len(own) == table.rows
    assert list(own) == [*table.features.values(), "class"]


def test_the_real_pima_passes_the_comparison(data_folder):
    table, own = openml.NAMED["pima"], pd.read_csv(data_folder / "pima.csv")
    theirs = own.rename(columns={ours: name for name, ours in table.features.items()})
    theirs["class"] = "tested_" + own["class"]
    pd.testing.assert_frame_equal(openml._renamed("pima", table, theirs, "1"), own)
