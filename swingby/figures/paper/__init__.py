"""The figures, one file each: ``figure_5.py`` defines ``FIGURE`` for Figure 5."""
