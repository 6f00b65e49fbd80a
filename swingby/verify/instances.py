"""Many instances at once: their arguments, checked and side by side, and their results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.number_text import LARGEST_EXPONENT
from swingby.report.result_formats import ReadOnly
from swingby.simulate.arguments import BatchArguments, read_array, refuse_first
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Floats

#: Signals and step sizes lie between these, so that they are floats of full precision.
_SMALLEST, _LARGEST = 1e-305, 1e305
#: Logarithms of scales lie within this, as those of texts do.
_LARGEST_LOG_SCALE = LARGEST_EXPONENT * math.log(10)


class Instances(ReadOnly):
    """Results of many instances, in arrays with their axes in front."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes, those of the instances."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Length of the first leading axis."""
        if not self.shape:
            raise TypeError("one instance has no length")
        return self.shape[0]


def read_instances(
    signal: object,
    W0: object,
    eta: object,
    omega: Any,
    log_scale: object,
    dynamics: str,
    **more: Floats,
) -> tuple[dict[str, Floats], tuple[int, ...]]:
    """Checked arrays by name, with all instances along the first axis; and their leading axes."""
    if omega is not None and log_scale is not None:
        raise InvalidInput("omega and log_scale", "both", "must be given one at a time")
    scales = np.zeros(())
    if omega is not None:
        scales = np.array(numbers.log_of(numbers.positive(omega, "omega", "Assumption D.4")))
    if log_scale is not None:
        scales = read_array(log_scale, "log_scale")
        if (np.abs(scales) > _LARGEST_LOG_SCALE).any():
            requirement = f"must lie within {_LARGEST_LOG_SCALE:.0f} of 0"
            raise InvalidInput("log_scale", float(np.abs(scales).max()), requirement)
    arguments = BatchArguments.of(signal, W0, eta, log_scale=scales, **more)
    for name, source in (("signal", "Sec. 4"), ("eta", "Assumption D.2")):
        values = arguments.arrays[name]
        outside = (values != 0) & ~((values >= _SMALLEST) & (values <= _LARGEST))
        if outside.any():
            requirement = f"must lie between {_SMALLEST} and {_LARGEST}"
            raise InvalidInput(name, float(values[outside].flat[0]), requirement, source)
    if arguments.total:
        signals = arguments.arrays["signal"]
        nowhere = ("zeros only", "must have a positive entry", "Sec. 4")
        refuse_first(signals.max(axis=-1) == 0, "signal", signals.shape[:-1], *nowhere)
        arguments.check_matrices(scales, "omega" if log_scale is None else "log_scale")
        if DYNAMICS[dynamics].keeps_psd:
            arguments.check_psd(dynamics)
    return arguments.piece(0, arguments.total), arguments.shape
