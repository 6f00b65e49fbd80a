r"""The bridge to the SIM task: two ReLU layers as networks that are linear where they are aligned.

On point clusters :math:`\mu_p e_p` the input weight :math:`w_{jp}` of neuron j is passed on only
if it is positive. With :math:`a_p = \mu_p^2/s` and :math:`W_{qp} = \sum_j v_{qj} (w_{jp})_+`,

.. math:: \dot v_{qj} = \sum_p a_p (\delta_{qp} - W_{qp}) (w_{jp})_+, \qquad
          \dot w_{jp} = 1[w_{jp} > 0]\; a_p \sum_q v_{qj} (\delta_{qp} - W_{qp}).

While W is small, :math:`(w_{jp} + v_{pj})/2` grows as :math:`e^{a_p t}` where both it and
:math:`w_{jp}` are positive (the mask :math:`M_p`), and nothing else grows. A neuron is **aligned**
if it grows on at most one concept. If all are, concepts do not meet: each is one of a diagonal
W(0), and the logistic law holds with :math:`\pi_p = |z_p|^2`, z_p the growing mode on its mask.

**Otherwise** a neuron shared by p and a later q changes sides. Once p is learned, with unit vector
:math:`\hat p` on the neurons, :math:`\dot w_q = a_q M_q (v_q - \hat p\,(\hat p \cdot w_q))` and
:math:`\dot v_q = a_q w_q - a_p \hat p\,(\hat p \cdot v_q)`. Left and right eigenvectors of growth
:math:`a_q` are the z on the mask with :math:`z \cdot M_q \hat p = 0`: so :math:`z_q` is the
growing mode orthogonal to :math:`M_q z_p`, not to :math:`z_p` as among linear layers, and its pivot
is smaller. This first correction leaves out what comes next: entries of z that are negative close
their gates.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.relu.geometry import Floats
from swingby.theory import numbers


def rectified_half_times(first: object, second: object, signal: object) -> Floats:
    r"""When two ReLU layers learn each concept, from their weights at the start; nothing is fitted.

    .. math:: t_q = \frac{1}{2 a_q} \log\frac{1 - \pi_q}{\pi_q}, \qquad \pi_q = |z_q|^2,

    :math:`z_q` the growing mode :math:`(w_{jq} + v_{qj})/2` on neurons where it and :math:`w_{jq}`
    are positive, orthogonal there to the :math:`z_p` of all concepts with a larger signal.

    Parameters
    ----------
    first : array_like of shape (m, d)
        Input weights.
    second : array_like of shape (d, m)
        Output weights.
    signal : array_like of shape (d,)
        :math:`a_p = \mu_p^2/s`, positive and distinct.

    Returns
    -------
    ndarray of shape (d,)
        Times of the flow (learning rate times steps) at which :math:`W_{qq}` is 1/2; infinite
        if no neuron learns the concept, nan if the initial weights are not small.

    Notes
    -----
    Exact in the limit of a small start if each neuron grows on one concept; see docs/relu.md for
    its errors otherwise.

    Examples
    --------
    >>> from swingby.lab.relu import rectified_half_times
    >>> times = rectified_half_times([[0.01, -1], [-1, 0.01]], [[0.01, 0], [0, 0.01]], [4, 1])
    >>> times.round(3).tolist()
    [1.151, 4.605]
    """
    W1, W2 = numbers.real_array(first, "first"), numbers.real_array(second, "second")
    a = numbers.real_array(signal, "signal")
    if a.ndim != 1 or not (a > 0).all() or len(set(a.tolist())) < len(a):
        raise InvalidInput("signal", signal, "must be positive and distinct numbers")
    for name, W, shape, words in (
        ("first", W1, (len(W1), len(a)), f"(m, {len(a)})"),
        ("second", W2, W1.T.shape, f"{W1.T.shape}"),
    ):
        if W.shape != shape:
            raise InvalidInput(name, f"an array of shape {W.shape}", f"must have shape {words}")
    modes = growing_modes(W1, W2)
    times = np.full(len(a), math.inf)
    learned: list[Floats] = []
    for q in np.argsort(-a):
        z = modes[q]
        if learned:
            shared = np.array([(z > 0) * mode for mode in learned]).T
            z = z - shared @ np.linalg.lstsq(shared, z, rcond=None)[0]
        learned.append(z)
        pivot = float(z @ z)
        if pivot > 1e-12 * float(modes[q] @ modes[q]):
            times[q] = math.log((1 - pivot) / pivot) / (2 * a[q]) if pivot < 0.5 else math.nan
    return times


def growing_modes(first: Floats, second: Floats) -> Floats:
    """The growing mode of each concept on each neuron, (d, m); 0 outside its mask."""
    return np.where((first > 0) & (first + second.T > 0), (first + second.T) / 2, 0.0).T
