"""Diffusion in concept space: points of a SIM task are the data, their coordinates the condition.

Names load on first use; those that train or sample need torch.
"""

from swingby.loading import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
