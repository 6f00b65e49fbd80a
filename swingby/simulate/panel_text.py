"""The text of steps in loops, for every d above those that are written out, as numba compiles it.

A matrix lies in panels of eight columns, ``X[J, k, l] = x[k, 8 J + l]``, so that both factors of a
product A^T B are read in order; as X is symmetric, all products of a step are of that kind. The
vectors are written down as such: products and sums are rounded once together, sums over an inner
concept run upwards, and the bits are the same on every machine and in every thread. Of a symmetric
result only tiles on and above the diagonal are computed. No library of matrices is called: at every
d these loops take less time than OpenBLAS does for the same products.
"""

from __future__ import annotations

from swingby.simulate.step_text import HEADER, stages

#: Columns of a panel.
PANEL = 8
#: Arrays of panels that a block of steps needs to work in.
ARRAYS = {"euler": 6, "gd": 8, "flow": 18}

#: The sums of a tile of rows of A^T and the columns of two panels.
_PRODUCTS = '''
import llvmlite.binding

def rows_of_a_tile():
    """Rows of a tile whose sums stay in registers."""
    try:
        return 8 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 2
    except RuntimeError:
        return 2

ROWS = rows_of_a_tile()

@intrinsic
def products(context, A, a, B, b, D, e, count, sums):
    """Write sums[0, i, l] = sum over k of A[k, i] B[k, l], and sums[1, i, l] with D."""
    def emit(context, builder, signature, given):
        vector, whole = ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)
        kind = ir.FunctionType(vector, [vector] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v8f64")
        undefined = ir.Constant(vector, ir.Undefined)
        first = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)

        def pointer(at, offset):
            array = context.make_array(signature.args[at])(context, builder, given[at])
            return builder.gep(array.data, [offset])

        def vector_at(address, offset):
            moved = builder.gep(address, [offset])
            return builder.bitcast(moved, vector.as_pointer())

        left = pointer(0, given[1])
        right = pointer(2, given[3]), pointer(4, given[5])
        totals = [cgutils.alloca_once(builder, vector) for _ in range(2 * ROWS)]
        for total in totals:
            builder.store(ir.Constant(vector, [0.0] * 8), total)
        with cgutils.for_range(builder, given[6]) as loop:
            at = builder.mul(loop.index, whole(8))
            factors = [builder.load(vector_at(side, at), align=8) for side in right]
            row = builder.gep(left, [at])
            for i in range(ROWS):
                number = builder.load(builder.gep(row, [whole(i)]))
                alone = builder.insert_element(undefined, number, ir.IntType(32)(0))
                spread = builder.shuffle_vector(alone, undefined, first)
                for side, factor in enumerate(factors):
                    total = totals[side * ROWS + i]
                    value = builder.call(fused, [spread, factor, builder.load(total)])
                    builder.store(value, total)
        target = pointer(7, whole(0))
        for n, total in enumerate(totals):
            builder.store(builder.load(total), vector_at(target, whole(8 * n)), align=8)
        return context.get_dummy_value()
    integer = types.int64
    return types.void(A, integer, B, integer, D, integer, integer, sums), emit
'''

#: Where a tile of an upper triangle goes: rows i to i + ROWS of panel J, and mirrored.
_STORE = """
@inner
def store(V, J, i, sums):
 I, at = i // 8, i % 8
 if I < J:
  for r in range(ROWS):
   for l in range(8):
    V[J, i + r, l] = sums[0, r, l]
  for l in range(8):
   for r in range(ROWS):
    V[I, 8 * J + l, at + r] = sums[0, r, l]
 else:
  for r in range(ROWS):
   for l in range(at + r, 8):
    V[J, i + r, l] = V[J, 8 * J + l, at + r] = sums[0, r, l]
"""

#: The next X into V, or the slope of the flow. With P = X S X and Q = X S R X, R = eta A, what is
#: subtracted from G is half of (r_i + r_j) P + 2 Q.
_CHANGE = """
@inner
def change(X, V, rates, squares, d, scaled, work, sums):
 panels, size = X.shape[0], 8 * X.shape[1]
 H = work[0]
 Z = work[1] if scaled else X
 for J in range(panels):
  for k in range(d):
   if scaled:
    for l in range(8):
     Z[J, k, l] = squares[k] * X[J, k, l]
   for l in range(8):
    H[J, k, l] = rates[k] * Z[J, k, l]
 for J in range(panels):
  for i in range(0, 8 * J + 8, ROWS):
   products(X, i // 8 * size + i % 8, Z, J * size, H, J * size, d, sums)
   for r in range(ROWS):
    for l in range(8):
     x = X[J, i + r, l]
     slope = (rates[i + r] + rates[8 * J + l]) * (x - 0.5 * sums[0, r, l]) - sums[1, r, l]
     sums[0, r, l] = NEXT
   store(V, J, i, sums)
"""

