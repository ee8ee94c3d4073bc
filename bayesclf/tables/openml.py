"""Tables from openml.org: any by name or number, and two without a clear license that have a name of their own."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

from bayesclf.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

UNCLEAR = "unclear"
"""The license of a table whose terms are not known."""


@dataclass(frozen=True)
class OpenMLTable:
    """A data set of openml.org, under the column names of this package.

    Attributes
    ----------
    number
        Its number, which belongs to one version.
    rows
        The number of rows.
    features
        Our names of its columns, in their order; all are numbers. The label comes after them.
    description, creators, changes
        What it is, who made it, and what is changed.
    """

    number: int
    rows: int
    features: tuple[str, ...]
    description: str
    creators: str
    changes: str

    @property
    def source(self) -> str:
        """Where it comes from."""
        return f"https://www.openml.org/d/{self.number}"


NAMED = {
    "pima": OpenMLTable(
        37,
        768,
        ("pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi", "pedigree", "age"),
        "diabetes within five years among Pima women",
        "National Institute of Diabetes and Digestive and Kidney Diseases, donated by Vincent Sigillito (1990)",
        "columns and classes renamed; zeros that stand for missing values are left as they are",
    ),
    "boston": OpenMLTable(
        531,
        506,
        ("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "b", "lstat"),
        "whether homes of a tract of Boston cost more than in the median tract",
        "D. Harrison and D. L. Rubinfeld (1978), StatLib",
        "columns renamed; the price is replaced by whether it is above its median",
    ),
}
"""Tables that do not ship, by the name that `bayesclf.tables.datasets.load` takes; each has two classes."""


def fetch(name: str) -> Any:
    """Return a data set by name or number, as `sklearn.datasets.fetch_openml` gives it.

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
        return fetch_openml(**which, as_frame=True, parser="auto", n_retries=0)
    except (ValueError, HTTPError) as error:
        reason = f"cannot be used ({error}); look the data set up on openml.org and give its number"
        raise InputError(f"openml:{name} {reason}") from error
    except (OSError, HTTPException) as error:
        reason = f"cannot be fetched ({error}); check the network, or save the table to a file"
        raise InputError(f"openml:{name} {reason}") from error


def read_named(name: str) -> pd.DataFrame:
    """Return the features of one of the `NAMED` tables and, last, its label column ``class``.

    Raises
    ------
    InputError
        If it cannot be fetched, or does not have the rows and columns of the known table.
    """
    import pandas as pd

    table = NAMED[name]
    try:
        frame = fetch(str(table.number)).frame
    except InputError as reason:
        raise InputError(
            f"{name} does not ship with bayesclf, as its license is not clear, and {reason}, "
            f"{name}.csv, in a folder that BAYESCLF_DATA names"
        ) from None
    if frame.shape != (table.rows, len(table.features) + 1):
        raise InputError(
            f"data set {table.number} of openml.org is not the {name} that bayesclf knows; load it as "
            f"openml:{table.number}, or put {name}.csv into the folder of BAYESCLF_DATA"
        )
    *features, label = (column for _, column in frame.items())
    if pd.api.types.is_numeric_dtype(label):
        label = (label > label.median()).map({True: "high", False: "low"})
    # categories of digits are numbers here
    numbers = {ours: pd.to_numeric(own.astype(str)) for ours, own in zip(table.features, features, strict=True)}
    return pd.DataFrame({**numbers, "class": label.astype("str").str.removeprefix("tested_")})
