"""The theory under test: formulas against formulas, assumptions, lemmas and laws against runs.

What is expected here is written down a second time, from the paper, or is what the simulated
dynamics do. Cheap exact checks come first and what rests on them later, so that ``pytest -x``
names the statement that broke. ``pytest --hypothesis-profile=swingby-full`` draws 100 times more.
"""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import swingby
from swingby import Scaled, SIMTask, predict, simulate
from swingby.testing import (
    assert_claim,
    assert_lemmas,
    assert_stages,
    assert_windows_match_statements,
    initializations,
    satisfying,
    step_sizes,
    tasks,
    violating,
)
from swingby.theory import assumptions, dynamics, growth, initial, repaired
from swingby.theory.law import pivots
from swingby.theory.repaired import theorem_g, theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting

DYNAMICS = ("euler", "gd", "flow")
MAPS = ("euler", "gd")
EULER_GAMMA = 0.5772156649015329

each_dynamics = pytest.mark.parametrize("name", DYNAMICS)
each_map = pytest.mark.parametrize("name", MAPS)


def examples(share):
    """A share of the examples of the profile in use, the same ones in every run."""
    count = max(5, int(settings.default.max_examples * share))
    return settings(max_examples=count, deadline=None, derandomize=True)


def same(name, found, expected, rtol=1e-9, atol=0.0):
    """Fail with the name of the statement where two numbers or arrays differ."""
    __tracebackhide__ = True
    if not np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True):
        raise AssertionError(f"{name}: found {found}, expected {expected}")


def gram(seed, d):
    """A positive definite matrix."""
    U = np.random.default_rng(seed).standard_normal((d, d + 1))
    return U @ U.T


def middle(ball):
    """The middle of a ball as a float."""
    return float(ball.mid())


def log(number):
    """Natural logarithm of a rational of any size."""
    return math.log(number.numerator) - math.log(number.denominator)


def logit(level):
    return math.log(level / (1 - level))


# Sec. 2 and 4: the signal, the one-layer model


@examples(1)
@given(tasks(free=True))
def test_signal(task):
    a = [s**2 + m**2 / len(task.mu) for m, s in zip(task.mu, task.sigma, strict=True)]
    a += [Fraction(0)] * (task.dim - len(a))
    assert list(task.exact_signal) == a, "(C.13): a_p = sigma_p^2 + mu_p^2/s"
    same("(C.13), signal as floats", task.signal, [float(x) for x in a])
    same("Sec. 2.1, test point", task.test_point[: task.s], [float(m) for m in task.mu])
    assert not task.test_point[task.s :].any(), "Sec. 2.1: the test point has no free part"
    assert sorted(task.order, key=lambda k: (-a[k], k)) == list(task.order), "Sec. 4: order of a"
    points = task.test_points()
    assert len(points) == 2**task.s, "(B.1): 2^s test points"
    for index, point in points.items():
        same("(B.1), test points", point[: task.s], np.array(index) * task.test_point[: task.s])


def test_samples_of_a_task():
    task = SIMTask([1, 3], ["1/2", "1/4"])
    points, labels = task.sample(20_000, rng=0)
    for p in range(2):
        own, centre = points[labels == p], task.test_point * (np.arange(2) == p)
        same(f"Sec. 2.1, mean of cluster {p + 1}", own.mean(axis=0), centre, atol=0.02)
        same("Sec. 2.1, spread of the clusters", own.std(axis=0), [0.5, 0.25], rtol=0.02)
    moment = points.T @ points / len(points)
    same("(C.13), second moment of the data", moment, np.diag(task.signal), atol=0.03)
    found = SIMTask.from_samples(points, labels).signal
    same("Sec. 2.1, task of a sample", found, task.signal, rtol=0.02)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_theorem_4_1(d):
    # W' = (I - W) A, so that W(t) = I + (W(0) - I) exp(-A t).
    rng = np.random.default_rng(d)
    a, W0, z = rng.uniform(0.2, 3, d), rng.normal(size=(d, d)), rng.normal(size=d)
    task, times = SIMTask.from_signal(a), np.array([0.0, 0.3, 1.0, 4.0])
    expected = [(np.eye(d) + (W0 - np.eye(d)) * np.exp(-a * t)) @ z for t in times]
    same("Theorem 4.1, (4.2)", swingby.one_layer_output(task, W0, times, z), expected)
    late = swingby.one_layer_output(task, W0, 50.0)[0]
    same("Theorem 4.1, at the test point", late, task.test_point, rtol=1e-4)


# App. D: the dynamics


