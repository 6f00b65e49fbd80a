"""Data of the theory figures, computed once, and a figure that costs nothing."""

import functools

import numpy as np
import pytest

from swingby.lab.figures import Criterion, Edition, Figure, Measured, catalogue
from swingby.lab.figures import make as making
from swingby.lab.figures.catalogue import figure_of
from swingby.theory.verdict import Verdict


@functools.cache
def _computed(number, edition):
    one = figure_of(number)
    chosen = next(each for each in one.editions if each.name == edition)
    return one.compute(chosen.given(quick=False), lambda share, text: None)


@pytest.fixture(scope="session")
def data_of():
    """From number and edition to the data of a figure; not to be changed in place."""
    return _computed


@pytest.fixture(scope="session")
def judged():
    """From number, data and criterion to what is measured."""
    return lambda number, data, criterion: {
        one.id: measured for one, measured in figure_of(number).judge(data)
    }[criterion]


class Toy:
    """Figures of one dot, which count how often they are computed and drawn."""

    def __init__(self):
        self.computed, self.drawn = [], []
        self.stop_at = self.fail_at = None

    def figure(self, number, *, level=1.0):
        def compute(parameters, tell):
            if number == self.stop_at:
                raise KeyboardInterrupt
            if number == self.fail_at:
                raise RuntimeError("no such\ntrajectory")
            tell(0.5, "half-way")
            self.computed.append((number, parameters["edition"]))
            return {"values": np.arange(3.0) * parameters["level"], "name": number, "never": None}

        def judge(data):
            holds = data["values"][1] == 1.0 and data["name"] == number and data["never"] is None
            verdict = Verdict.HOLDS if holds else Verdict.FAILS
            return Measured(f"{data['values'][1]:g}", verdict, "Because.", {"one": 1})

        def draw(data, title):
            from swingby.report.pictures import new_figure

            self.drawn.append(number)
            return new_figure(0.2, 0.2)

        editions = tuple(
            Edition(name, {"edition": name, "level": level}, "a note", {"level": 2.0})
            for name in ("caption", "code")
        )
        criterion = Criterion("one", "One is one.", "1", "exactly", judge)
        about = (number, "a dot", "A claim.", "Sec. 0")
        return Figure(*about, editions, compute, (criterion,), draw)


@pytest.fixture
def toy(monkeypatch):
    """Figures 1 and 2 in place of the paper's."""
    toys = Toy()
    toys.figures = [toys.figure("1"), toys.figure("2")]

    def chosen(only, editions):
        return tuple((one, edition) for one in toys.figures for edition in one.editions)

    for module in (catalogue, making):
        monkeypatch.setattr(module, "chosen", chosen)
    return toys
