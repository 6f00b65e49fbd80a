"""The modified field: its coefficients from rooted trees, and what two orders of it promise."""

import numpy as np
import pytest

from swingby.theory.growth import DYNAMICS
from swingby.theory.law.modified_flow import FIELDS, make_flow, remainder_on_entries
from tests.rooted_trees import modified_field, size


def f(A, W):
    B = A - (A @ W + W @ A) / 2
    return B @ W + W @ B


def first(A, W, V):
    """f'(W)[V]."""
    B, C = A - (A @ W + W @ A) / 2, -(A @ V + V @ A) / 2
    return B @ V + V @ B + C @ W + W @ C


def second(A, V, Z):
    """f''[V, Z]; the third derivative of (D.2) on W is zero."""
    C, D = -(A @ V + V @ A) / 2, -(A @ Z + Z @ A) / 2
    return C @ Z + Z @ C + D @ V + V @ D


def elementary(tree, A, W):
    parts = [elementary(branch, A, W) for branch in tree]
    if not parts:
        return f(A, W)
    if len(parts) == 1:
        return first(A, W, parts[0])
    return second(A, *parts) if len(parts) == 2 else np.zeros_like(W)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_field_is_the_series_over_trees(order, seed):
    generator = np.random.default_rng(seed)
    d, h = 3, 0.2
    a = np.sort(generator.uniform(0.2, 2, d))[::-1]
    U = generator.standard_normal((d, d)) * 0.4
    W, A = U @ U.T, np.diag(a)
    expected = sum(
        float(c) * h ** (size(tree) - 1) * elementary(tree, A, W)
        for tree, c in modified_field(order + 1).items()
    )
    # The linear part is exact in the field: its series to this order is taken out again.
    pair = a[:, None] + a
    series = sum((-h) ** k * pair ** (k + 1) / (k + 1) for k in range(order + 1))
    expected += (np.log1p(h * pair) / h - series) * W
    flow = make_flow(a[:, None], np.array([h]), np.array([order]), "euler")
    one = np.ones((d, 1))
    B = flow.drive + flow.pair * W[:, :, None]
    N = (B + flow.linear)[:, :, 0]
    found = N @ W + W @ N.T + remainder_on_entries(W[:, :, None], one, flow, B)[:, :, 0]
    assert np.allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max() + 1e-14)
    assert set(FIELDS) == set(DYNAMICS)
