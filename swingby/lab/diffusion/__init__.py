"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from swingby.loading import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
