"""``python -m swingby`` is ``swingby``."""

from swingby.cli import main

main()
