from swingby.lab.relu import *  # noqa: F403
