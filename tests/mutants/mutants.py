"""Seeded bugs: one small change each, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One wrong edit.

    Parameters
    ----------
    name : str
        A few words on what went wrong; the test id.
    file : str
        Below ``swingby/``.
    old, new : str
        ``old`` occurs exactly once in the file.
    tests : tuple of str
        Node ids below ``tests/``; fast, and at least one must fail. Tests that shrink their
        failures are slow here.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_DYNAMICS = "theory/test_dynamics.py::test_"
_ODDS = "theory/test_odds.py::test_"
_STEP = "theory/test_finite_step.py::test_"
_PIVOTS = "theory/test_pivots.py::test_"
_STAGES = "theory/test_stages.py::test_"
_GAUSSIAN = "theory/test_gaussian.py::test_"
_LEMMAS = "theory/test_lemmas.py::test_"
_TASK = "theory/test_task.py::test_"
_FEASIBILITY = "verify/test_feasibility.py::test_"
_CHECK = "verify/test_check.py::test_"
_PREDICT = "verify/test_predict.py::test_"
_COMPARE = "verify/test_compare.py::test_"
_CLI = "test_cli.py::test_"
_KERNELS = "simulate/test_kernels.py::test_"

MUTANTS = (
    # growth rates
    Mutant(
        "euler grows without the logarithm",
        "theory/growth.py",
        "return np.log1p(eta * (signal[:, None] + signal[None, :]))",
        "return np.asarray(eta * (signal[:, None] + signal[None, :]))",
        (_DYNAMICS + "linear_part_is_the_growth_rate",),
    ),
    Mutant(
        "gd grows as euler does",
        "theory/growth.py",
        "return single[:, None] + single[None, :]",
        "return np.log1p(eta * (signal[:, None] + signal[None, :]))",
        (_DYNAMICS + "linear_part_is_the_growth_rate",),
    ),
    Mutant(
        "flow grows twice as fast",
        "theory/growth.py",
        "return eta * (signal[:, None] + signal[None, :])",
        "return 2 * eta * (signal[:, None] + signal[None, :])",
        (_DYNAMICS + "flow_grows_at_eta_times_the_sum",),
    ),
    # symbolic dynamics
    Mutant(
        "a factor 2 of the bracket is lost",
        "theory/dynamics.py",
        "+ 2 * W * A * W) / 2",
        "+ W * A * W) / 2",
        (_DYNAMICS + "printed_right_side_is_B_W_plus_W_B",),
    ),
    Mutant(
        "B loses its one half",
        "theory/dynamics.py",
        "return A - (A * W + W * A) / 2",
        "return A - (A * W + W * A)",
        (_DYNAMICS + "printed_right_side_is_B_W_plus_W_B",),
    ),
    Mutant(
        "gd multiplies from one side only",
        "theory/dynamics.py",
        "return factor * W * factor",
        "return factor * W",
        (_DYNAMICS + "gradient_descent_differs_from_euler_by_eta_squared_B_W_B",),
    ),
    Mutant(
        "suppression by the other entry loses its 3",
        "theory/dynamics.py",
        "W[j, j] * (3 * A[j, j] + A[i, i])",
        "W[j, j] * (A[j, j] + A[i, i])",
        (_DYNAMICS + "growth_suppression_noise_add_up",),
    ),
    Mutant(
        "noise counts a_k once",
        "theory/dynamics.py",
        "(A[i, i] + A[j, j] + 2 * A[k, k])",
        "(A[i, i] + A[j, j] + A[k, k])",
        (_DYNAMICS + "growth_suppression_noise_add_up",),
    ),
    # odds
    Mutant(
        "suppression exponent is (1 - r)/2",
        "theory/odds.py",
        "(1 - ratio) / 4, 0.0)",
        "(1 - ratio) / 2, 0.0)",
        (_ODDS + "the_composite_of_one_stage_is_the_closed_curve",),
    ),
    Mutant(
        "signal ratio upside down",
        "theory/odds.py",
        "ratio = rate[:, None] / rate[None, :]",
        "ratio = rate[None, :] / rate[:, None]",
        (_ODDS + "the_composite_of_one_stage_is_the_closed_curve",),
    ),
    Mutant(
        "second exponent uses r for 1/r",
        "theory/odds.py",
        "(1 - 1 / ratio) / 4",
        "(1 - ratio) / 4",
        (_ODDS + "a_minor_entry_decays_at_half_the_difference_then_at_the_sum",),
    ),
    Mutant(
        "columns are divided by the growth of the wrong concept",
        "theory/odds.py",
        "(self.growth - rate) * t[:, None, None]",
        "(self.growth - rate[:, None]) * t[:, None, None]",
        (_ODDS + "the_composite_of_one_stage_is_the_closed_curve",),
    ),
    Mutant(
        "odds and their inverse swapped in the system",
        "theory/odds.py",
        "+= np.exp(-softplus(log_odds))",
        "+= np.exp(-softplus(-log_odds))",
        (_ODDS + "assembling_the_factors_is_X_over_I_plus_X",),
    ),
    Mutant(
        "columns scaled by x/(1+x) for its root",
        "theory/odds.py",
        "np.exp(-0.5 * softplus(-log_odds))",
        "np.exp(-softplus(-log_odds))",
        (_ODDS + "assembling_the_factors_is_X_over_I_plus_X",),
    ),
    # correction
    Mutant(
        "the antisymmetric matrix has the wrong sign",
        "theory/correction.py",
        "difference = rate[None, :] - rate[:, None]",
        "difference = rate[:, None] - rate[None, :]",
        (_ODDS + "picard_sweeps_converge_to_the_flow",),
    ),
    Mutant(
        "the odds move at half the diagonal",
        "theory/correction.py",
        "speed = 2 * Z[",
        "speed = Z[",
        (_ODDS + "picard_sweeps_converge_to_the_flow",),
    ),
    # finite step
    Mutant(
        "second order of the euler shift",
        "theory/finite_step.py",
        "h * (2 * w - 2 * log_rest + h * third)",
        "h * (w - 2 * log_rest + h * third)",
        (_STEP + "the_coded_shift_is_the_expansion",),
    ),
    Mutant(
        "first order of the gd shift is that of euler",
        "theory/finite_step.py",
        "1.5 * log_rest + h *",
        "2 * log_rest + h *",
        (
            _STEP
            + "the_leading_shift_of_a_half_time_is_log_2_for_euler_and_three_quarters_of_it_for_gd",
        ),
    ),
    Mutant(
        "digamma at 1 + u",
        "theory/finite_step.py",
        "weight = digamma(1 - u) +",
        "weight = digamma(1 + u) +",
        (_STEP + "the_drift_end_is_that_of_a_euler_run_in_many_digits[0.02-0.25]",),
    ),
    Mutant(
        "sign inside digamma",
        "theory/finite_step.py",
        "- 0.5 / shifted",
        "+ 0.5 / shifted",
        (_STEP + "digamma_is_that_of_mpmath_to_what_the_law_needs",),
    ),
    Mutant(
        "fitted drift of first order",
        "theory/finite_step.py",
        "h * h * (1 - ratio_i)",
        "h * (1 - ratio_i)",
        (_STEP + "the_drift_end_is_that_of_a_euler_run_in_many_digits[0.02-0.25]",),
    ),
    # pivots
    Mutant(
        "sign of the Schur complement",
        "theory/pivots.py",
        "np.exp(log - scale) - removed_sign",
        "np.exp(log - scale) + removed_sign",
        (_PIVOTS + "a_negative_schur_complement_is_a_negative_pivot",),
    ),
    Mutant(
        "a column forgets its sign",
        "theory/pivots.py",
        "found.column_sign[rest, k] = sign[rest, k]",
        "found.column_sign[rest, k] = 1.0",
        (_PIVOTS + "pivots_are_those_of_LDL_in_exact_rationals",),
    ),
    Mutant(
        "rounding counts as a pivot",
        "theory/pivots.py",
        "MOST_CANCELLATION = 31.0",
        "MOST_CANCELLATION = 310.0",
        (_PIVOTS + "cancellation_measures_what_a_pivot_lost",),
    ),
    # stages
    Mutant(
        "half-time at the level 0.8",
        "theory/stages.py",
        "linearizing_shift(0.5, h, dynamics)",
        "linearizing_shift(0.8, h, dynamics)",
        (_STAGES + "one_concept_alone_is_exact",),
    ),
    Mutant(
        "half-times rounded down",
        "theory/stages.py",
        "return np.ceil(self.crossing)",
        "return np.floor(self.crossing)",
        (_STAGES + "one_concept_alone_is_exact",),
    ),
    Mutant(
        "euler rates for every dynamics",
        "theory/stages.py",
        "growth = growth_rates(signal, step, dynamics)",
        'growth = growth_rates(signal, step, "euler")',
        (_STAGES + "one_concept_alone_is_exact",),
    ),
    Mutant(
        "error bars that promise everything",
        "theory/reliability.py",
        '{"euler": 7.0, "gd": 7.0, "flow": 2.5}',
        '{"euler": 0.0, "gd": 0.0, "flow": 0.0}',
        (
            _STAGES
            + "the_observed_step_lies_within_the_error_bar_in_99_of_100_stages[euler from 1e-2]",
        ),
    ),
    Mutant(
        "odds W (I + W)^-1",
        "theory/stages.py",
        "np.linalg.solve(np.eye(len(W)) - W, W)",
        "np.linalg.solve(np.eye(len(W)) + W, W)",
        (_ODDS + "diagonal_start_gives_one_logistic_per_concept[0]",),
    ),
    Mutant(
        "free directions tie",
        "theory/reliability.py",
        "exact[rank] == exact[rank - 1] > 0",
        "exact[rank] == exact[rank - 1] >= 0",
        (_STAGES + "two_free_directions_are_not_a_tie",),
    ),
    Mutant(
        "a free direction is learned at no known time",
        "theory/stages.py",
        "times[signal == 0] = math.inf",
        "times[signal == 0] = math.nan",
        (_STAGES + "two_free_directions_are_not_a_tie",),
    ),
    Mutant(
        "a blow-up stops nothing",
        "theory/stages.py",
        "times[learned & (times > blow_up)] = np.nan",
        "times[learned & (times < 0)] = np.nan",
        (_STAGES + "a_blow_up_cuts_off_what_would_be_learned_later",),
    ),
    # Gaussian starts
    Mutant(
        "digamma of the degrees of freedom, not of half of them",
        "theory/gaussian.py",
        "digamma(nu / 2)",
        "digamma(nu)",
        (_GAUSSIAN + "the_numbers_of_the_theory_notes",),
    ),
    Mutant(
        "variance for standard deviation",
        "theory/gaussian.py",
        "np.sqrt(polygamma(1, nu / 2))",
        "polygamma(1, nu / 2)",
        (_GAUSSIAN + "the_numbers_of_the_theory_notes",),
    ),
    Mutant(
        "quantile q for 1 - q",
        "theory/gaussian.py",
        "gammaincinv(nu / 2, 1 - level)",
        "gammaincinv(nu / 2, level)",
        (_GAUSSIAN + "quantiles_are_those_of_the_chi_square",),
    ),
    Mutant(
        "one degree of freedom too many",
        "theory/gaussian.py",
        "freedom[k] = width - rank",
        "freedom[k] = width - rank + 1",
        (_GAUSSIAN + "mean_and_sd_are_those_of_log_chi_square",),
    ),
    # lemmas
    Mutant(
        "Lemma D.2 drops kappa",
        "theory/lemmas.py",
        "scale.gamma * scale.alpha * scale.kappa)",
        "scale.gamma * scale.alpha)",
        (
            _LEMMAS
            + "every_entry_is_in_the_initial_phase_for_log_P_over_two_eta_gamma_alpha_kappa_steps",
        ),
    ),
    Mutant(
        "Lemma D.1 drops kappa",
        "theory/lemmas.py",
        "(2 * scale.eta * a_i * scale.kappa)",
        "(2 * scale.eta * a_i)",
        (_LEMMAS + "a_level_is_not_reached_before_growth_at_kappa_allows",),
    ),
    Mutant(
        "printed and corrected Lemma D.3 swapped",
        "theory/lemmas.py",
        'if edition == "printed" else waiting',
        'if edition != "printed" else waiting',
        (
            _LEMMAS
            + "the_time_to_leave_the_initial_phase_has_kappa_below_in_print_and_above_corrected",
        ),
    ),
    Mutant(
        "Lemma D.4 speeds up towards saturation",
        "theory/lemmas.py",
        "a_i * (1 - level) / scale.kappa",
        "a_i * (1 + level) / scale.kappa",
        (_LEMMAS + "a_level_is_reached_by_the_sum_of_lemma_D3_and_lemma_D4",),
    ),
    # the statements
    Mutant(
        "D.4 with beta for beta^2",
        "theory/assumptions.py",
        "K * gamma * d * beta**2)",
        "K * gamma * d * beta)",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    Mutant(
        "P for P^2 in the corrected D.4",
        "theory/assumptions.py",
        "_small_initialization(2)",
        "_small_initialization(1)",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    Mutant(
        "D.2 without K",
        "theory/assumptions.py",
        "eta <= 1 / (9 * K * gamma * alpha)",
        "eta <= 1 / (9 * gamma * alpha)",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    Mutant(
        "D.2 without eta's nine",
        "theory/assumptions.py",
        "1 / (9 * K * gamma * alpha)",
        "1 / (8 * K * gamma * alpha)",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    Mutant(
        "D.5 with kappa for kappa^2",
        "theory/assumptions.py",
        "10 * kappa**2 *",
        "10 * kappa *",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    Mutant(
        "D.5 compares with the smaller signal",
        "theory/assumptions.py",
        "(a_i + a_j) / (2 * a_i)",
        "(a_i + a_j) / (2 * a_j)",
        (_CHECK + "margins_are_the_printed_inequalities_written_out",),
    ),
    # feasibility
    Mutant(
        "gap factor 2 for 3",
        "verify/feasibility.py",
        "min((large - 3 * small for large",
        "min((large - 2 * small for large",
        (_FEASIBILITY + "close_or_missing_signals_admit_no_omega",),
    ),
    Mutant(
        "signals in ascending order",
        "verify/feasibility.py",
        "sorted(self.signal, reverse=True)",
        "sorted(self.signal)",
        (_FEASIBILITY + "supremum_of_omega",),
    ),
    Mutant(
        "D forgets the dimension",
        "verify/feasibility.py",
        "balls.ball(K * gamma * problem.d)",
        "balls.ball(K * gamma)",
        (_FEASIBILITY + "supremum_in_closed_form",),
    ),
    Mutant(
        "the threshold forgets one power of beta",
        "verify/feasibility.py",
        "+ b * (2 - rho + Q)) / (1 - rho)",
        "+ b * (1 - rho + Q)) / (1 - rho)",
        (_CHECK + "the_largest_omega_in_closed_form",),
    ),
    Mutant(
        "rho halves the wrong thing",
        "verify/feasibility.py",
        "return (1 + self.ratio) / 2",
        "return 1 + self.ratio / 2",
        (_FEASIBILITY + "supremum_of_omega",),
    ),
    Mutant(
        "the largest eta follows the smallest signal",
        "verify/feasibility.py",
        "return 1 / (9 * K * max(problem.signal))",
        "return 1 / (9 * K * min(problem.signal))",
        (_FEASIBILITY + "largest_eta_is_one_over_180_times_the_largest_signal",),
    ),
    # the task
    Mutant(
        "sigma for sigma^2",
        "theory/task.py",
        "spread**2 + centre**2 / self.s",
        "spread + centre**2 / self.s",
        (_TASK + "signal_is_sigma_squared_plus_mu_squared_over_s",),
    ),
    Mutant(
        "mu/s for mu^2/s",
        "theory/task.py",
        "spread**2 + centre**2 / self.s",
        "spread**2 + centre / self.s",
        (_TASK + "signal_is_sigma_squared_plus_mu_squared_over_s",),
    ),
    Mutant(
        "concepts by ascending signal",
        "theory/task.py",
        "key=lambda place: -exact[place]",
        "key=lambda place: exact[place]",
        (_TASK + "order_is_by_descending_signal_and_stable",),
    ),
    Mutant(
        "omega is the largest entry",
        "theory/initial.py",
        "sizes[sizes > 0].min()",
        "sizes[sizes > 0].max()",
        (_CHECK + "omega_and_beta_are_read_from_W0",),
    ),
    Mutant(
        "zero counts as positive",
        "theory/numbers.py",
        "if number <= 0:",
        "if number < 0:",
        (_CHECK + "wrong_input_is_named",),
    ),
    # curves and comparisons
    Mutant(
        "suppressed at a quarter of the peak",
        "verify/curves.py",
        "(size <= height / 2)",
        "(size <= height / 4)",
        (_PREDICT + "events_are_those_of_a_run",),
    ),
    Mutant(
        "the end comes at a distance of a tenth",
        "verify/curves.py",
        "END_DISTANCE = 0.01",
        "END_DISTANCE = 0.1",
        (_PREDICT + "events_are_those_of_a_run",),
    ),
    Mutant(
        "minima of the loss for maxima",
        "verify/curves.py",
        'near.argmin() if point.kind == "min"',
        'near.argmin() if point.kind == "max"',
        (_PREDICT + "turns_of_the_test_loss_are_predicted",),
    ),
    Mutant(
        "observed over predicted",
        "verify/comparison.py",
        "return self.predicted / self.observed - 1",
        "return self.observed / self.predicted - 1",
        (_COMPARE + "the_relative_error_is_predicted_over_observed_minus_one",),
    ),
    Mutant(
        "a window without its end",
        "verify/comparison.py",
        "self.lower <= self.observed <= self.upper",
        "self.lower <= self.observed < self.upper",
        (_COMPARE + "inside_is_about_the_observation_and_the_window",),
    ),
    Mutant(
        "a minimum pairs with a maximum",
        "verify/pairing.py",
        "return math.inf",
        "total += 0.0",
        (_COMPARE + "a_minimum_is_never_paired_with_a_maximum",),
    ),
    Mutant(
        "the earliest time from the smallest start",
        "verify/windows.py",
        "lemmas.reach_not_before(self.scale, a, high,",
        "lemmas.reach_not_before(self.scale, a, low,",
        (_PREDICT + "windows_from_omega_span_the_starts_that_beta_allows",),
    ),
    Mutant(
        "LaTeX without its escapes",
        "verify/grid.py",
        r""""_": r"\_",""",
        """"_": "_",""",
        (_COMPARE + "latex_escapes_and_balances",),
    ),
    Mutant(
        "failing assumptions exit with zero",
        "cli/commands.py",
        '"fails": 1',
        '"fails": 0',
        (_CLI + "the_exit_code_says_how_it_went[arguments1-1]",),
    ),
    Mutant(
        "arrays are unpickled",
        "cli/matrix_file.py",
        "allow_pickle=False",
        "allow_pickle=True",
        (_CLI + "a_wrong_matrix_file_is_refused",),
    ),
    # runs; of the compiled modules only kernels.py, which no other one calls: numba's cache goes
    # by file, and a compiled caller would not notice that what it calls has changed
    Mutant(
        "the bracket of (D.2) counts a quarter",
        "simulate/kernels.py",
        "(G[i, j] - 0.5 * (Y[i, j] + Y[j, i]))",
        "(G[i, j] - 0.25 * (Y[i, j] + Y[j, i]))",
        (_KERNELS + "every_step_is_that_of_the_printed_formula",),
    ),
    Mutant(
        "gd adds eta B W B for eta^2 B W B",
        "simulate/kernels.py",
        "+ (eta * eta) * second",
        "+ eta * second",
        (_KERNELS + "every_step_is_that_of_the_printed_formula",),
    ),
    Mutant(
        "W(0) of a width forgets its scale",
        "simulate/initialization.py",
        "/ math.sqrt(columns)",
        "/ 1.0",
        ("simulate/test_run.py::test_initial_matrices_have_the_scale_asked_for",),
    ),
    Mutant(
        "a pivot of exactly zero is not missing",
        "simulate/missing.py",
        "pivot <= 0 for",
        "pivot < 0 for",
        ("simulate/test_run.py::test_missing_concepts_are_decided_exactly",),
    ),
)
