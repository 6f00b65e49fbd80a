"""Networks on the SIM task: multi-layer perceptrons trained with torch.

Say what to train with :class:`Setting` (and its parts :class:`Data`, :class:`Network`,
:class:`Optimizer`), train with :func:`train`, and look at the :class:`TrainingRun`. torch is
loaded when something is trained.
"""

from swingby.training.clock import clock, loss_factor
from swingby.training.result import TrainingRun
from swingby.training.setting import Data, Network, Optimizer, Setting
from swingby.training.train import train

__all__ = [
    "Data",
    "Network",
    "Optimizer",
    "Setting",
    "TrainingRun",
    "clock",
    "loss_factor",
    "train",
]
