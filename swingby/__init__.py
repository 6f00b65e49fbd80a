"""swingby verifies a theory of deep learning: the learning dynamics of concept learning.

From a task and (omega, eta), or an initial matrix W(0), swingby reports which assumptions hold,
predicts when each concept is learned, runs the discrete dynamics, and prints predicted against
observed. Names load on first use, so ``import swingby`` is cheap.
"""

from swingby import moved
from swingby.loading import lazily

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazily(__name__)
moved.install()
