"""Files that are broken, or made to do harm: refused by name, and nothing in them is run."""

import copy
import json
import pickle

import numpy as np
import pytest

from studies.image_plan import Plan, default_plan
from studies.image_runs import run_study
from studies.image_study import Study
from swingby.errors import InvalidInput
from swingby.lab.diffusion.course import Course
from swingby.report.seals import sealed, unsealed
from tests.forked import FULL

#: What takes the place of every value in turn; MISSING: it is not there at all.
MISSING = object()
HOSTILE = (
    *(MISSING, None, True, -1, 0.5, 10**400, float("nan"), float("inf"), "x", "12", [], [[1]]),
    *({}, {"extra": 1}),
)


def refuses(call, path):
    """The one error that is allowed, with the file in it."""
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value.value) == str(path)


def deep(size):
    return "[" * size + "]" * size


def spoiled(plain):
    """The value with every part of it replaced in turn; of a list, the first part.

    By every third hostile value, which are others at the next place; by all in the full profile.
    """
    yield from HOSTILE[1:]
    places = plain.items() if isinstance(plain, dict) else enumerate(plain[:1])
    for turn, (at, part) in enumerate(places):
        some = HOSTILE[1:] if FULL else HOSTILE[1 + turn % 3 :: 3]
        changes = spoiled(part) if isinstance(part, (dict, list)) else some
        for change in (MISSING, *changes):
            whole = copy.copy(plain)
            if change is MISSING:
                del whole[at]
            else:
                whole[at] = change
            yield whole
    if isinstance(plain, dict):
        yield {**plain, "extra": 1}


def plain_study():
    plan = default_plan("tiny")
    kinds = np.zeros((2, 4, 7))
    kinds[:, :, 6] = 1
    cell, seed = plan.jobs[0]
    course = Course(cell, seed, [0, 10], np.zeros((2, 2, 2)), kinds, [3.0, 2.0])
    return Study(plan, (course,), {"swingby": "1"}).to_dict()


def test_whatever_stands_anywhere_in_a_study(tmp_path):
    """It is refused with the name of the file, or read as what it says."""
    path = tmp_path / "study.json"
    path.write_text(json.dumps(plain_study()))
    plan = Study.load(path).plan
    every = spoiled(unsealed(plain_study()))
    texts = [json.dumps(sealed(one) if isinstance(one, dict) else one) for one in every]
    texts += ["", "{", deep(100_000), '{"a":' * 100_000 + "1" + "}" * 100_000]
    # Between what json reads and what can be shown there are some levels.
    texts += [deep(size) for size in range(880, 1000, 4)]
    taken, named = 0, set()
    for text in texts:
        path.write_text(text)
        try:
            found = Study.load(path)
        except InvalidInput as error:
            named.add(error.value)
        else:
            taken += 1
            plain = json.loads(text)
            assert found.to_dict().keys() == plain.keys()
            assert found.plan == plan
            for one, said in zip(found.courses, plain["courses"], strict=True):
                assert one.to_dict().keys() == said.keys()
                for name in ("steps", "w", "kinds", "loss"):
                    assert (getattr(one, name) == np.array(said[name], dtype=float)).all()
    assert named == {path}
    assert 0 < taken < 50 < (500 if FULL else 200) < len(texts)


def test_a_plan_that_was_edited_does_not_fit_its_data():
    for name, value in (("share", 0.5), ("within", 1.5), ("name", "other")):
        plain = plain_study()
        plain["plan"][name] = value
        with pytest.raises(InvalidInput, match="edited since"):
            Study.from_dict(plain)
    text = json.dumps(unsealed(plain_study())).replace('"seed": 1000', '"seed": 7')
    with pytest.raises(InvalidInput, match="must be runs of the plan"):
        Study.from_dict(sealed(json.loads(text)))


def test_what_is_no_file_of_a_study(tmp_path, bomb):
    path = tmp_path / "study.json"
    refuses(lambda: Study.load(path), path)
    for content in (pickle.dumps(bomb), b"\xff\xfe"):
        path.write_bytes(content)
        refuses(lambda: Study.load(path), path)
    with path.open("wb") as file:
        file.truncate(300_000_000)
    refuses(lambda: Study.load(path), path)
    for wrong in (None, b"study.json", "study\0.json", tmp_path):
        with pytest.raises(InvalidInput, match=r"^path"):
            Study.load(wrong)
    refuses(lambda: Study.from_dict(plain_study()).save(tmp_path), tmp_path)


@pytest.mark.torch
@pytest.mark.parametrize("text", ["", "{", "a = " + deep(100_000), "a = 3", "folder", "missing"])
def test_a_broken_claim_to_a_folder(two_cells, tmp_path, text):
    """With data in it, a folder needs the plan they were made for."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    (tmp_path / "study.json").write_text("{}")
    path = tmp_path / "plan.toml"
    if text == "folder":
        path.mkdir()
    elif text != "missing":
        path.write_text(text)
    with pytest.raises(InvalidInput, match=r"^(plan|folder)"):
        run_study(two_cells, tmp_path)
    for wrong in (None, path / "none"):
        with pytest.raises(InvalidInput, match=r"^plan"):
            Plan.load(wrong)
