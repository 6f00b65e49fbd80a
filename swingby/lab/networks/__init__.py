"""Networks on the SIM task: multi-layer perceptrons trained with torch.

Say what to train with :class:`Setting` (and its parts :class:`Data`, :class:`Network`,
:class:`Optimizer`), train with :func:`train`, and look at the :class:`TrainingRun`. Points of
one's own come in through :func:`read_samples`. torch is loaded when something is trained.
"""

from swingby.lab.networks.samples import read_samples
from swingby.lab.networks.setting import Data, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.lab.networks.training_clock import clock, loss_factor
from swingby.lab.networks.training_run import TrainingRun

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
