"""Certificates made the slow way: a second implementation, which shares no code with the package.

It follows the matrices as printed, B = A - (A W + W A) / 2, first in fractions and then with mpmath
at 400 digits, and compares numbers at 100 digits.
"""

import copy
import hashlib
import json
from fractions import Fraction
from itertools import combinations
from itertools import product as product_of

import mpmath

LEVELS = ("1/10", "1/2", "4/5", "99/100")
DIGITS = 400


def product(X, Y):
    size = range(len(X))
    return [[sum(X[i][k] * Y[k][j] for k in size) for j in size] for i in size]


def printed_step(dynamics, a, eta, W):
    """(D.2), or (I + eta B) W (I + eta B), with the matrices written out."""
    size = range(len(a))
    A = [[a[i] if i == j else 0 * a[i] for j in size] for i in size]
    AW, WA = product(A, W), product(W, A)
    B = [[A[i][j] - (AW[i][j] + WA[i][j]) / 2 for j in size] for i in size]
    if dynamics == "euler":
        BW, WB = product(B, W), product(W, B)
        return [[W[i][j] + eta * (BW[i][j] + WB[i][j]) for j in size] for i in size]
    C = [[(1 if i == j else 0) + eta * B[i][j] for j in size] for i in size]
    return product(product(C, W), C)


def real(number):
    if isinstance(number, Fraction):
        return mpmath.mpf(number.numerator) / number.denominator
    return number


def sign(x, y, scale=1):
    """The sign of x - y: exact for fractions; of floats it has to be clear by 100 digits."""
    if isinstance(x, Fraction | int) and isinstance(y, Fraction | int):
        return (x > y) - (x < y)
    gap = real(x) - real(y)
    assert abs(gap) > mpmath.mpf(10) ** -100 * abs(real(scale)), "the reference cannot decide"
    return 1 if gap > 0 else -1


def first(values, wanted):
    """The first place of a value that is wanted, or None."""
    return next((t for t, value in enumerate(values) if wanted(value)), None)


def fraction(number):
    if isinstance(number, Fraction | int):
        return Fraction(number)
    negative, mantissa, exponent, _ = mpmath.mpf(number)._mpf_
    return (-1) ** negative * int(mantissa) * Fraction(2) ** int(exponent)


