"""Made-up tables with the traits of well-known ones, as their owners keep them, and cleaned by hand."""

import numpy as np
import pandas as pd

ROWS = 240


def titanic(rng):
    """Names, tickets and cabins; ages and cabins with gaps."""
    women, fare = rng.random(ROWS) < 0.4, rng.lognormal(3, 0.8, ROWS).round(2)
    survived = (rng.random(ROWS) < 0.15 + 0.5 * women + 0.002 * np.minimum(fare, 80)).astype(int)
    clean = pd.DataFrame(
        {
            "Survived": survived,
            "Pclass": np.digitize(-fare, [-40, -15]) + 1,
            "Sex": np.where(women, "female", "male"),
            "Age": np.where(rng.random(ROWS) < 0.2, np.nan, rng.integers(1, 80, ROWS)),
            "Fare": fare,
            "Embarked": rng.choice(["S", "C", "Q"], ROWS, p=[0.7, 0.2, 0.1]),
        }
    )
    kept = clean.assign(
        PassengerId=np.arange(1, ROWS + 1),
        Name=[f'Surname{i}, {"Miss." if w else "Mr."} First "Nick{i}"' for i, w in enumerate(women)],
        Ticket=[f"A/5 {n}" if n % 3 else f"{n}" for n in rng.integers(10_000, 10_000 + 2 * ROWS, ROWS)],
        Cabin=[f"C{n}" if n < 60 else "" for n in rng.integers(0, 240, ROWS)],
    )
    return kept.to_csv(index=False), "Survived", clean


def telco_churn(rng):
    """Identifiers, and charges of new customers that are a blank."""
    months, fiber = rng.integers(0, 72, ROWS), rng.random(ROWS) < 0.4
    clean = pd.DataFrame(
        {
            "gender": rng.choice(["Female", "Male"], ROWS),
            "SeniorCitizen": rng.integers(0, 2, ROWS),
            "tenure": months,
            "InternetService": np.where(fiber, "Fiber optic", "DSL"),
            "MonthlyCharges": (50 + 30 * fiber + rng.normal(0, 5, ROWS)).round(2),
        }
    )
    clean["TotalCharges"] = (clean["MonthlyCharges"] * months).where(months > 0).round(2)
    clean["Churn"] = np.where(rng.random(ROWS) < 0.2 + 0.4 * fiber - 0.002 * months, "Yes", "No")
    total = clean["TotalCharges"].map("{:.2f}".format).where(months > 0, " ")
    names = [f"{n}-{'ABCDEFGH'[n % 8]}XYZ" for n in rng.permutation(np.arange(1000, 1000 + ROWS))]
    kept = clean.assign(TotalCharges=total)
    kept.insert(0, "customerID", names)
    return kept.to_csv(index=False), "Churn", clean


def penguins(rng):
    """Constants, dates, comments, two rows of gaps written NA, and a label with its Latin name in parentheses."""
    kind = rng.integers(0, 3, ROWS)
    clean = pd.DataFrame(
        {
            "Species": np.array(["Adelie (P. adeliae)", "Gentoo (P. papua)", "Chinstrap (P. antarctica)"])[kind],
            "Island": rng.choice(["Torgersen", "Biscoe", "Dream"], ROWS),
            "Culmen Length (mm)": (38 + 5 * kind + rng.normal(0, 3, ROWS)).round(1),
            "Body Mass (g)": 3500 + 50 * rng.integers(0, 30, ROWS) + 500.0 * (kind == 1),
            "Sex": rng.choice(["MALE", "FEMALE"], ROWS),
        }
    )
    clean.loc[[3, 200], ["Culmen Length (mm)", "Body Mass (g)", "Sex"]] = np.nan
    days = pd.date_range("2007-11-01", periods=50).strftime("%m/%d/%y")
    kept = clean.assign(Region="Anvers", Comments=np.where(kind == 9, "", "NA"))
    kept["Individual ID"] = [f"N{i}A1" for i in range(ROWS)]
    kept["Date Egg"] = days[rng.integers(0, 50, ROWS)]
    kept.loc[::40, "Comments"] = [f"Nest never observed with full clutch in week {i} of it" for i in range(6)]
    return kept.to_csv(index=False, na_rep="NA"), "Species", clean


def credit(rng):
    """A decimal comma, and gaps written NA among amounts and as a level among words."""
    income, status = rng.lognormal(4.8, 0.5, ROWS).round(1), rng.random(ROWS)
    clean = pd.DataFrame(
        {
            "Seniority": rng.integers(0, 40, ROWS),
            "Home": rng.choice(["owner", "rent", "parents", "NA"], ROWS, p=[0.5, 0.3, 0.15, 0.05]),
            "Income": np.where(rng.random(ROWS) < 0.1, np.nan, income),
            "Debt": np.where(rng.random(ROWS) < 0.7, 0.0, rng.integers(1, 30, ROWS) * 100.5),
            "Status": np.where(status < 0.1 + 0.004 * income, "good", "bad"),
        }
    )
    return clean.to_csv(index=False, na_rep="NA", sep=";", decimal=","), "Status", clean


TABLES = {own.__name__: own for own in (titanic, telco_churn, penguins, credit)}
