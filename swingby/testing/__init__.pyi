from swingby.testing.assumption_setting import Setting as Setting
from swingby.testing.claim_assertions import assert_claim as assert_claim
from swingby.testing.matrices import initializations as initializations
from swingby.testing.pytest_plugin import register_profiles as register_profiles
from swingby.testing.run_assertions import assert_lemmas as assert_lemmas
from swingby.testing.run_assertions import assert_stages as assert_stages
from swingby.testing.run_assertions import (
    assert_windows_match_statements as assert_windows_match_statements,
)
from swingby.testing.strategies import satisfying as satisfying
from swingby.testing.strategies import step_sizes as step_sizes
from swingby.testing.strategies import tasks as tasks
from swingby.testing.strategies import violating as violating
from swingby.testing.theory_assertions import assert_theory as assert_theory
