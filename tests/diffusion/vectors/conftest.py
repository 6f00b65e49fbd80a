"""What all tests of training share."""

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of torch wait for each other where other tests hold the processors."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
