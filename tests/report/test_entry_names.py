"""Names of the entries of W past nine concepts: w_1,11 is not w_11,1, and w_11 is the first."""

import re

import numpy as np
import pytest

import swingby
from swingby.report.entry_pictures import entry_label, entry_name

TASK = swingby.SIMTask.from_signal(range(12, 0, -1))
W0 = 1e-4 * np.eye(12)


def test_names_have_a_comma_where_an_index_has_two_digits():
    assert [entry_name(0, 0), entry_name(8, 8), entry_name(0, 10)] == ["w_11", "w_99", "w_1,11"]
    assert [entry_label(0, 0), entry_label(9, 11)] == ["$w_{11}$", "$w_{10,12}$"]


@pytest.mark.parametrize(
    "text",
    [
        lambda: swingby.simulate(TASK, W0, 0.001, 5).reason,
        lambda: str(swingby.check(TASK, W0=W0, eta="1e-3")),
        lambda: str(swingby.check(TASK, omega="1e-9", eta="1e-3", edition="repaired")),
        lambda: str(swingby.predict(TASK, W0, eta=0.001)),
    ],
    ids=["reason", "check", "repaired", "predict"],
)
def test_the_twelfth_concept_is_named_apart(text):
    words = text()
    assert "w_12,12" in words
    assert not {"w_1212", "w_1111"} & set(re.split(r"[^\w,]+", words))


def test_promises_of_twelve_concepts_name_each_entry_apart():
    promised = str(swingby.check(TASK, omega="1e-90", beta=2, eta="1e-5", edition="repaired"))
    words = " ".join(promised.split())
    expected = ["w_12,12 by", "|w_1,12| <", "|w_11,12| <"]
    assert [name for name in expected if name in words] == expected
    assert not {"w_1112", "w_112"} & set(re.split(r"[^\w,]+", words))


def test_a_network_of_ten_concepts():
    task = swingby.SIMTask.from_signal(range(10, 0, -1))
    weights = [np.eye(10) / 10, np.eye(10) / 10]
    assert "w_10,10" in str(swingby.predict_network(weights, task, lr=0.001))
