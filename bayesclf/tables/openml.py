"""Tables from openml.org: any by name or number, and two that have a name of their own and a checksum."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

from bayesclf.errors import InputError
from bayesclf.wording import listed

if TYPE_CHECKING:
    import pandas as pd

TIMEOUT = 30.0
"""Seconds to wait for an answer of the server."""

UNCLEAR = "unclear"
"""The license of a table whose terms are not known."""


@dataclass(frozen=True)
class OpenMLTable:
    """A data set of openml.org, in a fixed version, under the column names of this package.

    Attributes
    ----------
    number, version
        Its number, which belongs to one version, and that version.
    rows, classes
        The number of rows and of classes.
    features
        Our name of each column by theirs, in our order; all are numbers.
    label
        Their label column.
    labels
        Our labels by theirs; empty where `label` is a number that is split at its median into "low" and "high".
    sha256
        Checksum of the table as `canonical` writes it.
    description, creators, changes
        What it is, who made it, and what is changed.
    """

    number: int
    version: int
    rows: int
    classes: int
    features: Mapping[str, str]
    label: str
    labels: Mapping[str, str]
    sha256: str
    description: str
    creators: str
    changes: str

    @property
    def source(self) -> str:
        """Where it comes from."""
        return f"https://www.openml.org/d/{self.number}"


NAMED = {
    "pima": OpenMLTable(
        number=37,
        version=1,
        rows=768,
        classes=2,
        features={
            "preg": "pregnancies",
            "plas": "glucose",
            "pres": "blood_pressure",
            "skin": "skin_thickness",
            "insu": "insulin",
            "mass": "bmi",
            "pedi": "pedigree",
            "age": "age",
        },
        label="class",
        labels={"tested_negative": "negative", "tested_positive": "positive"},
        sha256="6a6595c61ed21a714a930ed88af1e74c060d7708051914fc59dfeeb596067386",
        description="diabetes within five years among Pima women",
        creators=(
            "National Institute of Diabetes and Digestive and Kidney Diseases, donated by Vincent Sigillito (1990)"
        ),
        changes="columns and classes renamed; zeros that stand for missing values are left as they are",
    ),
    "boston": OpenMLTable(
        number=531,
        version=1,
        rows=506,
        classes=2,
        features={
            name: name.lower()
            for name in "CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT".split()  # noqa: SIM905
        },
        label="MEDV",
        labels={},
        sha256="9caf5d4a2fab11dbb7e80708ce7b336a31b0e84d85d4412f487979c744f432e6",
        description="whether homes of a tract of Boston cost more than in the median tract",
        creators="D. Harrison and D. L. Rubinfeld (1978), StatLib",
        changes="columns renamed; the price is replaced by whether it is above its median",
    ),
}
"""Tables without a clear license, which do not ship, by the name that `bayesclf.tables.datasets.load` takes."""


def canonical(frame: pd.DataFrame) -> str:
    """Return a table of numbers and a label as CSV that depends on nothing but its values.

    Numbers have the fewest digits that give them back, with a decimal point.
    """
    numbers = dict.fromkeys(frame.columns[:-1], float)
    return frame.astype(numbers).to_csv(index=False, lineterminator="\n")


def fetch(name: str) -> Any:
    """Fetch a data set by name or number.

    Returns
    -------
    Bunch
        As `sklearn.datasets.fetch_openml` gives it.

    Raises
    ------
    InputError
        If there is no such data set, or the network is not there.
    """
    from sklearn.datasets import fetch_openml

    if not name:
        raise InputError("openml: needs a name or a number, such as openml:credit-g or openml:31")
    which = {"data_id": int(name)} if name.isascii() and name.isdigit() else {"name": name}
    try:
        with warnings.catch_warnings(), _patience(TIMEOUT):
            # one sentence says it after the last attempt
            warnings.filterwarnings("ignore", message="A network error occurred")
            return fetch_openml(**which, as_frame=True, parser="auto", n_retries=1)
    except (ValueError, HTTPError) as error:
        raise InputError(
            f"openml:{name} cannot be used ({error}); look the data set up on openml.org and give its number"
        ) from error
    except (OSError, HTTPException) as error:
        raise InputError(
            f"openml:{name} cannot be fetched ({error}); check the network, or save the table to a file"
        ) from error


@contextlib.contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Let new connections wait that long; scikit-learn sets no limit of its own."""
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(usual)


def read_named(name: str) -> pd.DataFrame:
    """Fetch one of the `NAMED` tables, and check that it is the known one.

    Returns
    -------
    DataFrame
        Features and, last, the label column ``class``.

    Raises
    ------
    InputError
        If it cannot be fetched, or differs from the known table.
    """
    table = NAMED[name]
    try:
        bunch = fetch(str(table.number))
    except InputError as reason:
        raise InputError(
            f"{name} does not ship with bayesclf, as its license is not clear, and {reason}, "
            f"{name}.csv, in a folder that BAYESCLF_DATA names"
        ) from None
    return _renamed(name, table, bunch.frame, str(bunch.details.get("version", table.version)))


def _renamed(name: str, table: OpenMLTable, fetched: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return a fetched table with our names and labels, if it is the known one."""
    import pandas as pd

    lacking = [column for column in [*table.features, table.label] if column not in fetched]
    if lacking:
        raise _differs(name, table, f"it lacks the column{'s' * (len(lacking) > 1)} {listed(lacking)}")
    if version != str(table.version):
        raise _differs(name, table, f"it is of version {version}, not {table.version}")
    # categories of digits are numbers here
    features = {ours: pd.to_numeric(fetched[theirs].astype(str)) for theirs, ours in table.features.items()}
    found = fetched[table.label]
    if table.labels:
        label = found.astype(str).map(table.labels)
    else:
        label = (found.astype(float) > found.astype(float).median()).map({True: "high", False: "low"})
    frame = pd.DataFrame({**features, "class": label.astype("str")})
    checksum = hashlib.sha256(canonical(frame).encode()).hexdigest()
    if checksum != table.sha256:
        raise _differs(name, table, f"its cells have the checksum {checksum[:12]}…, not {table.sha256[:12]}…")
    return frame


def _differs(name: str, table: OpenMLTable, how: str) -> InputError:
    return InputError(
        f"data set {table.number} of openml.org is not the {name} that bayesclf knows: {how}; "
        f"load it as openml:{table.number}, or put {name}.csv into the folder of BAYESCLF_DATA"
    )
