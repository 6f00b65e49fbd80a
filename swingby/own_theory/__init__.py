"""A theory of one's own: stated in one file, then checked, compared, tested and hunted."""

from swingby.loading import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
