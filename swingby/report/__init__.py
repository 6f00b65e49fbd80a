"""Output of results: tables, formats, pictures, progress and files.

It knows nothing of the theory, and is below all other parts but the errors.
"""

from swingby.report.result_formats import Drawn, Framed, Shown
from swingby.report.tables import Grid

__all__ = ["Drawn", "Framed", "Grid", "Shown"]
