"""Tests of a theory: Hypothesis strategies, and assertions that name the lemma.

The strategies need Hypothesis: ``pip install "swingby[testing]"``. Names load on first use.
"""

from swingby.loading import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
