"""Figure 11: two layers with linear activations, varied sigma and varied mu."""

from swingby.figures.learning_order import two_layer_figure

FIGURE = two_layer_figure("11", "linear", "linear activations")
