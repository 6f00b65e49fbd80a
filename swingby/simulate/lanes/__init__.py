r"""Many small trajectories at once: lanes, rows, tiles and blocks, explained.

A trajectory of d concepts has a few dozen numbers, too few to keep a vector unit busy. So 32 of
them go together, and every operation is done for all of them by the same few instructions.

**Lane**: a column for one trajectory. **Row**: one number of each lane, 32 of them next to each
other in memory; row after row holds X, the events seen so far, and what a look has found. **Tile**:
32 lanes with all their rows, one piece of memory. At d = 2 a tile begins like this::

                  lane 0    lane 1    lane 2   ...   lane 31
        X  w_11  |  .      |  .      |  .      |     |  .      |  row 0     steps change these:
           w_22  |  .      |  .      |  .      |     |  .      |  row 1     the entries, the
           w_12  |  .      |  .      |  .      |     |  .      |  row 2     diagonal first
     below    1  |  1      |  0      |  1      |     |  1      |  row 3     1 until w_kk has
              2  |  1      |  1      |  1      |     |  1      |  row 4     reached 1/2
    waited    1  |  841    |  97     |  400    |     |  12     |  row 5     steps until then
              2  |  ...                                        |  row 6
     rates, square, bar, ...      looks and jumps change these
     infinite, ready, ..., due    what the last look has found: 0 for no

    tiles:   [ tile 0 ][ tile 1 ][ tile 2 ] ...        an array (tiles, rows * 32)

    a block of steps of one tile:

        for n in range(256):              steps, one after the other
            for l in range(32):           lanes, 4 or 8 in each instruction, without a branch
                g0_0 = (r0 + r0) * w0_0   every entry written out for this d: no loop
                ...

**Block**: 256 steps, after which every lane of the tile is looked at, in compiled code too. A tile
goes on, block after block, until something is due in one of its lanes: a jump, an end, an overflow,
a pivot in doubt. Then NumPy does what is due, for all such lanes of all tiles together.

The inner loop has neither a branch nor a loop in it, because d, the dynamics and two flags (W held
as D X D; the test loss watched) are written into the text of a kernel before it is compiled. A
plain closure of numba with d as a constant reaches a third of its rate, at d = 8 a fifteenth
(``benchmarks/lanes_closure.py``).

- :mod:`.fleet`: which rows there are, who is in which lane, and what is done where something is
  due.
- :mod:`.tiles`: the texts, and the fleet that runs them.
- Products and sums of a step are lines of :func:`swingby.simulate.step_text.change`.
"""
