"""Figure 12: two layers with ReLU, varied sigma and varied mu."""

from swingby.figures.learning_order import two_layer_figure

FIGURE = two_layer_figure("12", "relu", "ReLU")