def round_to(value, up):
    """25 digits by integer division; value > 0."""
    exponent = 0
    while value >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while value < Fraction(10) ** exponent:
        exponent -= 1
    scaled = value / Fraction(10) ** (exponent - 24)
    digits = -(-scaled.numerator // scaled.denominator) if up else scaled // 1
    if digits == 10**25:
        digits, exponent = 10**24, exponent + 1
    text = str(digits)
    mantissa = (text[0] + "." + text[1:]).rstrip("0").rstrip(".")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def enclose(number):
    v = fraction(number)
    if v == 0:
        return ["0", "0"]
    small = Fraction(1, 10**40)
    ends = [round_to(abs(v) * (1 - small), False), round_to(abs(v) * (1 + small), True)]
    return ends if v > 0 else ["-" + ends[1], "-" + ends[0]]


def determinant(N):
    if not N:
        return 1
    return sum(
        (-1) ** j * N[0][j] * determinant([row[:j] + row[j + 1 :] for row in N[1:]])
        for j in range(len(N))
    )


def is_semidefinite(W):
    """All principal minors are >= 0; of floats, those below 1e-60 of their diagonal count as 0."""
    size = range(len(W))
    for count in range(1, len(W) + 1):
        for rows in combinations(size, count):
            minor = determinant([[W[i][j] for j in rows] for i in rows])
            if isinstance(minor, Fraction):
                if minor < 0:
                    return False
                continue
            scale = mpmath.fprod(abs(W[i][i]) for i in rows)
            if minor < -(mpmath.mpf(10) ** -60) * scale:
                return False
    return True


def blocks_of(W0):
    size = len(W0)
    reach = [[i == j or W0[i][j] != 0 for j in range(size)] for i in range(size)]
    for k in range(size):
        for i in range(size):
            for j in range(size):
                reach[i][j] = reach[i][j] or (reach[i][k] and reach[k][j])
    return reach


def sealed(certificate):
    body = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {**body, "digest": hashlib.sha256(text.encode("utf-8")).hexdigest()}


def reference(dynamics, signal, eta, W0, steps):
    """A complete certificate, made the slow way."""
    with mpmath.workdps(DIGITS):
        return sealed(unsealed_reference(dynamics, signal, eta, W0, steps))


def unsealed_reference(dynamics, signal, eta, W0, steps):
    a, eta_ = [Fraction(x) for x in signal], Fraction(eta)
    W = [[Fraction(x) for x in row] for row in W0]
    start, size = W, range(len(a))
    run = [W]
    exact = True
    for _ in range(steps):
        if exact and max(max(abs(x.numerator), x.denominator) for r in W for x in r) >= 2**15000:
            exact, a_, e_ = False, [real(x) for x in a], real(eta_)
            W = [[real(x) for x in row] for row in W]
        new = printed_step(dynamics, a, eta_, W) if exact else printed_step(dynamics, a_, e_, W)
        if exact and new == W:  # at rest
            run += [W] * (steps + 1 - len(run))
            break
        W = [
            [0 if start_zero(start, i, j) and not exact else new[i][j] for j in size] for i in size
        ]
        run.append(W)
    together = blocks_of(start)
    negative = {
        k: first(run, lambda W, k=k: W[k][k] < 0) for k in size if dynamics == "euler" and a[k] > 0
    }
    passages = {level: [] for level in LEVELS}
    for level, k in product_of(LEVELS, size):
        t = first(run, lambda W, k=k, level=level: sign(W[k][k], Fraction(level)) >= 0)
        never = not any(start[k]) or (dynamics == "euler" and a[k] == 0)
        never = t is None and (never or negative.get(k) is not None)
        before = enclose(run[t - 1][k][k]) if t else None
        at = None if t is None else enclose(run[t][k][k])
        passages[level].append({"step": t, "before": before, "at": at, "never": never})
    distances = [
        sum((W[i][j] - (1 if i == j else 0)) ** 2 for i in size for j in size) for W in run
    ]
    low, high = min(a), max(a)
    rho = max(abs(1 - 2 * eta_ * low), abs(1 - 2 * eta_ * high))
    converges = None
    if low > 0 and rho < 1:
        radius = (1 - rho) / (4 * eta_ * high * (1 + eta_ * high * (dynamics == "gd")))
        t = first(distances, lambda square: sign(square, radius**2) <= 0)
        if t is not None:
            distance = enclose(mpmath.sqrt(real(distances[t])))
            converges = {"step": t, "distance": distance}
            converges |= {"radius": str(radius), "rate": str((1 + rho) / 2)}
    peaks = []
    for i, j in combinations(size, 2):
        best = 0
        for t, W in enumerate(run):
            new, old = abs(W[i][j]), abs(run[best][i][j])
            best = t if sign(new, old, max(real(new), real(old))) > 0 else best
        value = run[best][i][j]
        smaller = converges is not None and real(distances[-1]) < real(value) ** 2
        forever = bool(smaller or not together[i][j])
        record = {"i": i + 1, "j": j + 1, "step": best, "value": enclose(value)}
        peaks.append(record | {"for_all_time": forever})
    if dynamics == "gd":
        lost = None if is_semidefinite(start) else 0
    else:
        lost = first(run, lambda W: not is_semidefinite(W))
    return {
        "format": "swingby certificate 1",
        "made_by": "reference",
        "dynamics": dynamics,
        "signal": list(signal),
        "eta": eta,
        "W0": [list(row) for row in W0],
        "steps": steps,
        "passages": passages,
        "peaks": peaks,
        "psd": {"first_loss": lost},
        "runs_away": [{"k": k + 1, "step": t} for k, t in negative.items() if t is not None],
        "converges": converges,
        "end": [[enclose(x) for x in row] for row in run[-1]],
        "undecided": [],
    }


def start_zero(start, i, j):
    return not blocks_of(start)[i][j] or (i == j and all(x == 0 for x in start[i]))


def leaves(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from leaves(entry, (*path, index))
    else:
        yield path, value


def put(certificate, path, value):
    new = copy.deepcopy(certificate)
    node = new
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return new
