"""Code that numba compiles and keeps, compiled before the tests run: they would do it twice.

``python tests/compiled.py`` takes three minutes in a new checkout and seconds afterwards. Nothing
here is checked; a test that finds nothing compiled compiles it.
"""

import sys

from swingby.verify.compiled_ahead import PARTS

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
