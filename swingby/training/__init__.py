"""Networks on the SIM task: multi-layer perceptrons trained with torch.

Say what to train with :class:`Setting` (and its parts :class:`Data`, :class:`Network`,
:class:`Optimizer`), train with :func:`train`, and look at the :class:`TrainingRun`. Points of
one's own come in through :func:`read_samples`. torch is loaded when something is trained.
"""

from swingby.training.data import read_samples
from swingby.training.result import TrainingRun
from swingby.training.run import train
from swingby.training.setting import Data, Network, Optimizer, Setting, clock, loss_factor

__all__ = [
    "Data",
    "Network",
    "Optimizer",
    "Setting",
    "TrainingRun",
    "clock",
    "loss_factor",
    "read_samples",
    "train",
]