@each_map
@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_step(name, d):
    a, W, eta = np.random.default_rng(d).uniform(0.5, 2, d), gram(d, d) / 10, 0.05
    A, one = np.diag(a), np.eye(d)
    B = A - (A @ W + W @ A) / 2
    right = A @ W + W @ A - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2
    after = W + eta * right if name == "euler" else (one + eta * B) @ W @ (one + eta * B)
    run = simulate(SIMTask.from_signal(a), W, eta, steps=1, dynamics=name)
    same(f"(D.2), one step of {name}", run.W[-1], after)
    same("(4.1), the loss of a run", run.train_loss[0], ((W - one) ** 2 * a).sum() / 2)

    # The symbolic definitions of swingby.theory.dynamics at the same numbers.
    letters = dynamics.symbols(d)
    values = {letters[0][k, k]: a[k] for k in range(d)} | {letters[2]: eta}
    values |= {letters[1][i, j]: W[i, j] for i in range(d) for j in range(d)}

    def at(function, *indices):
        found = function(*letters[:2], *indices)
        return np.array((found * letters[2]).subs(values).tolist(), dtype=float) / eta

    def entry(function, i, j):
        return float(function(*letters[:2], i, j).subs(values))

    same("(D.2), right side", at(dynamics.right_side), right)
    same("(D.1), B = A - (AW + WA)/2", at(dynamics.drift), B)
    found = np.array(dynamics.step(name, *letters).subs(values).tolist(), dtype=float)
    same(f"(D.2), symbolic step of {name}", found, after)
    same("(4.1)", float(dynamics.loss(*letters[:2]).subs(values)), run.train_loss[0])
    for i, j in np.ndindex(d, d):
        others = [k for k in range(d) if k not in (i, j)]
        noise = sum(W[k, i] * W[k, j] * (a[i] + a[j] + 2 * a[k]) for k in others) / 2
        G = entry(dynamics.growth_term, i, j)
        N = entry(dynamics.noise_term, i, j)
        same("(D.4), growth", G, W[i, j] * (a[i] + a[j]))
        same("(D.6), noise", N, noise)
        S = entry(dynamics.suppression_term, i, j)
        same("(D.3) and (D.5), G - S - N", G - S - N, right[i, j], atol=1e-12)


@each_dynamics
def test_growth_rates(name):
    # (D.2) and (D.4) while W is small: one step of a run from W(0) of size 1e-30.
    a, eta = np.array([0.5, 3.0, 1.25]), 0.07
    expected = {
        "euler": np.log(1 + eta * np.add.outer(a, a)),
        "gd": np.add.outer(np.log(1 + eta * a), np.log(1 + eta * a)),
        "flow": eta * np.add.outer(a, a),
    }[name]
    found = growth.growth_rates(a, eta, name)
    same(f"(D.4), growth rate of {name}", found, expected)
    run = simulate(SIMTask.from_signal(a), 1e-30 * gram(1, 3), eta, steps=1, dynamics=name)
    same(f"(D.4), growth in one step of {name}", np.log(run.W[1] / run.W[0]), found, rtol=1e-8)


# App. D.1: the assumptions


def noise_limit(v, power):
    """The first term of (D.9)."""
    return min(v.kappa - 1, 1 - v.kappa**-0.5) / (v.P**power * v.K * v.gamma * v.d * v.beta**2)


def ratio_limit(v):
    """The right side of (D.10)."""
    log_phase = math.log(1 / (v.P * v.beta * v.omega))
    return math.log(v.P) / (10 * v.kappa**2 * log_phase + math.log(v.P * v.beta))


#: Every inequality of Assumptions D.1 to D.5 as printed: the smaller side, then the larger one.
TEXT = {
    "D.1": (
        lambda v: (v.alpha, "<=", v.a_k),
        lambda v: (v.a_k, "<=", v.gamma * v.alpha),
        lambda v: (v.omega, "<=", abs(v.w_ij)),
        lambda v: (abs(v.w_ij), "<=", v.beta * v.omega),
        lambda v: (1, "<", v.gamma),
        lambda v: (1, "<", v.beta),
    ),
    "D.2": (
        lambda v: (v.eta, "<=", 1 / (9 * v.K * v.gamma * v.alpha)),
        lambda v: (20, "<=", v.K),
    ),
    "D.3": (lambda v: (v.P * v.omega * v.beta, "<=", 0.4),),
    "D.4": (
        lambda v: (v.omega, "<=", min(noise_limit(v, v.power), (2 * v.beta) ** -0.5)),
        lambda v: (1.1, "<", v.kappa),
        lambda v: (v.kappa, "<=", 1 + v.K / (2 * v.C)),
        lambda v: (2, "<=", v.P),
    ),
    "D.5": (
        lambda v: ((v.a_i + v.a_j) / (2 * v.a_i), "<=", ratio_limit(v)),
        lambda v: (v.alpha / v.C, "<=", v.a_i - 3 * v.a_j),
        lambda v: (1, "<", v.C),
    ),
}


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize("label", TEXT)
@pytest.mark.parametrize("seed", range(4))
def test_assumption(label, edition, seed):
    rng = np.random.default_rng(seed)
    names = "alpha gamma beta P K kappa C eta a_i a_j a_k"
    values = {name: 1 + rng.exponential() for name in names.split()}
    values |= {"omega": 10.0 ** rng.uniform(-6, -3), "d": 3.0, "w_ij": -1e-3}
    # Either term of a minimum is the smaller one for some seed.
    values |= {"kappa": 0.5 if seed % 2 else 9.0} | ({"P": 1e-4, "K": 1e-3} if seed > 1 else {})
    point = SimpleNamespace(**values, power=1 if edition == "printed" else 2)
    statement = next(one for one in assumptions.statements(edition) if one.id == label)
    for condition, inequality in zip(statement.conditions, TEXT[label], strict=True):
        name = f"Assumption {label} ({edition}), {condition}"
        relation = condition.relation
        at = {symbol: values[str(symbol).removesuffix("(0)")] for symbol in relation.free_symbols}
        sides = [float(side.subs(at)) for side in (relation.lhs, relation.rhs)]
        small, sign, large = inequality(point)
        if relation.rel_op in (">", ">="):
            sides.reverse()
        assert relation.rel_op in (sign, sign.replace("<", ">")), f"{name}: the sign"
        same(name, sides, [small, large])


