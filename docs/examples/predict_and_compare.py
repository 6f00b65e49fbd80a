"""Predict the stages of Fig. 8's caption, run them, and compare.

Pinned number: under gd concept 3, the first one, is half learned at step 430. Its pivot is w_33(0)
itself, so logit(1/2) - logit(w_33(0)) over the growth 2 log(1 + eta a_3) per step, less the
finite-step shift of (3/4) log 2 steps, gives 429.5: the first whole step is 430.
"""

import math
from pathlib import Path

import swingby

PINNED = 430

task = swingby.SIMTask(mu=[1, "3/2", "11/5"], sigma=["1/20"] * 3)
W0 = swingby.gaussian(task, omega="1e-6", rng=0)

table = swingby.compare(task, W0, eta="0.01", dynamics="gd")
print(table)

table.to_csv("stages.csv")
table.save_picture("stages.png")
print("written:", ", ".join(sorted(path.name for path in Path().glob("stages.*"))))

w, growth = W0[2, 2], 2 * math.log1p(0.01 * task.signal[2])
by_hand = math.log((1 - w) / w) / growth - 0.75 * math.log(2)
print(f"concept 3 by hand: {by_hand:.1f}")
predicted, observed = table.schedule.half_times[2], table.run.half_times[2]
if not predicted == observed == math.ceil(by_hand) == PINNED:
    raise SystemExit(f"expected {PINNED}: {predicted}, {observed}, {by_hand}")
