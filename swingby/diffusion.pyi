from swingby.lab.diffusion import *  # noqa: F403
