"""The data sets that scikit-learn ships, as far as a list of them goes."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.tables import shipped


@dataclass(frozen=True)
class SklearnSet:
    """What is known of a set without loading it."""

    rows: int
    columns: int
    classes: int
    description: str
    creators: str


LICENSE = shipped.CC_BY
"""What the UCI repository, from which all of them are, gives them under."""

SETS = {
    "iris": SklearnSet(
        150, 5, 3, "three species of iris by the size of their sepals and petals (Fisher 1936)", "R. A. Fisher (1936)"
    ),
    "wine": SklearnSet(
        178,
        14,
        3,
        "three cultivars of wine by chemical analysis (Aeberhard and Forina 1991)",
        "Stefan Aeberhard and M. Forina (1991)",
    ),
    "breast_cancer": SklearnSet(
        569,
        31,
        2,
        "Wisconsin breast cancer: malignant or benign by the shape of cell nuclei",
        "William H. Wolberg, W. Nick Street and Olvi L. Mangasarian (1993)",
    ),
    "digits": SklearnSet(
        1797,
        65,
        10,
        "handwritten digits as pictures of 8 x 8 pixels (test part of UCI optdigits)",
        "Ethem Alpaydin and Cenk Kaynak (1998)",
    ),
}
