from swingby.own_theory import *  # noqa: F403
