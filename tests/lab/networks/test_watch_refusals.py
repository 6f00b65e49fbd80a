"""What `swingby.watch` refuses, with the line to type; and grades, with their reason."""

import re

import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, mse, points

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.torch


def training(model=None):
    """A model and its optimizer."""
    model = chain(4, 8, 3) if model is None else model
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


X, Y = points()
LOADER = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y))
MODEL, OPTIMIZER = training()
OTHER, OTHER_OPTIMIZER = training()
SCHEDULER = torch.optim.lr_scheduler.StepLR(OPTIMIZER, 10)
GOOD = {"model": MODEL, "optimizer": OPTIMIZER, "X": X, "Y": Y}
COLUMN = chain(4, 8, 1)

#: What is given in place of good arguments, and what the message says.
REFUSALS = {
    "swapped": ({"model": OPTIMIZER, "optimizer": MODEL}, "watch(model, optimizer, X, Y)"),
    "a class": ({"model": nn.ReLU}, "not a class: ReLU()"),
    "no module": ({"model": lambda x: x}, "model must be a torch.nn.Module"),
    "a scheduler": ({"optimizer": SCHEDULER}, "watch(model, optimizer, X, Y, schedule=scheduler)"),
    "parameters": ({"optimizer": list(MODEL.parameters())}, "torch.optim.SGD(model.parameters()"),
    "of another": (
        {"optimizer": OTHER_OPTIMIZER},
        "must hold parameters of the model, and holds none: torch.optim.SGD(model.parameters(),",
    ),
    "X and Y": ({"X": Y, "Y": X}, "X and Y are swapped"),
    "rows": ({"Y": Y[:50]}, "Y must have a row for each of the 60 rows of X, got 50 rows"),
    "inputs": ({"X": X[:, :2]}, "X is refused by the model"),
    "outputs": (
        {"Y": Y[:, :2]},
        "Y must have the shape of the outputs, (60, 3), got shape (60, 2)",
    ),
    "a column": (
        {"model": COLUMN, "optimizer": training(COLUMN)[1], "Y": Y[:, 0]},
        "Y must have the shape of the outputs, (60, 1): Y[:, None]",
    ),
    "classes": ({"Y": torch.arange(60) % 3}, "torch.nn.functional.one_hot(Y).to(X)"),
    "float32": ({"X": X.float()}, "must be of the floats of the model: X.to(torch.float64)"),
    "a loader": ({"X": LOADER}, "torch.cat([x for x, _ in loader])"),
    "nan": ({"X": X * np.nan}, "X must be finite"),
    "nothing": ({"X": X[:0]}, "X must have a row for each point"),
    "text": ({"X": "points.npz"}, "X must be an array, not text"),
    "constant": ({"Y": torch.ones_like(Y) * 0}, "Y must depend on X"),
    "loss tensor": ({"loss": mse(X, X)}, "must be the function of (outputs, targets)"),
    "loss class": ({"loss": nn.MSELoss}, "not a class: MSELoss()"),
    "loss word": ({"loss": "mae"}, 'must be "mse", "sum", "half" or the function'),
    "loss number": ({"loss": 3}, "must be a function of (outputs, targets)"),
    "reduction": ({"loss": nn.MSELoss(reduction="none")}, 'reduction="mean" or "sum"'),
    "loss of one": ({"loss": lambda outputs: outputs.sum()}, "must take (outputs, targets)"),
    "level": ({"level": 1.5}, "level must be between 0 and 1, got 1.5"),
    "level 0": ({"level": 0}, "level must be positive, got 0"),
    "at": ({"at": [1.5]}, "at must be a whole number, got 1.5"),
    "at text": ({"at": "100"}, "at must be steps: at=(100, 1000)"),
    "schedule": ({"schedule": 0.01}, "lambda step: 0.01 * 0.999**step"),
    "two rates": ({"schedule": lambda step: [1.0, 2.0]}, "or one for each of 1 groups"),
    "plateau": (
        {"schedule": torch.optim.lr_scheduler.ReduceLROnPlateau(OPTIMIZER)},
        "is not known ahead: without it, forecasts are made again at each change",
    ),
    "other schedule": (
        {"schedule": torch.optim.lr_scheduler.StepLR(OTHER_OPTIMIZER, 3)},
        "must be of this optimizer",
    ),
    "steps": ({"steps": 0}, "steps must be at least 1"),
    "misnamed": ({"lr": 0.1}, "lr is not an argument of watch"),
    "no parameters": ({"model": nn.ReLU()}, "model must have parameters"),
    "lazy": ({"model": nn.LazyLinear(3)}, "call model(X) once"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_leads_on(name):
    given, words = REFUSALS[name]
    arguments = {**GOOD, **given}
    if name == "lazy":
        arguments["optimizer"] = torch.optim.SGD(arguments["model"].parameters(), lr=0.1)
    with pytest.raises(swingby.InvalidInput, match=re.escape(words)):
        swingby.watch(**arguments)
    assert not OPTIMIZER._optimizer_step_post_hooks


def test_arrays_and_lists_are_data_like_tensors():
    model, optimizer = training(chain(4, 8, 3, dtype=torch.float32))
    of_arrays = swingby.watch(model, optimizer, X.numpy(), Y.tolist())
    of_tensors = swingby.watch(model, optimizer, X.float(), Y.float())
    assert str(of_arrays) == str(of_tensors)


class Hidden(nn.Module):
    """Dropout, or a constant in training, inside a forward."""

    def __init__(self, what):
        super().__init__()
        self.layer, self.what = nn.Linear(4, 3), what

    def forward(self, x):
        outputs = self.layer(x)
        if self.what == "dropout":
            return nn.functional.dropout(outputs, 0.5, self.training)
        return outputs + (1.0 if self.training else 0.0)


class Counting(nn.Module):
    """Counts its calls in a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.layer(x)


class Uncopied(nn.Module):
    """Holds a tensor with a history, as old weight_norm does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.twice = 2 * self.layer.weight

    def forward(self, x):
        return self.layer(x)


def sequence(*modules):
    return nn.Sequential(nn.Linear(4, 8), *modules, nn.Linear(8, 3)).double()


SGD = torch.optim.SGD
#: A model, a kind of optimizer with its settings, the grade and its reason.
GRADES = {
    "activation": (
        lambda: nn.Sequential(nn.Linear(4, 8, bias=False), nn.ReLU(), nn.Linear(8, 3, bias=False)),
        (SGD, {}),
        ("copy", "1 is ReLU, which is not linear"),
    ),
    "Flatten": (
        lambda: nn.Sequential(nn.Flatten(), *chain(4, 8, 3)),
        (SGD, {}),
        ("copy", "0 is Flatten: the law is for X.flatten(1) and a model without it"),
    ),
    "bias": (sequence, (SGD, {}), ("copy", "layer 0 has a bias")),
    "Adam": (
        lambda: chain(4, 8, 3),
        (torch.optim.Adam, {}),
        ("copy", "the optimizer is Adam, not SGD"),
    ),
    "Dropout": (
        lambda: sequence(nn.Dropout(0.1)),
        (SGD, {}),
        ("none", "1 is Dropout, which is random in training"),
    ),
    "BatchNorm": (
        lambda: sequence(nn.BatchNorm1d(8)),
        (SGD, {}),
        ("none", "1 is BatchNorm1d, which has a memory"),
    ),
    "GroupNorm": (
        lambda: sequence(nn.GroupNorm(2, 8)),
        (SGD, {}),
        ("copy", "layer 0 has a bias"),
    ),
    "hidden dropout": (
        lambda: Hidden("dropout"),
        (SGD, {}),
        ("none", "the outputs of the model are random in training"),
    ),
    "two modes": (
        lambda: Hidden("constant"),
        (SGD, {}),
        ("none", "the model computes something else in training than in evaluation"),
    ),
    "a counter": (Counting, (SGD, {}), ("none", "the buffers of the model change when it is")),
    "no copy": (
        Uncopied,
        (SGD, {}),
        (
            "none",
            "the model cannot be copied: Uncopied (RuntimeError: Only Tensors created explicitly",
        ),
    ),
    "no copy within": (
        lambda: sequence(nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)))),
        (SGD, {}),
        (
            "none",
            "the model cannot be copied: 1.0 (Linear) (RuntimeError: Only Tensors created explic",
        ),
    ),
    "RMSprop": (
        lambda: chain(4, 8, 3),
        (torch.optim.RMSprop, {}),
        ("none", "no coarse form of the steps of RMSprop is known"),
    ),
    "amsgrad": (
        lambda: chain(4, 8, 3),
        (torch.optim.Adam, {"amsgrad": True}),
        ("none", "the optimizer has amsgrad=True"),
    ),
    "maximize": (
        lambda: chain(4, 8, 3),
        (SGD, {"maximize": True}),
        ("none", "the optimizer has maximize=True"),
    ),
    "dampening": (
        lambda: chain(4, 8, 3),
        (SGD, {"momentum": 0.9, "dampening": 0.5}),
        ("none", "the optimizer has dampening=0.5"),
    ),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm")