@examples(0.5)
@given(satisfying("printed"))
def test_inside_the_assumptions(setting):
    for report in (setting.check(), setting.check_numbers()):
        failing = ", ".join(report.failing)
        assert report.holds, f"Assumptions D.1 to D.5: {failing} should hold at {setting}"
        assert min(result.margin for result in report) >= -1e-12, f"{report.binding}: margin"


@pytest.mark.parametrize("label", ["D.1", "D.2", "D.4", "D.5"])
def test_just_outside_one_assumption(label):
    @examples(0.1)
    @given(violating(label))
    def check(setting):
        report = setting.check()
        found = ", ".join(report.failing)
        assert found == label, f"Assumption {label} should fail alone, not {found}: {setting}"
        assert report[label].margin <= 0, f"Assumption {label}: margin at {setting}"

    check()


# App. D.2: the lemmas as text


@examples(0.2)
@given(satisfying("printed", dim=st.integers(2, 3)))
def test_lemma_windows(setting):
    assert_windows_match_statements(setting)


# The repaired theorems as formulas


@pytest.mark.parametrize(
    "numbers",
    ["4 1 2 1/10 1/10000 4/5", "3 2 1 1/2 1/1000000000 1/2", "9 1 4 1 1/50 4/5", "5 4 2 1 1/9 3/5"],
)
def test_theorem_on_two_concepts(numbers):
    name, exact = "theorem on two concepts", [Fraction(x) for x in numbers.split()]
    a1, a2, beta, rho, omega, theta = map(float, exact)
    r, b = a2 / a1, beta * omega
    x_star = 2 * (1 + r) / (3 + r)
    K = x_star ** (1 + r) * (1 - x_star) ** ((1 - r) / 2)
    k = (beta - rho) * rho**-r * omega ** (1 - r) * (1 - b) ** (-(1 - r) / 2)
    E1 = (1 + r) / 2 * k * theta**r * (1 - theta) ** (-(1 + r) / 2)
    extra = math.log(beta / rho) / (1 - theta)
    if E1 < 1:
        # The integral over x, by quadrature over log x.
        logs = math.log(rho * omega), math.log(theta)
        late = quad(lambda L: math.exp(r * L) * (1 - math.exp(L)) ** (-(3 + r) / 2), *logs)[0]
        extra = min(extra, (1 + r) / 2 * k / (1 - E1) * late)
    setting = RepairedSetting((exact[0], exact[1]), exact[2], exact[3])
    log_omega = Fraction(math.log(omega))
    found = theorem_two.constants(setting, log_omega, exact[5])
    for letter, expected in {"r": r, "x_star": x_star, "K": K, "E1": E1, "extra": extra}.items():
        same(f"{name}, {letter}", middle(getattr(found, letter)), expected)
    same(f"{name}, k", middle(found.log_k.exp()), k)
    peak = theorem_two.log_peak(setting, log_omega)
    same(f"{name}, (a)", peak, math.log(K * k) / 2)
    base = logit(theta) - logit(rho * omega)
    times = theorem_two.time_bounds(setting, log_omega, exact[5])
    same(f"{name}, (b) and (c)", times, [(base + extra) / (2 * a1), base / (2 * a2)])
    # omega_0: the largest omega with beta omega <= 1/2 and E_1(4/5) <= 9/10.
    limit = theorem_two.log_omega_0(setting)
    reached = middle(theorem_two.constants(setting, limit).E1) / 0.9
    same(f"{name}, omega_0", max(reached, 2 * beta * math.exp(limit)), 1)


