"""Replay of a certificate: every entry of it found again, by the standard library alone.

``python replay.py certificate.json`` exits with 0 (accepted), 1 (rejected: one reason per line),
2 (unreadable) or 5 (it broke). A run starts in exact fractions and goes on in fixed point: integers
M_ij and one R with |2^p w_ij - M_ij| <= R. p starts 256 bits above twice what the smallest entry of
W(0) needs and doubles until all is decided, but beyond 2^16 bits and the first p it is given up.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import chain, product
from math import floor, gcd, isqrt, lcm
from operator import add, mul
from typing import Any

_PERCENT = {"1/10": 10, "1/2": 50, "4/5": 80, "99/100": 99}  # the levels
_PATHS = r"psd|converges|(runs_away|passages/(1/10|1/2|4/5|99/100))/[1-8]|(peaks|end)/[1-8],[1-8]"
INPUTS = ("signal", "eta", "W0", "steps", "dynamics", "undecided", "made_by")
KEYS = {*INPUTS, *["format", "passages", "peaks", "psd", "runs_away", "converges", "end", "digest"]}
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def require(condition: object, path: str, requirement: str) -> None:
    """Reject the certificate, by a ValueError, unless a condition holds."""
    if not condition:
        raise ValueError(f"{path}: {requirement}")


read = json.JSONDecoder(  # a key that is there twice makes an object 0, and int refuses NaN
    object_pairs_hook=lambda x: dict(x) if len(x) == len(dict(x)) else 0, parse_constant=int
).decode


def rational(value: Any, path: str, digits: int) -> Fraction:
    """Read p/q, in lowest terms with q > 1, or p; by Decimal, since int(text) takes 4300 digits."""
    pattern = rf"(-?(?:0|[1-9][0-9]{{0,{digits}}}))(?:/([1-9][0-9]{{0,{digits}}}))?"
    match = re.fullmatch(pattern, value) if isinstance(value, str) else None
    p, q = (int(Decimal(text)) for text in match.groups("1")) if match else (0, 0)
    require(gcd(p, q) == 1 and value != "-0" and not value.endswith("/1"), path, "no rational")
    return Fraction(p, q)


def enclosure(low: Fraction, high: Fraction) -> list[str] | None:
    """Find the canonical enclosure of all numbers in [low, high]; None if they share none."""
    if low <= 0 <= high:
        return ["0", "0"] if low == high else None
    texts = []
    for x, rounding in product((low, high), (ROUND_FLOOR, ROUND_CEILING)):
        v = x + abs(x) / 10**40 * (1 if rounding == ROUND_CEILING else -1)
        context = Context(prec=25, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        quotient = context.divide(Decimal(v.numerator), Decimal(v.denominator))
        mantissa, exponent = f"{quotient.normalize(context):e}".split("e")
        texts.append(f"{mantissa}e{int(exponent):+03d}")
    return texts[:2] if texts[:2] == texts[2:] else None


def multiply(X: list[list[Any]], Y: list[list[Any]]) -> list[list[Any]]:
    """Multiply X by the transpose of Y."""
    return [[sum(map(mul, x, y)) for y in Y] for x in X]


def pivots(matrix: list[list[Any]], places: range | list[int], shift: int = 0) -> list[int] | None:
    """Find the nonzero pivots of matrix + shift I at places (Bareiss); None if not semidefinite."""
    common = lcm(*(x.denominator for row in matrix for x in row))
    N = [[int((matrix[i][j] + (i == j) * shift) * common) for j in places] for i in places]
    previous, positions = 1, []
    for k, row in enumerate(N):
        if row[k] < 0 or (row[k] == 0 and any(row[k + 1 :])):  # -1, or the minor -x^2
            return None
        if row[k] > 0:
            for i, j in product(range(k + 1, len(N)), repeat=2):
                N[i][j] = (N[i][j] * row[k] - row[i] * row[j]) // previous
            previous = row[k]
            positions.append(k)
    return positions


class Run:
    """The inputs of a certificate, checked, and the trajectory that follows from them."""

    def __init__(self, given: dict[str, Any]) -> None:
        a, eta, W0, self.steps, dynamics, listed, made_by = (given.get(key, -1) for key in INPUTS)
        require(dynamics in ("euler", "gd") and type(made_by) is str, "dynamics/made_by", "unknown")
        require(type(self.steps) is int and 0 <= self.steps <= 10**7, "steps", "not in 0..10^7")
        require(type(a) is list and 1 <= len(a) <= 8, "signal", "not a list of 1 to 8 numbers")
        require(all(type(x) is list and len(x) == len(a) for x in [W0, *W0]), "W0", "not d by d")
        paths = {path for path in listed if type(path) is str and re.fullmatch(_PATHS, path)}
        require(type(listed) is list and len(paths) == len(listed), "undecided", "unknown paths")
        self.listed = paths | {f"end/{path[6]},{path[4]}" for path in paths if path[0] == "e"}
        self.a = [rational(x, f"signal/{k}", 500) for k, x in enumerate(a, 1)]
        self.W0 = [[rational(x, f"W0/{k}", 20_000) for x in row] for k, row in enumerate(W0, 1)]
        eta, low, high = rational(eta, "eta", 500), min(self.a), max(self.a)
        require(low >= 0 and eta > 0, "signal, eta", "a signal below 0, or eta not above")
        require(list(map(list, zip(*self.W0, strict=True))) == self.W0, "W0", "not symmetric")
        self.d, self.euler = range(len(a)), dynamics == "euler"
        self.pairs = [(i, j) for i in self.d for j in self.d if i <= j]
        rho, more = max(abs(1 - 2 * eta * x) for x in (low, high)), eta * high * (not self.euler)
        self.radius = (1 - rho) / (4 * eta * (high or 1) * (1 + more))  # <= 0 if low = 0
        self.lemma = {"radius": str(self.radius), "rate": str((1 + rho) / 2)}
        # If W v = 0, Euler's map gives W' v = eta (W - W W / 2) A v. So a kernel K of W(0) with
        # A K in K stays: when W(0) and W(0) A together have no more rank than W(0). The concepts
        # of its pivots complement K, and W(t) is semidefinite if and only if it is on these.
        rows = self.W0 + [list(map(mul, row, self.a)) for row in self.W0]
        rank, basis = pivots(multiply(rows, rows), range(2 * len(a))), pivots(self.W0, self.d)
        self.complement = basis if basis and rank and len(basis) == len(rank) else list(self.d)
        Q = lcm(*((eta * a).denominator for a in self.a))
        self.n, self.Q2, self.exact = [int(eta * a * Q) for a in self.a], 2 * Q, [self.W0]
        for _ in range(self.steps):
            self.exact.append(self.image(self.exact[-1], self.pairs, 1))
            sizes = [abs(x.numerator) | x.denominator for row in self.exact[-1] for x in row]
            if max(sizes) >> 20_000 or self.exact[-1] == self.exact[-2]:
                break
        self.block, self.later = list(self.d), list(self.d)  # of W(0), of the last exact W
        both = (self.W0, self.block), (self.exact[-1], self.later)
        for (W, block), (i, j) in product(both, self.pairs):
            old, new = block[j], block[i if W[i][j] else j]
            block[:] = [new if b == old else b for b in block]

    def image(self, M: list[list[Any]], pairs: list[tuple[int, int]], one: int) -> list[list[Any]]:
        """Apply the map to M / one at some pairs: fractions exactly, with one = 1, or with floors.

        With eta a_k = n_k / Q and g_k = 2 n_k + n_i + n_j, Euler's map in entries is
            2Q w'_ij = (2Q + 2 n_i + 2 n_j) w_ij - sum_k g_k w_ik w_kj;
        gd adds b W b where b = eta B, that is 2Q b_ij = 2 n_i (i = j) - (n_i + n_j) w_ij.
        """
        n, d, N, Q2, p = self.n, self.d, [*map(list, M)], self.Q2, one.bit_length() - 1
        b = [[(2 * (i == j) * one - M[i][j]) * n[i] - n[j] * M[i][j] for j in d] for i in d]
        bMb = multiply(b, multiply(b, M)) if not self.euler else None
        for i, j in pairs:
            x = one * (Q2 + 2 * n[i] + 2 * n[j]) * M[i][j]
            x -= sum((2 * n[k] + n[i] + n[j]) * M[i][k] * M[j][k] for k in d)
            y = bMb[i][j] if bMb else 0 * x
            N[i][j] = N[j][i] = (x >> p) // Q2 + (y >> 2 * p) // Q2**2 if p else x / Q2 + y / Q2**2
        return N

    def enclosures(self, one: int) -> Any:
        """Yield M, R for W(0), W(1), ..., and the pairs that are not at rest by then.

        With W = M + E and |E_ij| <= R, Euler's map makes an error (times 2Q) of at most
            |2Q + 2 n_i + 2 n_j - g_i m_ii - g_j m_jj| R + g_i R R    (all that has e_ij in it)
            + sum_{k != i} g_k (|m_ik| + R) R + sum_{k != j} g_k R |m_kj|.
        Its first factor is summed up before it is bounded, so that it contracts near W = I as the
        map does. (At i = j it is the derivative, the same for 1 - w.) b W b adds (times (2Q)^2)
        s (s + 4 max n h) R at most, s and h the largest row sums of |2Q b|, small near W = I, and
        of |M|, errors included (at i = j, rest is 4 s off the diagonal); all in units of 2^-64.
        """
        for W in self.exact:
            yield [[x * one for x in row] for row in W], 0, self.pairs
        W, V, n, Q2, p = self.exact[-1], self.exact[-2:][0], self.n, self.Q2, one.bit_length() - 65
        moving = {self.later[i] for i, j in self.pairs if W[i][j] != V[i][j]}
        active = [(i, j) for i, j in self.pairs if self.later[i] == self.later[j] in moving]
        M, R, t = [[floor(x * one) for x in row] for row in W], 1, len(self.exact)
        while active and t <= self.steps and one > R:
            r, m, growth, s = (R >> p) + 1, [[x >> p for x in row] for row in M], 0, 0
            H = [[abs(x) + 1 + r for x in row] for row in m]
            for i, j in active:
                g = [2 * x + n[i] + n[j] for x in n]
                rest = sum(map(mul, g, map(add, H[i], H[j]))) - g[i] * H[i][i] - g[j] * H[j][j]
                contraction = (Q2 + 2 * n[i] + 2 * n[j] << 64) - g[i] * m[i][i] - g[j] * m[j][j]
                growth = max(growth, abs(contraction) + g[i] + g[j] + g[i] * r + rest)
                s = max(s, 2 * n[i] * (abs((1 << 64) - m[i][i]) + 1 + r) + rest // 4)
            more = s * (s + 4 * max(n) * max(map(sum, H))) if not self.euler else 0
            M = self.image(M, active, one)
            t, R = t + 1, R * growth // (Q2 << 64) + R * more // (Q2 * Q2 << 128) + 4
            yield M, R, active


def derive(run: Run, one: int) -> tuple[dict[str, Any], set[str]]:
    """Derive the entries from enclosures in units of 1 / one, and the paths that stay open."""
    ends, log, open_ = dict[Any, Any](), dict[str, Any](), set[str]()

    def sure(yes: object, path: str) -> bool:
        if not yes and path not in run.listed:
            raise ArithmeticError(path)
        open_.update(() if yes else {path})
        return bool(yes)

    def enclose(path: str, pair: Any) -> list[str] | None:
        texts = pair and enclosure(Fraction(pair[0], one), Fraction(pair[1], one))
        return texts if sure(texts or not pair, path) else None

    for t, (M, R, active) in enumerate(run.enclosures(one)):
        if one <= R:  # nothing is known any more: take an interval that decides nothing
            M, R = [[0] * len(M)] * len(M), 2 * max(one, *(x[-1] for x in log.values()))
        before, ends = ends, ends | {(i, j): (M[i][j] - R, M[i][j] + R) for i, j in active}
        for (i, j), (low, high) in [(pair, ends[pair]) for pair in active]:
            path = f"runs_away/{i + 1}" if i == j else f"peaks/{i + 1},{j + 1}"
            if i != j:
                inner, outer, best = max(low, -high, 0), max(-low, high), log.get(path, (-1, -1))
                if outer > best[-2] and sure(inner > best[-1], path):
                    log[path] = t, (low, high), inner, outer
            elif run.euler and run.a[i] and low < 0 and path not in log and sure(high < 0, path):
                log[path] = t, 0, 0
            for name, percent in _PERCENT.items() if i == j else ():
                path, level = f"passages/{name}/{i + 1}", percent * one
                if 100 * high >= level and path not in log and sure(100 * low >= level, path):
                    log[path] = t, before.get((i, i)), (low, high), 0
        sizes = [abs(M[i][j] - (i == j) * one) for i in run.d for j in run.d]
        nearest, farthest = sum(max(x - R, 0) ** 2 for x in sizes), sum((x + R) ** 2 for x in sizes)
        limit = (run.radius * one) ** 2 if run.radius > 0 else -1
        if "converges" not in log and nearest <= limit and sure(farthest <= limit, "converges"):
            log["converges"] = t, nearest, farthest
        # From then on ||W - I|| <= radius <= 1/2: W is definite. R len(complement) bounds norm(E).
        if (run.euler or t == 0) and not {"psd", "converges"} & log.keys():
            lost = pivots(M, run.complement, -R * len(run.complement)) is None
            if lost and sure(pivots(M, run.complement, R * len(run.complement)) is None, "psd"):
                log["psd"] = t, 0
    facts: dict[str, Any] = {"passages": {name: [] for name in _PERCENT}, "peaks": []}
    facts |= {"psd": {"first_loss": log.get("psd", [None])[0]}, "runs_away": [], "converges": None}
    for name, k in product(_PERCENT, run.d):
        path = f"passages/{name}/{k + 1}"
        t, before, at, _ = log.get(path, (None, None, None, 0))
        never = not any(run.W0[k]) or f"runs_away/{k + 1}" in log or (run.euler and not run.a[k])
        record = {"step": t, "before": enclose(path, before), "at": enclose(path, at)}
        facts["passages"][name].append(record | {"never": never and t is None})
    closed = "converges" in log.keys() - run.listed
    for i, j in run.pairs:
        path = f"runs_away/{i + 1}" if i == j else f"peaks/{i + 1},{j + 1}"
        t, *value, inner, outer = log.get(path, (None, 0, 0))
        if i != j:
            forever = closed and nearest < outer**2 and sure(farthest < inner**2, path)
            record = {"i": i + 1, "j": j + 1, "step": t, "value": enclose(path, *value)}
            forever = forever or run.block[i] != run.block[j]
            facts["peaks"].append(record | {"for_all_time": forever})
        elif t is not None or path in run.listed:
            facts["runs_away"].append({"k": i + 1, "step": t})
    paths = [[(i, j, f"end/{i + 1},{j + 1}") for j in run.d] for i in run.d]
    facts["end"] = [[enclose(x, ends[min(i, j), max(i, j)]) for i, j, x in row] for row in paths]
    if "converges" in log:
        t, *squares = log["converges"]
        low, high = (isqrt(floor(x)) for x in squares)
        distance = enclose("converges", (low, high + (high**2 < squares[1])))
        facts["converges"] = {"step": t, "distance": distance} | run.lemma
    return facts, open_


def compare(path: str, claimed: Any, derived: Any, open_: set[str]) -> list[str]:
    """List the entries in which a certificate differs from what was found."""
    derived, pairs = None if path in open_ else derived, []
    alike = type(claimed) is type(derived) in (dict, list) and len(claimed) == len(derived) > 0
    if alike and type(derived) is dict and claimed.keys() == derived.keys():
        pairs = [(f"{path}/{key}", claimed[key], derived[key]) for key in derived]
    elif alike and type(derived) is list and type(derived[0]) is not str:
        names = [",".join(str(x[y]) for y in "ijk" if x and y in x) for x in derived]
        sign = "," if path.startswith("end/") else "/"
        pairs = [(f"{path}{sign}{names[k] or k + 1}", claimed[k], x) for k, x in enumerate(derived)]
    elif canonical(claimed) != canonical(derived):
        says, finds = canonical(claimed), canonical(derived)
        return [f"{path or 'keys'}: the certificate says {says:.100}, found {finds:.100}"]
    return [reason for x, a, b in pairs for reason in compare(x.strip("/"), a, b, open_)]


def replay(certificate: dict[str, Any]) -> list[str]:
    """Say why a certificate is rejected, from its inputs alone; nothing if it is accepted."""
    try:
        require(type(certificate) is dict and certificate.keys() == KEYS, "keys", "not those known")
        text = canonical({key: certificate[key] for key in KEYS - {"digest"}})
        inputs = {key: certificate[key] for key in INPUTS} | {"format": "swingby certificate 1"}
        inputs["digest"] = hashlib.sha256(text.encode()).hexdigest()
        if wrong := compare("", {key: certificate[key] for key in inputs}, inputs, set()):
            return wrong  # before any work
        run = Run(certificate)
    except (ValueError, TypeError, RecursionError) as error:
        return [str(error)]
    answer, bits = [""], 256 + 2 * max(int(1 / (abs(x) or 1)).bit_length() for x in chain(*run.W0))
    for p in [bits << k for k in range(9) if k == 0 or bits << k <= 1 << 16]:
        try:
            facts, open_ = derive(run, 1 << p)
            more = [f"{x}: listed as undecided, but decided" for x in sorted(run.listed - open_)]
            answer = compare("", certificate, inputs | facts, open_) + more * (p <= max(bits, 8192))
            if answer or not open_ or 2 * p > 8192:  # certificates are made with 8192 bits
                break
        except ArithmeticError as path:
            answer = [f"{path}: not decided at {p} bits"]
    return answer


def main(arguments: list[str]) -> int:
    """Replay the certificate in a file."""
    certificate: Any = None
    try:
        with open(arguments[0], "rb") as file:
            certificate = read(file.read(1 << 24).decode())
        reasons = replay(certificate)
    except Exception as error:  # whatever breaks, nothing is rejected
        sys.stderr.write(f"{'unreadable' if certificate is None else 'it broke'}: {error!r}\n")
        return 2 if certificate is None else 5
    lines = reasons or ["accepted", *(f"not judged: {path}" for path in certificate["undecided"])]
    sys.stdout.writelines(line + "\n" for line in lines)
    return int(bool(reasons))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
