"""Stand-alone checkers of exported files: the standard library alone, nothing of the provers."""