def slacks_of_theorem_R(a, beta, rho, omega, theta, E, N, M):
    """C0 to C5 of Theorem R and the times T_i at the level theta, in floats, from its statement."""
    d, spread, b = len(a), math.log(beta / rho), beta * omega
    Z = [logit(theta) + spread + max(i - 1, 0) * spread + N[i] + M[i] for i in range(d)]
    T = [(Z[i] - math.log(b)) / (2 * a[i]) for i in range(d)]
    found = [("C0", math.log(theta / b))]
    for i in range(d):
        rest = [k for k in range(d) if k != i]
        X = {j: b * math.exp(2 * a[j] * T[i]) for j in range(i + 1, d)}
        H = sum((a[i] + a[k]) * E[i, k] ** 2 for k in rest)
        kappa = 4 * math.exp(i * spread + N[i]) if i else 1
        nu = {j: (a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * math.sqrt(kappa) + a[j] for j in X}
        lost = sum((a[i] + a[k]) * theta * X[k] / (2 * a[k]) for k in X)
        for k in range(i):
            longest = 1 + max(0, Z[i] - 2 * math.log(E[i, k]))
            lost += (a[i] + a[k]) * E[i, k] ** 2 / (2 * a[i]) * longest
        found += [("C1", 2 * a[i] * theta * (1 - theta) - H), ("C5", 0.16 * a[i] - H)]
        found += [("C2'", M[i] - lost / (1 - theta))]
        if X:
            found += [("C2", N[i] - sum(nu[j] * X[j] / (2 * a[j]) for j in X))]
        for j in X:
            others, s = [k for k in rest if k != j], (1 + a[j] / a[i]) / 2
            noise = sum((a[i] + a[k]) * E[i, k] ** 2 for k in others)
            rate = theta * (a[i] - a[j]) / 2 - s / theta * noise
            source = sum((a[k] + (a[i] + a[j]) / 2) * E[i, k] * E[k, j] for k in others)
            P = theta ** (-a[j] / a[i] / 2) * math.sqrt(X[j])
            found += [("C3", rate), ("C4", E[i, j] - P - theta**-s * source / rate)]
    return sorted(found), T


@pytest.mark.parametrize("a", [(4, 1), (9, 3, 1), (5, 4, 2, 1)])
@pytest.mark.parametrize("theta", [Fraction(4, 5), Fraction(3, 5)])
def test_conditions_of_theorem_R(a, theta):
    rng, d = np.random.default_rng(len(a)), len(a)
    beta, rho, omega = Fraction(3), Fraction(1, 2), Fraction(1, 10**6)
    peaks = np.tril(rng.uniform(-4, -2, (d, d)).round(6), -1)
    peaks += peaks.T
    N, M = rng.uniform(0.05, 0.4, (2, d)).round(6)
    N[0] = 0.9  # breaks C6
    log_peaks, *bounds = (tuple(map(Fraction, row)) for row in (peaks.ravel(), N, M))
    rows = tuple(log_peaks[i * d : i * d + d] for i in range(d))
    witness = theorem_r.TheoremWitness(theta, rows, *bounds)
    setting = RepairedSetting(tuple(map(Fraction, a)), beta, rho)
    log_omega = Fraction(math.log(omega))
    slacks = [(n, middle(x)) for n, x in theorem_r.conditions(setting, log_omega, witness)]
    found = sorted((name, x) for name, x in slacks if name not in ("range", "C6"))
    numbers = (float(x) for x in (beta, rho, omega, theta))
    expected, T = slacks_of_theorem_R(a, *numbers, np.exp(peaks), N, M)
    assert [name for name, _ in found] == [name for name, _ in expected], "Theorem R: conditions"
    for (name, slack), (_, wanted) in zip(found, expected, strict=True):
        same(f"Theorem R, {name}", slack, wanted, rtol=1e-7, atol=1e-12)
    sums = [x > 0 for name, x in slacks if name == "C6"]
    assert sums == [n + m <= 1 for n, m in zip(N, M, strict=True)], "Theorem R, C6"
    same("Theorem R, (b)", theorem_r.time_bounds(setting, log_omega, witness, theta), T)
    # (c): a level above theta is kept where H_i < 2 a_i level (1 - level).
    H = [
        sum((a[i] + a[k]) * math.exp(2 * peaks[i, k]) for k in range(d) if k != i) for i in range(d)
    ]
    for level in (Fraction(9, 10), Fraction(9999, 10_000)):
        width = float(level * (1 - level))
        if all(H[i] < 2 * a[i] * width for i in range(d)):
            climb = logit(float(level)) - logit(float(theta))
            expected = [T[i] + climb / (2 * a[i] - H[i] / width) for i in range(d)]
            times = theorem_r.time_bounds(setting, log_omega, witness, level)
            same("Theorem R, (c)", times, expected)
        else:
            with pytest.raises(swingby.InvalidInput, match=r"R\.14"):
                theorem_r.time_bounds(setting, log_omega, witness, level)


def test_theorem_G():
    # [G.6]: [logit level - logit w(0) + Lambda/(1 - level)]/(2 a).
    expected = (math.log(4) - logit(1e-3) + 2.5 / 0.2) / 6
    same("Theorem G, [G.6]", theorem_g.reach_by(3.0, math.log(1e-3), -2.5), expected)


def test_theorem_R_refuses_what_is_no_witness():
    setting = RepairedSetting((Fraction(4), Fraction(1)), Fraction(2), Fraction(1))
    rows, half = ((Fraction(-3),) * 2,) * 2, (Fraction(1, 2),) * 2
    for theta, bounds in ((Fraction(1), half), (Fraction(1, 2), (-half[0], half[1]))):
        witness = theorem_r.TheoremWitness(theta, rows, half, bounds)
        found = theorem_r.failing(setting, Fraction(-20), witness)
        assert found == ("range",), "Theorem R: theta in (0, 1), N and M at least 0"


@pytest.mark.parametrize(
    ("a", "limit"), [((1, 4), 0.0825627), ((2, 1), 0.00443990), ((9, 3, 1), 7.92007e-6)]
)
def test_omega_0(a, limit):
    # Pinned: a smaller number would promise less, a larger one is not certified.
    found = repaired.largest_omega(tuple(map(Fraction, a)), Fraction(2), Fraction(1, 10))
    same("D.4', omega_0", float(found), limit, rtol=1e-5)


def test_corollary_R1():
    # Pinned: log omega_0 of the closed form.
    setting = RepairedSetting(tuple(map(Fraction, (9, 3, 1))), Fraction(2), Fraction(1, 10))
    found = theorem_r.closed_form(setting).log_omega_0
    same("Corollary R1, log omega_0", float(found), -18.8902106483)


def test_one_concept_of_the_repaired_edition():
    # The logistic from rho omega = 1/1000, and omega_0 = 1/beta.
    numbers = (Fraction(1, 100), Fraction(2), Fraction(1, 10))
    found = repaired.findings((Fraction(3),), *numbers)
    same("D.4', omega_0 of one concept", float(found.omega_0), 1 / 2)
    same("D.4', margin", found.margin, math.log10(50))
    same("logistic of one concept", found.reach_by[0], (logit(0.8) - logit(1e-3)) / 6)


# The stage law


def ldl(matrix):
    """Pivots and unit lower factor of L diag(p) L^T, in exact rationals."""
    rows, d = [[Fraction(x) for x in row] for row in matrix.tolist()], len(matrix)
    L = np.eye(d)
    for k in range(d):
        for i in range(k + 1, d):
            share = rows[i][k] / rows[k][k] if rows[k][k] else Fraction(0)
            L[i, k] = share
            rows[i] = [x - share * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([float(rows[k][k]) for k in range(d)]), L


@pytest.mark.parametrize("name", ["gd", "flow"])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_pivots(name, d):
    M, a = gram(d, d), np.linspace(2.0, 0.5, d)
    expected, L = ldl(M)
    same("stage law, exact pivots", [float(x) for x in initial.exact_pivots(M)], expected)
    task, W0 = SIMTask.from_signal(a[::-1]), Scaled(M[::-1, ::-1], "1e-60")
    start = pivots.Starts.of(task.signal, initial.initial_matrix(W0, d), 0.01, name)
    found = start.by_concept(start.log_pivots)[0]
    same("stage law, pivots by concept", found, np.log(expected[::-1]) - 60 * math.log(10))
    size = np.exp((start.log_sizes[0] + 60 * math.log(10)) / 2)
    same("stage law, columns of L", start.factors[0] * size[:, None] / size, L)


@pytest.mark.parametrize("name", ["gd", "flow"])
def test_a_concept_without_a_pivot_is_trapped(name):
    task, W0 = SIMTask.from_signal([1, 4, 2]), 1e-5 * np.ones((3, 3))
    schedule = predict(task, W0, eta=0.01, dynamics=name)
    assert schedule.trapped.tolist() == [True, False, True], "stage law: zero pivots are trapped"
    assert_stages(simulate(task, W0, 0.01, dynamics=name), schedule)


@each_dynamics
def test_a_free_direction_is_never_learned(name):
    task, W0 = SIMTask.from_signal([2, 1, 0, 0]), Scaled(gram(4, 4), "1e-5")
    schedule = predict(task, W0, eta=0.01, dynamics=name)
    assert_stages(simulate(task, W0, 0.01, dynamics=name), schedule)
    assert not schedule.trapped.any(), "stage law: a free direction is not trapped"
    assert not schedule.warnings, "stage law: free directions are not a tie"


def test_nothing_is_learned_after_a_blow_up():
    # (D.2) does not keep W semidefinite: w_22 of this start runs to minus infinity.
    W0 = 1e-4 * np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    task = SIMTask.from_signal([4, 3, 0.01])
    schedule = predict(task, W0, eta=0.02, dynamics="euler")
    run = simulate(task, W0, 0.02, dynamics="euler")
    assert run.outcome in ("diverged", "lost_psd"), "(D.2): W stays semidefinite"
    assert math.isfinite(schedule.stages.blow_up), "stage law: a negative pivot runs away"
    assert_stages(run, schedule)


def test_diagonal_start_is_one_logistic_per_concept():
    # Closed form: w' = 2 a w (1 - w) for each diagonal entry.
    a, start, t = np.array([3.0, 1.1, 2.0]), np.array([1e-3, 0.2, 1e-7]), np.linspace(0, 900, 91)
    schedule = predict(SIMTask.from_signal(a), np.diag(start), eta=0.01, dynamics="flow")
    grown = start * np.exp(2 * a * 0.01 * t[:, None])
    W = schedule.evaluate(t)[:, range(3), range(3)]
    same("stage law, logistic w_kk(t)", W, grown / (1 - start + grown), atol=1e-6)
    crossing = np.log((1 - start) / start) / (2 * a * 0.01)
    same("stage law, t_k = -log(odds)/g_kk", schedule.stages.crossing, crossing, atol=1e-4)
    same("stage law, half-times are whole steps", schedule.half_times, np.ceil(crossing))


@pytest.mark.parametrize("d", [2, 3])
def test_equal_signals_commute(d):
    # W(t) = e^{2at} W(0) (I + (e^{2at} - 1) W(0))^-1.
    W0, a, t = gram(d, d) / 400, 1.7, np.linspace(0, 600, 31)
    schedule = predict(SIMTask.from_signal([a] * d), W0, eta=0.01, dynamics="flow")
    for moment, found in zip(t, schedule.evaluate(t), strict=True):
        grown = math.exp(2 * a * 0.01 * moment)
        expected = grown * W0 @ np.linalg.inv(np.eye(d) + (grown - 1) * W0)
        same("stage law, W(t) at equal signals", found, expected, atol=1e-6)


@each_dynamics
def test_one_stage_of_a_minor_entry(name):
    # w_kj grows with a_k + a_j, peaks at w_kk = 2(a_k + a_j)/(3 a_k + a_j), then decays at
    # (a_k - a_j)/2: the composite curve with the factor (1 + x)^((1 - r)/4).
    eta, a = 1e-4, np.array([3.0, 0.5])
    g = growth.growth_rates(a, eta, name)
    r, t = g[1, 1] / g[0, 0], np.linspace(0, 60 / g[0, 0], 5001)
    W0 = [[math.exp(-20), -math.exp(-40)], [-math.exp(-40), math.exp(-60)]]
    W = predict(SIMTask.from_signal(a), W0, eta=eta, dynamics=name).evaluate(t)
    x = math.exp(-20) * np.exp(g[0, 0] * t)
    # The maps decay at the rate of the flow to within eta a, over 40 times.
    limit = {"euler": 60, "gd": 25, "flow": 0}[name] * eta + 1e-5
    same("stage law, logistic w_kk(t)", W[:, 0, 0], x / (1 + x), rtol=limit)
    column = -math.exp(-20) * np.exp((g[1, 0] - g[0, 0]) * t) * (1 + x) ** ((1 - r) / 4)
    found = W[:, 1, 0] / W[:, 0, 0]
    same("stage law, w_jk/w_kk of a minor entry", found, column, rtol=limit)
    minor = np.abs(W[:, 0, 1])
    level = 2 * (a[0] + a[1]) / (3 * a[0] + a[1])
    same("stage law, level of the peak", W[minor.argmax(), 0, 0], level, atol=0.01)
    late = np.diff(np.log(minor[t > 40 / g[0, 0]]))[0] / (t[1] - t[0])
    same("stage law, decay after the peak", late, -eta * (a[0] - a[1]) / 2, rtol=0.01)


@each_map
def test_steps_of_the_modified_flow(name):
    # To fourth order in the step size under (D.2), to third under gradient descent.
    task, W0, off = SIMTask.from_signal([1, 0.6, 0.3]), gram(2, 3) / 20, []
    for h in (0.4, 0.2):
        t = np.arange(0, round(4 / h) + 1)
        run = simulate(task, W0, h, steps=len(t) - 1, dynamics=name, record=1)
        schedule = predict(task, W0, eta=h, dynamics=name)
        same(f"W(t) of {name} at whole steps", schedule.evaluate(t), run.W, atol=1e-12)
        off.append(np.abs(schedule.stages.curves[0].evaluate(t) - run.W).max())
    order = {"euler": 4, "gd": 3}[name]
    same(
        f"modified flow of {name}, order in the step size",
        math.log2(off[0] / off[1]),
        order + 1,
        atol=0.5,
    )


@each_map
def test_one_concept_at_a_finite_step(name):
    task = SIMTask.from_signal([2])
    for start, eta in ((1e-3, 0.01), (1e-9, 0.05), (0.2, 0.002)):
        run = simulate(task, [[start]], eta, dynamics=name)
        schedule = predict(task, [[start]], eta=eta, dynamics=name)
        assert_stages(run, schedule, rtol=0, atol=0)
        limit = 5 * (2 * eta) ** 4 + 1e-6
        same(f"finite step of {name}, w(t)", schedule.evaluate(run.steps), run.W, 0, limit)


@each_dynamics
@pytest.mark.parametrize("ratio", [0.2, 0.6])
def test_a_column_at_a_finite_step(name, ratio):
    # A minor entry far too small to act back: what is left of its error is of order h^2.
    task, W0, h = SIMTask.from_signal([1, ratio]), [[2e-9, 1e-40], [1e-40, 1e-70]], 0.005
    run = simulate(task, W0, h, steps=3200, dynamics=name, record=1)
    seen = run.W[(run.W[:, 0, 0] > 0.1) & (run.W[:, 0, 0] < 0.9)]
    steps = run.steps[(run.W[:, 0, 0] > 0.1) & (run.W[:, 0, 0] < 0.9)]
    W = predict(task, W0, eta=h, dynamics=name).evaluate(steps)
    limit = {"euler": 4.8, "gd": 1.2, "flow": 0}[name] * h**2 + 1e-5
    found, expected = (np.log(w[:, 1, 0] / w[:, 0, 0]) for w in (W, seen))
    same(f"finite step of {name}, w_jk/w_kk", found, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("ratio", [0.25, 0.6])
@pytest.mark.parametrize("h", [0.02, 0.06])
def test_euler_drift_of_a_small_pivot(ratio, h):
    # The second pivot is a tenth of its entry, so that the drift of the correlation delays it.
    task, c = SIMTask.from_signal([1, ratio]), math.sqrt(0.9)
    W0 = Scaled([[1, c], [c, 1]], "1e-6")
    run = simulate(task, W0, h, dynamics="euler")
    assert_stages(run, predict(task, W0, eta=h, dynamics="euler"), rtol=5e-4)


@each_dynamics
@pytest.mark.parametrize("h", [0.002, 0.04])
def test_W_of_t_against_a_run(name, h):
    # Minor entries included, relative to their peaks.
    task, W0 = SIMTask.from_signal([1, 2.5, 6]), 1e-8 * (gram(5, 3) + 2 * np.eye(3))
    run = simulate(task, W0, h / 6, dynamics=name)
    schedule = predict(task, W0, eta=h / 6, dynamics=name)
    assert_stages(run, schedule, rtol=1e-3)
    off = np.abs(schedule.evaluate(run.steps) - run.W).max(axis=0) / np.abs(run.W).max(axis=0)
    limit = 2e-3 + (0 if name == "flow" else 5 * h * h)
    assert off.max() < limit, f"stage law, W(t) under {name}: off by\n{off}\nof the peaks"


def test_overlapping_stages_against_a_run():
    # Concepts that are learned at about the same time change each other's minor entries.
    task, W0 = SIMTask.from_signal([1, 2.5, 6]), gram(5, 3) / 100
    run = simulate(task, W0, 0.002, dynamics="flow")
    W = predict(task, W0, eta=0.002, dynamics="flow").evaluate(run.steps)
    off = np.abs(W - run.W).max(axis=0) / np.abs(run.W).max(axis=0)
    assert off.max() < 1e-3, f"stage law, overlap of stages: off by\n{off}\nof the peaks"


KINDS = ("nearly degenerate", "gaussian", "uniform")


@examples(0.4)
@given(st.data())
def test_stage_law_against_runs(data):
    task = data.draw(tasks(dim=st.integers(1, 4), ratio=(1.3, 5), free=st.integers(0, 1)))
    # A small pivot feels the overlap of stages most: omega has to be smaller still.
    kind = data.draw(st.sampled_from(KINDS if task.dim > 1 else KINDS[1:]))
    omega = "1e-30" if kind == KINDS[0] else data.draw(st.sampled_from(["1e-4", "1e-6", "1e-60"]))
    W0 = data.draw(initializations(task, kind, omega, width=task.dim + 2))
    large = step_sizes(task).filter(lambda eta: eta * max(task.exact_signal) >= Fraction(1, 1000))
    eta, name = data.draw(large), data.draw(st.sampled_from(DYNAMICS))
    schedule = predict(task, W0, eta=eta, dynamics=name)
    # Where the law says itself that it is out of its range, it says nothing of the others either.
    assume(not any("out of range" in text or "undecided" in text for text in schedule.warnings))
    assume(math.isinf(schedule.stages.blow_up))
    run = simulate(task, W0, eta, dynamics=name)
    assert_stages(run, schedule)
    off = np.abs(schedule.half_times - run.half_times) - 5 * schedule.error
    off = off[np.isfinite(off)]
    assert (off <= 1).all(), f"stage law: beyond five error bars\n{schedule}\n{run}"


@examples(0.3)
@given(st.data())
def test_invariances_of_the_stage_law(data):
    task = data.draw(tasks(dim=st.integers(2, 4), ratio=(1.2, 4)))
    W0 = data.draw(initializations(task, kind="gaussian", omega="1e-6"))
    name, d = data.draw(st.sampled_from(DYNAMICS)), task.dim
    order = data.draw(st.permutations(range(d)))
    signs = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=d, max_size=d)))

    def crossing(signal, matrix, eta):
        other = SIMTask.from_signal(signal)
        stages = predict(other, Scaled(matrix, W0.omega), eta=eta, dynamics=name).stages
        return stages.crossing

    a, M, eta = task.exact_signal, W0.matrix, 0.02 / task.signal.max()
    first = crossing(a, M, eta)
    permuted = crossing([a[k] for k in order], M[np.ix_(order, order)], eta)
    same("(D.2) does not know the order of concepts", permuted, first[list(order)], rtol=1e-6)
    flipped = crossing(a, M * np.outer(signs, signs), eta)
    same("(D.2) does not know the signs of axes", flipped, first, rtol=1e-6)
    faster = crossing([8 * x for x in a], M, eta / 8)
    same("(D.2) knows eta times a alone", faster, first, rtol=1e-6)