@pytest.mark.parametrize("name", GRADES)
def test_a_grade_has_its_reason(name):
    make, (kind, settings), (grade, reason) = GRADES[name]
    model = make().double()
    if name == "no copy":
        model.twice = 2 * model.layer.weight
    optimizer = kind(model.parameters(), lr=1e-3, **settings)
    watch = swingby.watch(model, optimizer, X, Y, steps=2000)
    assert watch.grade == grade
    assert watch.reason.startswith(reason)
    assert watch.reason in " ".join(str(watch).split())
    # What has been learned is told in any grade.
    for _ in range(3):
        optimizer.zero_grad()
        mse(model(X), Y).backward()
        optimizer.step()
    assert watch.step == 3
    assert watch.notes == ()
    assert len(watch.steps) == 4


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ([{"lr": 0.02}, {}], "parameter groups have settings of their own"),
        ([{}], "not all layers are trained"),
    ],
)
def test_a_chain_that_is_not_trained_alike_is_copied(settings, reason):
    model = chain(4, 8, 3)
    groups = [
        {"params": [layer.weight], **own} for layer, own in zip(model, settings, strict=False)
    ]
    watch = swingby.watch(model, SGD(groups, lr=0.01), X, Y, steps=2000)
    assert (watch.grade, watch.reason) == ("copy", reason)


