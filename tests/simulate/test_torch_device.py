"""Devices of torch: which are refused, when torch is loaded, and what runs on them in between.

That batches on them are right is in test_torch_batch.py.
"""

import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from swingby.simulate.batch_arguments import broadcast
from swingby.simulate.lanes.run import Stopped

from swingby.errors import InvalidInput, MissingExtra
from swingby.simulate.batch import simulate_batch
from swingby.simulate.on_torch.board import make_board
from swingby.simulate.on_torch.device import usable_device
from swingby.simulate.on_torch.look import project_null
from swingby.simulate.on_torch.piece import run_on_device
from swingby.simulate.on_torch.runs import Numbers, Runs
from swingby.simulate.on_torch.steps import BEFORE_CAPTURE, GRAPH_STEPS, captured, in_stretches

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

HAS_CUDA = torch.cuda.is_available()


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of torch wait for each other where other tests hold the processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(
    params=[
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not HAS_CUDA, reason="torch finds no CUDA device")
        ),
    ]
)
def device(request):
    return request.param


def test_null_pivots_are_projected_as_on_the_host(device):
    # The compiled projection, run by run, is the second implementation.
    from swingby.simulate import pivot_kernels
    from swingby.simulate.state import make_problem, make_state
    from swingby.theory.initial import Initial

    generator = np.random.default_rng(3)
    U = generator.standard_normal((20, 4, 2))
    W = U @ U.swapaxes(1, 2) + 1e-12 * np.eye(4)
    signals = generator.uniform(0.5, 3, (20, 4))
    order = np.argsort(-signals, axis=1)
    null = np.zeros((20, 4), dtype=np.bool_)
    np.put_along_axis(null, order[:, 2:], True, axis=1)
    null[7] = [False, True, True, True]
    rows, members = np.zeros((20, 4)), np.arange(20)
    one = rows[:, 0]
    runs = Runs(signals, one, members, null, rows, order, np.zeros(0), members, rows, one)
    numbers = Numbers(W, rows, rows, rows[:, :2], one, one, one)
    place = usable_device(device)[1]
    board = make_board(torch, place, numbers, rows.astype(np.int64), runs, members)
    project_null(torch, board)
    found = board.now.X.cpu().numpy()
    for k in range(20):
        problem = make_problem(signals[k], 0.1, "gd", null=null[k])
        state = make_state(Initial(W[k], 1), problem.point)
        pivot_kernels.project_null(problem, state, np.empty((4, 4)))
        assert np.allclose(found[k], state.X, rtol=1e-13, atol=1e-15)
        assert np.abs(found[k] - W[k]).max() > 1e-13
    assert np.array_equal(found, found.swapaxes(1, 2))


def test_a_piece_stops_between_blocks_when_asked_to(device):
    asked = []

    def stop():
        asked.append(True)
        return len(asked) == 3

    batch = broadcast([2.0, 1.0], 1e-3 * np.eye(2), 0.01, "gd").piece(0, 1)
    place = usable_device(device)[1]
    with pytest.raises(Stopped):
        run_on_device(torch, place, batch, 5000, "gd", swing=0.0, skip=False, stop=stop)
    assert len(asked) == 3


def test_nothing_is_set_for_the_whole_process(device):
    before = torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), 0.01, 10, device=device)
    assert before == (torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled())


@pytest.mark.parametrize(
    "wrong", ["gpu", "mps", "CUDA", "cuda:", "cuda:-1", "", 3, 0, True, b"cpu"]
)
def test_devices_that_do_not_exist_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r'device must be None, "cpu", "cuda"'):
        simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), 0.01, 10, device=wrong)


def test_other_devices_of_torch_are_refused():
    with pytest.raises(InvalidInput, match="got meta"):
        simulate_batch([1.0], [[0.1]], 0.01, 10, device=torch.device("meta"))


@pytest.mark.skipif(HAS_CUDA, reason="torch finds a CUDA device")
@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_missing_gpu_is_named(name):
    with pytest.raises(InvalidInput, match=f"needs a GPU that torch can use.*got {name}"):
        simulate_batch([1.0], [[0.1]], 0.01, 10, device=name)


def test_a_gpu_of_too_high_a_number_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert usable_device("cuda:1")[1] == torch.device("cuda:1")
    with pytest.raises(InvalidInput, match="one of the 2 that torch can use, got cuda:2"):
        usable_device("cuda:2")


def test_the_flow_is_refused_and_other_refusals_are_the_same(device):
    given = ([2.0, 1.0], 1e-3 * np.eye(2), 0.01, 10)
    with pytest.raises(InvalidInput, match=r"dynamics must be euler or gd on a device.*got flow"):
        simulate_batch(*given, "flow", device=device)
    with pytest.raises(InvalidInput, match="steps"):
        simulate_batch(*given[:3], 0, device=device)
    with pytest.raises(InvalidInput, match="must be positive semidefinite"):
        simulate_batch([1.0, 1.0], np.diag([1.0, -1.0]), 0.01, 10, "gd", device=device)


def test_torch_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'torch is not installed: pip install "swingby\[torch'):
        simulate_batch([1.0], [[0.1]], 0.01, 10, device="cpu")
    assert simulate_batch([1.0], [[0.1]], 0.01, 10).last_step == 10


def test_torch_is_imported_only_for_a_device():
    text = (
        "import sys, swingby; from swingby.simulate.batch import simulate_batch;"
        "simulate_batch([1.0], [[0.1]], 0.01, 10); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_stretches_are_captured_once_and_only_after_many_steps():
    taken, captures = [0], []

    def step():
        taken[0] += 1

    def capture():
        captures.append(taken[0])

        def stretch():
            taken[0] += GRAPH_STEPS

        return stretch

    advance = in_stretches(step, capture)
    total = 0
    for count in (BEFORE_CAPTURE - 1, 1, 64, 100, 31):
        advance(count)
        total += count
        assert taken[0] == total
    assert captures == [BEFORE_CAPTURE]
    refused = in_stretches(step, lambda: None)
    for _ in range(3):
        refused(BEFORE_CAPTURE)
    assert taken[0] == total + 3 * BEFORE_CAPTURE


@pytest.mark.parametrize("refuses", [False, True])
def test_a_graph_is_replayed_or_its_refusal_taken(refuses):
    calls = []

    @contextmanager
    def graph(_, stream):
        assert stream == "a stream"
        yield
        if refuses:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    fake = SimpleNamespace(
        CUDAGraph=lambda: SimpleNamespace(replay=lambda: calls.append("replay")),
        Stream=lambda: "a stream",
        graph=graph,
    )
    stretch = captured(SimpleNamespace(cuda=fake), lambda: calls.append("step"))
    assert calls == ["step"] * GRAPH_STEPS
    assert (stretch is None) == refuses
    if stretch is not None:
        stretch()
        assert calls[-1] == "replay"