@pytest.mark.parametrize("name", ["gd", "flow"])
def test_gaussian_half_times(name):
    # Bartlett: pivots are tau^2 chi^2 with d' - k + 1 degrees of freedom, here 4, 3, 2.
    task, tau, eta = SIMTask.from_signal([5, 2, 1]), 1e-4, 0.01
    times = swingby.predict_gaussian(task, tau, 4, eta=eta, dynamics=name)
    g = np.diag(growth.growth_rates(task.signal, eta, name))
    psi = np.array([1, 2 - 2 * math.log(2), 0]) - EULER_GAMMA
    trigamma = np.array([math.pi**2 / 6 - 1, math.pi**2 / 2 - 4, math.pi**2 / 6])
    same("Bartlett, mean half-time", times.mean, (-math.log(2 * tau**2) - psi) / g)
    same("Bartlett, spread of the half-time", times.sd, np.sqrt(trigamma) / g)
    # chi^2 with 2 degrees of freedom exceeds 2 log(1/q) with probability q.
    q = np.array([0.05, 0.5, 0.9])
    same("Bartlett, quantiles", times.quantile(q)[:, 2], -np.log(-2 * tau**2 * np.log(q)) / g[2])
    # |xi| tau pi_k^(1/2 - g_kj/g_kk) x^((1 + r)/2) (1 + x)^(-(3 + r)/4) at x = 2(1 + r)/(1 - r).
    rng, heights = np.random.default_rng(0), times.peak_heights([0.5])
    rates = growth.growth_rates(task.signal, eta, name)
    for k, j in ((0, 1), (0, 2), (1, 2)):
        r = task.signal[j] / task.signal[k]
        x, power = 2 * (1 + r) / (1 - r), 0.5 - rates[k, j] / rates[k, k]
        drawn = np.abs(rng.standard_normal(40_000)) * tau
        drawn *= (tau**2 * rng.chisquare(4 - k, 40_000)) ** power
        expected = np.median(drawn) * x ** ((1 + r) / 2) * (1 + x) ** (-(3 + r) / 4)
        same("Bartlett, median peak of a minor entry", heights[k, j], expected, rtol=0.03)


