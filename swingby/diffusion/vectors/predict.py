"""Half-times, order and turns of a setting before it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from swingby.diffusion.vectors.both import both_law
from swingby.diffusion.vectors.laws import Law, sim_law
from swingby.diffusion.vectors.prediction import INSIDE, VectorPrediction
from swingby.diffusion.vectors.setting import VectorSetting, require_settings


@overload
def predict_vectors(settings: VectorSetting) -> VectorPrediction: ...


@overload
def predict_vectors(settings: Sequence[VectorSetting]) -> list[VectorPrediction]: ...


def predict_vectors(
    settings: VectorSetting | Sequence[VectorSetting],
) -> VectorPrediction | list[VectorPrediction]:
    r"""What the SIM theory, or where it ends the form M, says of training.

    Where only the condition is read, the diffusion loss is :math:`\int \alpha^2 d\gamma` times
    the SIM loss (2.1) of f and a constant. One matrix then follows Theorem 4.1, :math:`U U^\top`
    the stage law, and :math:`W_2 W_1` that of :math:`U = (W_1^\top + W_2)/2`.

    Where both are read the noisy data tell the datum as well. The loss of a concept is then the
    form M of :func:`swingby.diffusion.vectors.moments.quadratic_form` in
    :math:`(1 - W_{pp}, 1 - P_{pp})`, and half-times are those of the sampled map.

    Parameters
    ----------
    settings : VectorSetting or sequence of them

    Returns
    -------
    VectorPrediction, or a list of them

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> print(predict_vectors(VectorSetting(SIMTask([1, 2], "1/20"), "linear", eta=0.1)))
    linear, reads condition: Theorem 4.1
    concept        a   half-time   error   deviation   plain SIM
    ────────────────────────────────────────────────────────────
          1   0.5025          14     2.0         0.3          14
          2    2.002           4     1.5         0.1           4
    Range of the SIM theory: inside.
    Test loss: no swing-by of 0.022 of its start.
    """
    if isinstance(settings, VectorSetting):
        return _predict(settings)
    return [_predict(one) for one in require_settings(settings)]


def _predict(setting: VectorSetting) -> VectorPrediction:
    s = setting.task.s
    plain = sim_law(setting)
    law = plain if setting.reads == "condition" else both_law(setting)
    reason = _outside(setting, law)
    told = law.name != "none" and not law.doubt
    nothing = np.full(s, np.nan)
    return VectorPrediction(
        setting=setting,
        law=law.name,
        range=reason or INSIDE,
        half_times=np.ceil(law.crossing) if told else nothing,
        error=law.error if told else nothing,
        deviation=law.deviation if told else nothing,
        rates=law.rates,
        plain=np.ceil(plain.crossing) if told and not plain.doubt else nothing,
        descents=law.descents if told else -1,
        turn=law.turn,
    )


def _outside(setting: VectorSetting, law: Law) -> str:
    if setting.reads == "both":
        return "outside: noisy data tell what the condition tells" + (
            f"; {law.doubt}" if law.doubt else ""
        )
    if law.name == "none":
        return "outside: the law is that of linear denoisers"
    return f"outside: {law.doubt}" if law.doubt else ""
