"""The one loop trains what is no SIM network too, and stops and goes on wherever it is told."""

import signal

import pytest

from swingby.training.loop import Autograd, Checkpoint, descend

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

pytestmark = pytest.mark.torch

STEPS = 40
X = torch.randn(64, 3, 8, 8, generator=torch.Generator().manual_seed(0))
LABELS = (X.mean((1, 2, 3)) > 0).float()


def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(144, 1)
        )


def batch(step):
    return torch.randint(64, (16,), generator=torch.Generator().manual_seed(step))


def loss(network, chosen):
    odds = network(X[chosen])[:, 0]
    return torch.nn.functional.binary_cross_entropy_with_logits(odds, LABELS[chosen])


class Classifier:
    """A convolution under AdamW, with a rate of its own in each step and a running mean."""

    def __init__(self, act=None):
        self.network = model()
        parameters = list(self.network.parameters())
        self.mean = [one.detach().clone() for one in parameters]
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-2)
        self.seen, self.losses = [], []
        # What is counted beside the weights; it survives a restart.
        self.count = torch.zeros(())
        extra = {f"mean{k}": one for k, one in enumerate(self.mean)} | {"count": self.count}

        def source(step):
            if act is not None:
                act(step)
            self.optimizer.param_groups[0]["lr"] = 1e-2 / (1 + step)
            return batch(step)

        self.learner = Autograd(
            torch,
            parameters,
            source,
            self.loss,
            self.optimizer,
            extra=extra,
        )
        self.optimizer.register_step_post_hook(self.average)

    def loss(self, chosen):
        self.last = loss(self.network, chosen)
        return self.last

    def average(self, *_):
        torch._foreach_lerp_(self.mean, [one.detach() for one in self.learner.parameters], 0.1)
        self.count += self.last.detach()

    def train(self, path=None, chunk=1, **named):
        kept = None if path is None else Checkpoint(path, "mine", 1e9, torch)
        return descend(
            self.learner,
            STEPS,
            take=lambda first, shown: self.losses.append((first, shown[0].tolist())),
            look=self.seen.append,
            at=(0, 7, 20, STEPS),
            checkpoint=kept,
            chunk=chunk,
            **named,
        )

    def outcome(self):
        both = [*self.learner.parameters, *self.mean, self.count]
        return [one.detach().clone() for one in both]


def plain():
    """The same by hand."""
    network = model()
    parameters = list(network.parameters())
    mean = [one.detach().clone() for one in parameters]
    optimizer, count, losses = torch.optim.AdamW(parameters), torch.zeros(()), []
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 1e-2 / (1 + step)
        error = loss(network, batch(step))
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        losses.append(float(error.detach()))
        count += error.detach()
        torch._foreach_lerp_(mean, [one.detach() for one in parameters], 0.1)
    return [one.detach() for one in (*parameters, *mean, count)], losses


@pytest.mark.parametrize("chunk", [1, 16])
def test_undisturbed_it_is_the_plain_loop(chunk):
    found, (expected, losses) = Classifier(), plain()
    assert found.train(chunk=chunk) == STEPS
    assert all(map(torch.equal, found.outcome(), expected))
    assert [one for _, part in found.losses for one in part] == losses
    assert found.seen == [0, 7, 20, STEPS]
    # A chunk ends where something is looked at.
    assert [first for first, _ in found.losses] == (
        [0, 7, 16, 20, 32] if chunk > 1 else [*range(40)]
    )


def test_stopped_early_by_a_signal_and_by_itself(tmp_path):
    def act(step):
        if step == 25:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "kept"
    first = Classifier()
    assert first.train(path, until=11) == 11
    assert first.seen == [0, 7]
    second = Classifier(act)
    with pytest.raises(KeyboardInterrupt) as caught:
        second.train(path)
    assert caught.value.__notes__ == [f"stopped at step 26; the same call goes on from {path}"]
    third, steps = Classifier(), []
    assert third.train(path, progress=steps.append) == STEPS
    assert steps[0] == 26
    assert all(map(torch.equal, third.outcome(), plain()[0]))


def test_what_goes_wrong_in_a_step_leaves_the_state_before(tmp_path):
    def act(step):
        if step == 25:
            raise ZeroDivisionError

    path = tmp_path / "kept"
    Classifier().train(path, until=11)
    whole = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        Classifier(act).train(path)
    assert path.read_bytes() == whole
    third = Classifier()
    third.train(path)
    assert all(map(torch.equal, third.outcome(), plain()[0]))