@each_dynamics
def test_gaussian_peaks_against_runs(name):
    task, rng, seen = SIMTask.from_signal([5, 2, 1]), np.random.default_rng(0), []
    for U in 1e-4 * rng.standard_normal((40, 3, 4)):
        run = simulate(task, U @ U.T, 0.01, dynamics=name, record="none")
        seen.append([abs(peak.value) for peak in run.peaks])
    times = swingby.predict_gaussian(task, 1e-4, 4, eta=0.01, dynamics=name)
    heights = times.peak_heights([0.5])
    expected = [heights[i, j][0] for i, j in ((0, 1), (0, 2), (1, 2))]
    found = np.log(np.median(seen, axis=0))
    same("Bartlett, median peaks of runs", found, np.log(expected), atol=0.6)


# Lemmas and theorems against runs


@st.composite
def well_conditioned(draw):
    """Settings inside D.1 to D.5 that have what the lemmas need besides.

    The pivots of W(0) are not small, because its diagonal dominates, and the steps of (D.2) are
    few. Where beta leaves no room for that, or a run would take long, another one is drawn.
    """
    setting = draw(satisfying("printed", dim=st.integers(2, 3)).filter(is_quick))
    d, a = setting.task.dim, setting.task.signal
    signs = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=d, max_size=d))
    matrix = np.outer(signs, signs)
    matrix[range(d), range(d)] = 2 * (d - 1)
    matrix[0, 0] = draw(st.floats(2 * (d - 1), float(setting.beta)))
    eta = min(1 / (2 * a.max() * -log(setting.omega)), 1 / (180 * a.max()))
    return replace(setting, W0=Scaled(matrix, setting.omega), eta=eta)


