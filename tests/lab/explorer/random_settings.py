"""Settings of the explorer, drawn at random, with what Python says of each."""

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

import swingby
from swingby.theory import numbers
from swingby.theory.initial import initial_state
from swingby.theory.law.pivots import closed_law

#: What the page calls the outcomes of a run. One that lost a pivot on the way is a runaway.
WORDS = {
    "converged": "converged",
    "diverged": "diverged",
    "lost_psd": "runaway",
    "trapped": "trapped",
    "stopped_early": "stopped",
}


@dataclass(frozen=True)
class Setting:
    """Numbers as the address of the page holds them."""

    task: swingby.SIMTask
    eta: str
    dynamics: str
    address: str
    W0: object
    #: omega for a check of any W(0) of that scale; None: of this W(0).
    omega: str | None

    @cached_property
    def run(self):
        return swingby.simulate(self.task, self.W0, eta=self.eta, dynamics=self.dynamics)

    @property
    def word(self):
        diverged = str(self.run.outcome) == "diverged"
        return "runaway" if diverged and self.run.psd_lost is not None else WORDS[self.run.outcome]

    @cached_property
    def report(self):
        start = {"W0": self.W0} if self.omega is None else {"omega": self.omega}
        return swingby.check(self.task, **start, eta=self.eta)

    @property
    def law(self):
        """Half-times by the closed law, by concept."""
        initial = initial_state(self.W0, None, self.task.dim)
        eta, log_scale = np.array([float(Fraction(self.eta))]), np.array([initial.log_scale])
        start = (self.task.signal[None], initial.matrix[None], eta, log_scale)
        return closed_law(*start, self.dynamics)[0][0].tolist()

    @property
    def log_largest(self):
        """The logarithm of the largest omega, minus infinity where there is none."""
        largest = self.report.omega_limit
        return -math.inf if largest is None else numbers.log_of(numbers.exact(largest, "omega"))


def draw(
    count, seed=0, etas=("0.01", "0.003", "0.02", "0.001", "1/300"), least=0, most=0.4, omegas=()
):
    """Settings with two to four directions, of every dynamics, with starts of either kind.

    `least`, `most`: bounds of eta a_max. `omegas`: scales of W(0), instead of powers of ten.
    """
    rng, settings = random.Random(seed), []
    while len(settings) < count:
        setting = _draw(len(settings), rng, etas, omegas)
        if least <= max(setting.task.signal) * Fraction(setting.eta) < most:
            settings.append(setting)
    return settings


def _draw(n, rng, etas, omegas):
    d, dynamics = 2 + n % 3, ("euler", "gd", "flow")[n // 3 % 3]
    signal = [round(10 ** rng.uniform(-0.3, 0.3), 3)]
    while len(signal) < d:
        signal.append(round(signal[-1] * rng.uniform(1.3, 6 if d < 4 else 3.5), 3))
    rng.shuffle(signal)
    power = rng.choice([2, 3, 4, 6, 8, 12, 20, 40, 80, 120])
    eta = rng.choice(etas if power < 40 else etas[:2])
    if rng.random() < 0.5:
        texts = [str(a) for a in signal]
        if n % 11 == 3:
            texts[0] = "7/3"
        if n % 7 == 6:
            texts[-1] = "0"
        task, words = swingby.SIMTask.from_signal(texts), [f"a={','.join(texts)}"]
    else:
        mu = [str(round(math.sqrt(a), 3)) for a in signal]
        sigma = [rng.choice(["0", "0.05", "0.3"]) for _ in mu]
        task = swingby.SIMTask(mu, sigma)
        words = [f"mu={','.join(mu)}", f"sigma={','.join(sigma)}"]
    is_own, omega = n % 2 == 1 or n % 5 == 4, f"{rng.choice([1, 2, 5])}e-{power}"
    if omegas:
        omega, power = rng.choice(omegas), 0
    if n % 5 == 4:
        U = np.array([[rng.uniform(-1, 1) for _ in range(4)] for _ in range(d)])
        rows = (U @ U.T * 10.0 ** -min(power, 20)).tolist()
        texts = [[f"{rows[min(i, j)][max(i, j)]:.12g}" for j in range(d)] for i in range(d)]
        W0 = [[float(text) for text in row] for row in texts]
        words += ["start=typed", f"W0={';'.join(map(','.join, texts))}"]
    else:
        seed, width = rng.randrange(200), rng.choice([d, d, d + 1, 6])
        W0 = swingby.gaussian(task, omega, width=width, rng=seed)
        words += [f"omega={omega}", f"seed={seed}", *([f"width={width}"] if width != d else [])]
    words += [f"eta={eta}", f"dyn={dynamics}", *(["scope=this"] if n % 2 else [])]
    return Setting(task, eta, dynamics, "&".join(words), W0, None if is_own else omega)
