"""How results are shown and written: tables, formats, pictures, progress, files.

It knows nothing of the theory, and is below all other parts but the errors.
"""

from swingby.report.tables import Drawn, Framed, Grid, Shown

__all__ = ["Drawn", "Framed", "Grid", "Shown"]