def is_quick(setting):
    a = setting.task.signal
    return setting.beta >= 2 * (len(a) - 1) and a.max() / a.min() < 100


@each_map
@examples(0.2)
@given(well_conditioned())
def test_lemmas_against_runs(name, setting):
    run = simulate(setting.task, setting.W0, setting.eta, dynamics=name)
    assert_lemmas(run, setting)


@examples(0.15)
@given(satisfying("repaired", dim=st.integers(1, 3)))
def test_promises_of_the_repaired_theorems(setting):
    task, a = setting.task, setting.task.signal
    assert setting.check_numbers().holds, f"D.1', D.3' and D.4' should hold at {setting}"
    assume(setting.omega > Fraction(1, 10**200) and a.max() / a.min() < 100)
    found = repaired.findings(task.exact_signal, setting.omega, setting.beta, setting.rho)
    run = simulate(task, setting.W0, Fraction(1, 100) / max(task.exact_signal), dynamics="flow")
    name = f"theorem of the repaired edition ({found.theorem})"
    times = (run.first_reach(0.8) - 1) * float(run.eta)
    assert (times <= found.reach_by).all(), f"{name}, (b) or (c): {times} after {found.reach_by}"
    for peak in run.peaks:
        bound = found.log_peaks[peak.i, peak.j]
        size = math.log(abs(peak.value)) if peak.value else -math.inf
        assert size <= bound + 1e-9, f"{name}, (a): log |w_ij| = {size} above {bound}"


# Lines of the proofs: pytest --ledger judges all of them


@pytest.mark.parametrize("line", ["C.12", "D.41", "D.62", "Theorem two [1.9]"])
def test_lines_that_hold(line):
    assert_claim(line)


@pytest.mark.parametrize("line", ["C.13", "D.24", "D.61", "D.76"])
def test_lines_that_do_not_hold(line):
    assert_claim(line, "refuted")
