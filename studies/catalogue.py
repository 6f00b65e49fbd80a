"""The studies by name."""

from studies import (
    chains,
    deep_networks,
    image_courses,
    law_errors,
    network_tables,
    paper_figures,
    relu_networks,
    survival,
    vector_cells,
)
from studies.study import Study

STUDIES: dict[str, Study] = {
    "map": paper_figures.MAP,
    "autograd": law_errors.STUDY,
    "networks": survival.STUDY,
    "deep": deep_networks.STUDY,
    "chains": chains.STUDY,
    "figures": paper_figures.FIGURES,
    "vectors": vector_cells.STUDY,
    "images": image_courses.STUDY,
    "relu": relu_networks.STUDY,
    "tables": network_tables.STUDY,
}