#: The next X of gd into V. T = (eta B W)^T: its entry (k, j) is r_j x_kj - 1/2 sum x_kl s_l g_lj.
_GD_CHANGE = """
@inner
def change(X, V, rates, squares, d, scaled, work, sums):
 panels, size = X.shape[0], 8 * X.shape[1]
 G, T = work[0], work[1]
 H = work[2] if scaled else G
 S = work[3] if scaled else T
 for J in range(panels):
  for k in range(d):
   for l in range(8):
    G[J, k, l] = (rates[k] + rates[8 * J + l]) * X[J, k, l]
   if scaled:
    for l in range(8):
     H[J, k, l] = squares[k] * G[J, k, l]
 for J in range(0, panels, 2):
  beside = min(J + 1, panels - 1)
  for i in range(0, 8 * panels, ROWS):
   products(X, i // 8 * size + i % 8, H, J * size, H, beside * size, d, sums)
   for side in range(2):
    K = J if side == 0 else beside
    for r in range(ROWS):
     for l in range(8):
      T[K, i + r, l] = rates[8 * K + l] * X[K, i + r, l] - 0.5 * sums[side, r, l]
 if scaled:
  for J in range(panels):
   for k in range(d):
    for l in range(8):
     S[J, k, l] = squares[k] * T[J, k, l]
 for J in range(0, panels, 2):
  beside = min(J + 1, panels - 1)
  for i in range(0, 8 * beside + 8, ROWS):
   products(G, i // 8 * size + i % 8, S, J * size, S, beside * size, d, sums)
   for side in range(1 if beside == J else 0, 2):
    K = J if side == 0 else beside
    if i // 8 <= K:
     for r in range(ROWS):
      for l in range(8):
       t = T[K, i + r, l]
       other = T[i // 8, 8 * K + l, i % 8 + r]
       more = rates[i + r] * t - 0.5 * sums[side, r, l]
       sums[0, r, l] = X[K, i + r, l] + ((t + other) + more)
     store(V, K, i, sums)
"""

#: A step, which ends with the next X in `X` and room for another in `V`.
_STEP = """
  change(X, V, rates, squares, d, scaled, work[4:], sums)
  X, V = V, X
"""
_RUNGE_KUTTA = """
  for part in range(parts):
   change(X, work[6], rates, squares, d, scaled, work[4:], sums)
   for stage in range(1, 13):
    for J in range(panels):
     for k in range(d):
      for l in range(8):
       V[J, k, l] = TABLE[stage - 1, 0] * work[6, J, k, l]
      for j in range(1, min(stage, 12)):
       for l in range(8):
        V[J, k, l] += TABLE[stage - 1, j] * work[6 + j, J, k, l]
      for l in range(8):
       V[J, k, l] = X[J, k, l] + h * V[J, k, l]
    if stage < 12:
     change(V, work[6 + stage], rates, squares, d, scaled, work[4:], sums)
   X, V = V, X
"""


def panel_text(dynamics: str) -> str:
    """The module of ``steps`` for a trajectory.

    start (d, d): X; rates: eta a; block (steps, d d): a row for each step; outputs (steps, d): X
    times point; high, low (d d): the largest and the smallest number of every entry before the last
    step; work (arrays, panels, 8 panels, 8): zeros, or what an earlier block of the same d has
    left.
    """
    change = _GD_CHANGE if dynamics == "gd" else _CHANGE
    following = "slope" if dynamics == "flow" else "x + slope"
    vector, matrix = "types.float64[::1]", "types.float64[:, ::1]"
    work = "types.float64[:, :, :, ::1]"
    seen = f"{vector}, {matrix}, {vector}, {vector}"
    typed = f"({matrix}, {vector}, {vector}, types.int64, {matrix}, {seen}, {work})"
    # Products below the float range are 0: as subnormal numbers they take ten times as long.
    return f"""{HEADER}
TABLE = np.array({stages().tolist() if dynamics == "flow" else []})
{_PRODUCTS}
{_STORE}
{change.replace("NEXT", following)}
@inner
def observe(X, d, first, point, output, high, low):
 for J in range(X.shape[0]):
  {"; ".join(f"s{n} = 0.0" for n in range(PANEL))}
  for k in range(d):
   p = point[k]
   {"; ".join(f"s{n} = fma(X[J, k, {n}], p, s{n})" for n in range(PANEL))}
  {"; ".join(f"output[J, {n}] = s{n}" for n in range(PANEL))}
  values, highest, lowest = X[J].ravel(), high[J].ravel(), low[J].ravel()
  if first:
   for e in range(8 * d):
    highest[e] = lowest[e] = values[e]
  else:
   for e in range(8 * d):
    highest[e] = values[e] if values[e] > highest[e] else highest[e]
    lowest[e] = values[e] if values[e] < lowest[e] else lowest[e]

@inner
def all_steps(start, rates, squares, parts, block, point, outputs, high, low, work):
 d, panels, h, scaled = len(start), work.shape[1], 1.0 / parts, False
 sums, padded, output = np.empty((2, ROWS, 8)), np.zeros(8 * panels), np.empty((panels, 8))
 X, V = work[0], work[1]
 for i in range(d):
  padded[i] = rates[i]
  scaled = scaled or squares[i] != 1.0
  for j in range(d):
   X[j // 8, i, j % 8] = start[i, j]
 rates = padded
 for n in range(len(block)):{_RUNGE_KUTTA if dynamics == "flow" else _STEP}
  row = block[n]
  for i in range(d):
   for J in range(d // 8):
    for l in range(8):
     row[i * d + 8 * J + l] = X[J, i, l]
   for j in range(d // 8 * 8, d):
    row[i * d + j] = X[panels - 1, i, j % 8]
  if n < len(block) - 1 or n == 0:
   observe(X, d, n == 0, point, output, work[2], work[3])
  else:
   observe(X, d, False, point, output, work[4], work[5])
  for i in range(d):
   outputs[n, i] = output[i // 8, i % 8]
 for i in range(d):
  for j in range(d):
   high[i * d + j], low[i * d + j] = work[2, j // 8, i, j % 8], work[3, j // 8, i, j % 8]

@compiled({typed})
def steps(start, rates, squares, parts, block, point, outputs, high, low, work):
 past = control(-1)
 all_steps(start, rates, squares, parts, block, point, outputs, high, low, work)
 control(past)
"""
