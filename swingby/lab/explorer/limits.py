"""What the explorer takes and opens with: numbers that Python and the page share."""

from __future__ import annotations

from fractions import Fraction

#: Directions that the page offers, columns of U(0), and seeds of NumPy.
DIRECTIONS, COLUMNS, SEEDS = range(2, 5), 6, 200
#: Entries of a typed W(0) that are not 0, in size.
SMALLEST_ENTRY_POWER, LARGEST_ENTRY = -300, 5
#: Signals and numbers of clusters are below these.
MOST_SIGNAL, MOST_CLUSTER = 10**6, 10**3
#: The largest eta a of a map: by larger steps W leaves the identity however near it is.
LARGEST_STEP = 2
#: Signal, step size and dynamics of the first example.
FIRST_SIGNAL, FIRST_ETA, FIRST_DYNAMICS = ("4", "1", "0.25", "0.06"), Fraction("0.01"), "gd"
