"""The classifier: good at every contrast, refused where it is not, and read as it was written."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput, SwingbyError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from swingby.diffusion import classifier, classifier_file  # noqa: E402
from swingby.diffusion.classifier import Classified, ConceptClassifier, accuracy  # noqa: E402
from swingby.diffusion.classifier_file import classifier_of  # noqa: E402
from swingby.diffusion.presets import TINY  # noqa: E402

pytestmark = pytest.mark.torch

NAME = "classifier.safetensors"


@pytest.fixture
def untrainable(monkeypatch):
    """Training again would be a mistake."""
    monkeypatch.setattr(classifier_file, "train_classifier", None)


@pytest.fixture
def trained(trained_folder, untrainable):
    return classifier_of(TINY, trained_folder)


@pytest.fixture
def unread(monkeypatch):
    """A preset of a moment whose classifier has learned nothing."""
    monkeypatch.setattr(classifier, "HELD_OUT_IMAGES", 5)
    return replace(TINY, pixels=8, classifier_steps=3, classifier_images=4, classifier_channels=4)


def test_right_about_new_images_at_every_contrast(trained):
    assert list(trained.accuracy) == list(TINY.contrasts)
    assert trained.good
    for contrast in TINY.contrasts:
        assert trained.accuracy[contrast] >= 0.999
        # Images that neither training nor its own test has seen, counted one by one.
        drawn = TINY.circles(contrast).draw(1000, rng=99, classes=(0, 1, 2, 3))
        told = trained.network.probabilities(torch.from_numpy(2 * drawn.pixels - 1))
        assert told.shape == (4000, 2)
        wrong = sum(
            [a > 0.5, b > 0.5] != [bool(blue), bool(small)]
            for (a, b), (blue, small) in zip(told, drawn.labels, strict=True)
        )
        assert wrong <= 4
        assert accuracy(trained.network, TINY.circles(contrast)) == trained.accuracy[contrast]


def test_the_middle_of_each_class_is_at_its_corner(trained):
    # What a perfect generator would make of the four conditions lies where the target is.
    for contrast in TINY.contrasts:
        circles = TINY.circles(contrast)
        rng = np.random.default_rng(1)
        for kind in range(4):
            told = circles.conditions(kind, 200).astype(float)
            ground = np.full((200, 3), 0.9)
            images = circles.paint(told, rng.uniform(-0.5, 0.5, (200, 2)), ground, rng=rng)
            points = trained.network.probabilities(torch.from_numpy(2 * images - 1))
            assert points.mean(0) == pytest.approx(divmod(kind, 2), abs=0.02)


def test_read_again_it_says_the_same(judge, quick, judged_by, tmp_path, untrainable):
    judged_by(tmp_path, quick, accuracy=[0.9995, 1.0])
    again = classifier_of(quick, tmp_path)
    x = torch.randn(20, 3, 8, 8)
    assert np.array_equal(again.network.probabilities(x), judge.probabilities(x))
    assert again.accuracy == {0.3: 0.9995, 0.8: 1.0}


def test_one_that_has_learned_nothing_is_refused_each_time(unread, tmp_path):
    with pytest.raises(SwingbyError, match=r"the classifier is right about 0\.\d{4} .* 0\.999"):
        classifier_of(unread, tmp_path)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(SwingbyError, match="give it more steps or images"):
        classifier_of(unread, tmp_path)
    assert (tmp_path / NAME).read_bytes() == before


@pytest.mark.parametrize("claim", [[1.0, 0.9989], [0.9989, 1.0], [0.0, 1.0]])
def test_the_worst_contrast_counts(quick, judged_by, tmp_path, claim, untrainable):
    judged_by(tmp_path, quick, accuracy=claim)
    worst = quick.contrasts[claim.index(min(claim))]
    with pytest.raises(SwingbyError, match=f"{min(claim):.4f} of held-out .* contrast {worst:g}"):
        classifier_of(quick, tmp_path)
    judged_by(tmp_path, quick, accuracy=[0.999, 1.0])
    assert classifier_of(quick, tmp_path).good


def test_training_is_reproducible_and_uses_nothing_from_outside(unread):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one = classifier.train_classifier(unread)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    other = classifier.train_classifier(unread)
    assert one.accuracy == other.accuracy
    for a, b in zip(one.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(a, b)


def test_held_out_images_are_not_those_of_training():
    sources = [TINY.circles(0.2)]
    pixels, labels = classifier._images(sources, 50, "train", "cpu")
    tested, _ = classifier._images(sources, 50, "test", "cpu")
    assert pixels.shape == (200, 3, 16, 16)
    assert -1 <= pixels.min() < -0.2 < 0.9 < pixels.max() <= 1
    known = {one.numpy().tobytes() for one in pixels}
    assert not known & {one.numpy().tobytes() for one in tested}
    assert labels.unique(dim=0).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    "change",
    [
        {"contrasts": (0.3, 0.9)}, {"contrasts": (0.3,)}, {"pixels": 16}, {"classifier_steps": 4},
        {"classifier_images": 5}, {"classifier_channels": 8},
    ],
    ids=str,
)  # fmt: skip
def test_the_file_of_another_preset_is_refused(quick, judged_by, tmp_path, change, untrainable):
    path = judged_by(tmp_path, quick)
    with pytest.raises(InvalidInput, match="must belong to these settings") as caught:
        classifier_of(replace(quick, **change), tmp_path)
    assert caught.value.value == path


def test_the_file_of_a_preset_that_is_trained_otherwise_will_do(quick, judged_by, tmp_path):
    judged_by(tmp_path, quick)
    assert classifier_of(replace(quick, steps=99, seeds=(1, 2), name="other"), tmp_path).good


def test_shares_are_counted_with_both_concepts_right():
    # A network that always says red and small is right about one class in four.
    class Stubborn(ConceptClassifier):
        def forward(self, x):
            return torch.tensor([[-1.0, 1.0]]).expand(len(x), 2)

    assert accuracy(Stubborn(4), TINY.circles(0.5)) == 0.25
    assert not Classified(Stubborn(4), {0.5: 1.0, 0.6: 0.25}).good
    assert Stubborn(4).probabilities(torch.zeros(3, 3, 8, 8)) == pytest.approx(
        np.array([[1 / (1 + np.e), 1 / (1 + 1 / np.e)]] * 3), rel=1e-6
    )
