r"""Two-layer ReLU networks: extremal vectors, early alignment, and the optimization threshold.

After "Simplicity bias and optimization threshold in two-layer networks" (Boursier and Flammarion);
docs/relu.md derives what is used. Names load on first use.
"""

from swingby.loading import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
