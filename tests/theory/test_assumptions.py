"""Assumptions D.1 to D.5 as they are printed, inequality by inequality, copied from the paper."""

import pytest

from swingby.theory.assumptions import statements

PRINTED = {
    "D.1": "alpha <= a_k; a_k <= alpha gamma; omega <= abs(w_ij(0)); abs(w_ij(0)) <= beta omega;"
    " gamma > 1; beta > 1",
    "D.2": "eta <= 1/(9 K alpha gamma); K >= 20",
    "D.3": "P beta omega <= 2/5",
    "D.4": "omega <= min(1/sqrt(2 beta), min(1 - 1/sqrt(kappa), -1 + kappa)/(K P beta^2 d gamma));"
    " kappa > 11/10; kappa <= 1 + K/(2 C); P >= 2",
    "D.5": "(a_i + a_j)/(2 a_i) <= log(P)/(10 kappa^2 log(1/(P beta omega)) + log(P beta));"
    " a_i - 3 a_j >= alpha/C; C > 1",
}


def shown(statement):
    return "; ".join(str(condition) for condition in statement.conditions)


@pytest.mark.parametrize("statement", statements("printed"), ids=lambda one: one.id)
def test_the_printed_inequalities(statement):
    assert shown(statement) == PRINTED[statement.id]


def test_the_corrected_edition_differs_by_one_power_of_P():
    corrected = {statement.id: shown(statement) for statement in statements("corrected")}
    expected = PRINTED | {"D.4": PRINTED["D.4"].replace("K P beta", "K P^2 beta")}
    assert corrected == expected


def test_what_a_condition_ranges_over_and_what_it_is_about():
    over = {
        statement.id: [c.over for c in statement.conditions] for statement in statements("printed")
    }
    assert over["D.1"] == ["concept", "concept", "entry", "entry", "", ""]
    assert over["D.5"] == ["pair", "pair", ""]
    about = {
        statement.id: [c.about for c in statement.conditions] for statement in statements("printed")
    }
    assert about["D.1"] == ["numbers"] * 4 + ["constants"] * 2
    assert about["D.4"] == ["numbers"] + ["constants"] * 3
