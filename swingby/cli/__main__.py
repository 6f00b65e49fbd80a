"""``python -m swingby.cli`` is ``swingby``."""

from swingby.cli import main

main()
