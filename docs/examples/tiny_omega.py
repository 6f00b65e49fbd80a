"""A run from omega = 1e-400, far below the float range, and what it costs.

Pinned number: under the flow concept 2 (a = 1) is half learned at step 46032. The pivots of
[[2, 1], [1, 2]] are 2 and 3/2, so t_2 = log(10^400/1.5)/(2 eta) = 46031.4 without overlap, and the
overlap of the stages is below one step at this omega.
"""

import math

import swingby

PINNED = 46032

task = swingby.SIMTask.from_signal([4, 1])
W0 = swingby.Scaled([[2, 1], [1, 2]], "1e-400")

schedule = swingby.predict(task, W0, eta="0.01", dynamics="flow")
run = swingby.simulate(task, W0, eta="0.01", dynamics="flow", record="log")
print(run)
print(f"{run.executed_steps} of {run.last_step} steps computed")

report = swingby.check(task, W0=W0, eta="0.001")
print(f"Assumptions D.1 to D.5: {report.verdict}")

by_hand = (400 * math.log(10) - math.log(1.5)) / (2 * 0.01)
print(f"concept 2 by hand: {by_hand:.1f}")
predicted, observed = schedule.half_times[1], run.half_times[1]
if not predicted == observed == math.ceil(by_hand) == PINNED:
    raise SystemExit(f"expected {PINNED}: {predicted}, {observed}, {by_hand}")
