"""Networks on the SIM task: multi-layer perceptrons trained with torch.

Say what to train with :class:`Setting` (and its parts :class:`Data`, :class:`Network`,
:class:`Optimizer`), train with :func:`train`, and look at the :class:`TrainingRun`. torch is
loaded when something is trained.
"""

from swingby.training.clock import clock, loss_factor
from swingby.training.parts import Data, Network, Optimizer
from swingby.training.result import TrainingRun
from swingby.training.run import train
from swingby.training.setting import Setting

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
