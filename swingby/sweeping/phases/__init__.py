"""Phase diagrams: what was predicted and observed over the axes of a sweep."""