def test_foreign_parameters_leave_no_forecast():
    model, other = chain(4, 8, 3), chain(4, 8, 3)
    optimizer = SGD([*model.parameters(), *other.parameters()], lr=0.01)
    watch = swingby.watch(model, optimizer, X, Y)
    assert watch.grade == "none"
    assert watch.reason == "the optimizer also trains 2 tensors that are not of the model"


@pytest.mark.parametrize(
    "loss", [nn.HuberLoss(), nn.L1Loss(), lambda F, T: mse(F[:, :2], T[:, :2])]
)
def test_a_loss_that_is_no_square_is_copied(loss):
    model, optimizer = training()
    watch = swingby.watch(model, optimizer, X, Y, loss=loss, steps=2000)
    assert (watch.grade, watch.reason) == (
        "copy",
        "the loss is not a multiple of the squared error",
    )
    assert watch.falls is None


def test_adam_in_minibatches_is_withdrawn_at_the_first_step():
    model = chain(4, 8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    watch = swingby.watch(model, optimizer, X, Y, steps=2000)
    assert watch.grade == "copy"
    optimizer.zero_grad()
    mse(model(X[:20]), Y[:20]).backward()
    optimizer.step()
    assert watch.grade == "none"
    assert watch.reason == "Adam in minibatches: its second moment holds their noise"
    assert watch.forecasts[0].void_from == 1
