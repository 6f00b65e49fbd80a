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
    slow : bool
        Compiling what is mutated takes long, or its tests train: for ``make test-full`` alone.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    slow: bool = False


_DYNAMICS = "theory/test_dynamics.py::test_"
_LANES = "simulate/test_lanes.py::test_"
_STEPS = "simulate/test_steps.py::test_"
_JUMPS = "simulate/test_jumps.py::test_"
_SKIPPING = "simulate/test_skipping.py::test_"
_SWEEPING = "sweeping/test_"
_WATCHED = "simulate/test_watched_lanes.py::test_"
_LAW = "theory/test_stage_law.py::test_"
_DOUBTS = "theory/test_doubts.py::test_"
_STAGES = "theory/test_stages.py::test_"
_GAUSSIAN = "theory/test_gaussian.py::test_"
_LEMMAS = "theory/test_lemmas.py::test_"
_TASK = "theory/test_task.py::test_"
_FEASIBILITY = "verify/test_feasibility.py::test_"
_CHECK = "verify/test_check.py::test_"
_FACTOR = "verify/test_factor.py::test_"
_PREDICT = "verify/test_predict.py::test_"
_DEEP = "theory/test_deep_law.py::test_"
_NETWORK = "verify/test_predict_network.py::test_"
_COMPARE = "verify/test_compare.py::test_"
_CLI = "test_cli.py::test_"
_KERNELS = "simulate/test_kernels.py::test_"
_SCALAR_PROVER = "verify/prover/test_scalar.py::test_"
_CERTIFICATE = "verify/prover/test_certificate.py::test_"
_PROOF = "verify/prover/test_check_proof.py::test_a_proof_is_accepted_and_one_like_it_is_not"
_COUNTEREXAMPLE = "verify/prover/test_counterexample.py::test_"
_BOXES = "verify/prover/test_branch_and_bound.py::test_"
_MATRIX = "verify/prover/test_matrix.py::test_"
_MEAN = "verify/prover/test_mean.py::test_"
_TRAJECTORY = "verify/prover/test_trajectory.py::test_"
_BALL_RUN = "verify/certification/test_ball_run.py::test_"
_SIDE = "verify/prover/test_side_conditions.py::test_"
_SEEDED = "verify/prover/test_seeded.py::test_"
_FLOW_PROVER = "verify/prover/test_flow.py::test_"
_AUDIT = "verify/test_audit.py::test_"
_CACHE = "verify/test_audit_cache.py::test_"
_PROOFS = "theory/test_proof_files.py::test_"
_LEDGER = "verify/test_ledger.py::test_"
_VERDICTS = "verify/test_verdicts.py::test_"
_CERTIFY = "verify/certification/test_"
_CERTIFIED = _CERTIFY + "replay.py::test_the_reference_is_accepted_and_is_what_certify_finds"
_TRAINING = "training/test_"
_IMAGES = "diffusion/test_"
_VECTORS = "diffusion/vectors/test_"
_READING = "diffusion/test_reading.py::test_"
_IMAGE_VERDICTS = "diffusion/test_verdicts.py::test_"
_SIGNALS = "diffusion/test_signals.py::test_"
_COURSE = "diffusion/test_course.py::test_"

MUTANTS = (
    Mutant(
        "gd: the first order with the wrong sign",
        "theory/law/coordinates.py",
        "return B - flow.first * G",
        "return B + flow.first * G",
        (_LAW + "diagonal_starts",),
    ),
    Mutant(
        "euler: the third order with the wrong sign",
        "theory/law/coordinates.py",
        "return low - flow.third * third + flow.fourth * symmetric(last)",
        "return low + flow.third * third + flow.fourth * symmetric(last)",
        (_LAW + "diagonal_starts",),
    ),
    Mutant(
        "the growth of entries is not exact",
        "theory/law/coordinates.py",
        "own = half.sum(axis=0)",
        "own = 0.9 * half.sum(axis=0)",
        (_LAW + "the_drift_under_euler_as_the_start_goes_to_zero",),
    ),
    Mutant(
        "columns turn without their pivots",
        "theory/law/coordinates.py",
        "turning = dot(V, flow.strict * moved * (free * positive_part(z)))",
        "turning = dot(V, flow.strict * moved * free)",
        (_LAW + "the_runaway_has_a_bar_that_holds", _LAW + "ties_and_near_ties"),
    ),
    Mutant(
        "factors forget how fast their rows grow",
        "theory/law/coordinates.py",
        "growing = free * (lower * rate - turned(turned(lower) * rate))",
        "growing = free * (lower * rate)",
        (_LAW + "equal_signals_under_the_flow",),
    ),
    Mutant(
        "error bars that promise everything",
        "theory/law/stages.py",
        "error = np.abs(crossing - late.crossing) + wrong / rate",
        "error = 1e-9 * np.abs(crossing - late.crossing) + wrong / rate",
        (_LAW + "bars_hold_at_coarse_steps",),
    ),
    Mutant(
        "what passes 1/2 on its way is trapped",
        "theory/law/stages.py",
        "doubt[end.highest > PASSING] = PASSES",
        "doubt[end.highest > 2.0] = PASSES",
        (_DOUBTS + "a_component_may_pass_one_half_as_another_concept",),
    ),
    Mutant(
        "a zero pivot is the end",
        "theory/law/stages.py",
        "doubt[turned_into] = TURNS",
        "doubt[turned_into] = SURE",
        (_DOUBTS + "a_concept_of_smaller_signal_may_turn_into_one_without_a_component",),
    ),
    Mutant(
        "what floats do not resolve is trapped",
        "theory/law/stages.py",
        "doubt[given.unresolved] = UNRESOLVED",
        "doubt[given.unresolved] = SURE",
        (_DOUBTS + "a_pivot_that_floats_do_not_resolve_is_undecided_unless_it_is_zero",),
    ),
    Mutant(
        "a free direction is never there",
        "theory/law/stages.py",
        "crossing = np.where(grows, crossing, np.where(above, 0.0, math.inf))",
        "crossing = np.where(grows, crossing, math.inf)",
        (_DOUBTS + "a_free_direction_that_starts_above_one_half_is_there_from_the_start",),
    ),
    Mutant(
        "half-times rounded down",
        "theory/law/stages.py",
        "return np.ceil(self.crossing)",
        "return np.floor(self.crossing)",
        (_STAGES + "the_composite_passes_one_half_at_the_crossing",),
    ),
    Mutant(
        "rounding counts as a pivot",
        "theory/law/pivots.py",
        "MOST_ROUNDING = 3e13",
        "MOST_ROUNDING = 3e26",
        ("theory/test_pivots.py::test_a_rank_one_matrix_has_one_pivot_and_no_more",),
    ),
    Mutant(
        "rows of U(0) are made orthogonal once",
        "theory/law/pivots.py",
        "for _ in range(2):",
        "for _ in range(1):",
        (
            "theory/test_pivots.py::test_pivots_and_factors_of_nearly_dependent_rows_are_off_by_their"
            "_roundings[0]",
        ),
    ),
    Mutant(
        "a distance is as certain as if its row were alone",
        "theory/law/pivots.py",
        "2 * np.abs(by).sum() / length",
        "2 / length",
        (_FACTOR + "the_bar_covers_what_rounding_does_to_a_turned_U0",),
    ),
    Mutant(
        "W(0) of U(0) is judged after its rounding",
        "theory/initial.py",
        "if self.factor is None else self.exact))",
        "))",
        (_FACTOR + "check_takes_entries_and_pivots_without_a_rounding",),
    ),
    # growth rates
    Mutant(
        "euler grows without the logarithm",
        "theory/growth.py",
        '"euler": Dynamics("W", log1p,',
        '"euler": Dynamics("W", lambda x: x,',
        (_DYNAMICS + "linear_part_is_the_growth_rate",),
    ),
    Mutant(
        "the map that decides has half the weight of its square",
        "theory/law/walk.py",
        "total * (C - 0.5 * products)",
        "total * (C - 0.25 * products)",
        ("theory/test_stage_law.py::test_rows_of_the_accuracy_table[drift]",),
    ),
    Mutant(
        "the map is not asked where the orders differ",
        "theory/law/stages.py",
        "if not len(some):",
        "if len(some):",
        ("theory/test_stage_law.py::test_rows_of_the_accuracy_table[drift]",),
    ),
    Mutant(
        "the curve drops entries at a tenth of their peak",
        "theory/law/walk.py",
        "small, fallen = FALLEN",
        "small, fallen = 0.1, 0.1",
        ("theory/test_stages.py::test_minor_entries_of_the_curve_are_those_of_a_run",),
    ),
    Mutant(
        "a half-time is differentiated without the factor of its rate",
        "verify/gradients.py",
        "logit * level * (1.0 - level) / rate",
        "logit * level / rate",
        ("verify/test_gradients.py::test_one_concept_under_the_flow_in_closed_form",),
    ),
    Mutant(
        "an order of elimination is not followed by the derivatives",
        "verify/gradients.py",
        "found * root / root[:, None]",
        "found",
        ("verify/test_gradients.py::test_euler_pivots_that_change_their_order_on_the_way",),
    ),
    Mutant(
        "gd grows as euler does",
        "theory/growth.py",
        "single[..., :, None] + single[..., None, :]",
        "log_factor(step[..., None, None] * (signal[..., :, None] + signal[..., None, :]))",
        (_DYNAMICS + "linear_part_is_the_growth_rate",),
    ),
    Mutant(
        "flow grows twice as fast",
        "theory/growth.py",
        '"flow": Dynamics("", lambda x: x,',
        '"flow": Dynamics("", lambda x: 2 * x,',
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
    # correction
    # finite step
    # pivots
    # stages
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
        "verify/checking/feasibility.py",
        "min((large - 3 * small for large",
        "min((large - 2 * small for large",
        (_FEASIBILITY + "close_or_missing_signals_admit_no_omega",),
    ),
    Mutant(
        "signals in ascending order",
        "verify/checking/feasibility.py",
        "sorted(self.signal, reverse=True)",
        "sorted(self.signal)",
        (_FEASIBILITY + "supremum_of_omega",),
    ),
    Mutant(
        "D forgets the dimension",
        "verify/checking/feasibility.py",
        "balls.ball(K * gamma * problem.d)",
        "balls.ball(K * gamma)",
        (_CHECK + "the_largest_omega_in_closed_form",),
    ),
    Mutant(
        "the threshold forgets one power of beta",
        "verify/checking/feasibility.py",
        "+ b * (2 - rho + Q)) / (1 - rho)",
        "+ b * (1 - rho + Q)) / (1 - rho)",
        (_CHECK + "the_largest_omega_in_closed_form",),
    ),
    Mutant(
        "rho halves the wrong thing",
        "verify/checking/feasibility.py",
        "return (1 + self.ratio) / 2",
        "return 1 + self.ratio / 2",
        (_FEASIBILITY + "supremum_of_omega",),
    ),
    Mutant(
        "the largest eta follows the smallest signal",
        "verify/checking/feasibility.py",
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
        "self._sizes > 0].min()",
        "self._sizes > 0].max()",
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
        "verify/schedule.py",
        "(size <= height / 2)",
        "(size <= height / 4)",
        (_PREDICT + "events_are_those_of_a_run",),
    ),
    Mutant(
        "the end comes at a distance of a tenth",
        "verify/schedule.py",
        "END_DISTANCE = 0.01",
        "END_DISTANCE = 0.1",
        (_PREDICT + "events_are_those_of_a_run",),
    ),
    Mutant(
        "minima of the loss for maxima",
        "verify/schedule.py",
        'near.argmin() if point.kind == "min"',
        'near.argmin() if point.kind == "max"',
        (_PREDICT + "turns_of_the_test_loss_are_predicted",),
    ),
    Mutant(
        "observed over predicted",
        "verify/compare.py",
        "return self.predicted / self.observed - 1",
        "return self.observed / self.predicted - 1",
        (_COMPARE + "the_relative_error_is_predicted_over_observed_minus_one",),
    ),
    Mutant(
        "a window without its end",
        "verify/compare.py",
        "self.lower <= self.observed <= self.upper",
        "self.lower <= self.observed < self.upper",
        (_COMPARE + "inside_is_about_the_observation_and_the_window",),
    ),
    Mutant(
        "a minimum pairs with a maximum",
        "verify/compare.py",
        "                    return math.inf",
        "                    total += 0.0",
        (_COMPARE + "a_minimum_is_never_paired_with_a_maximum",),
    ),
    Mutant(
        "the earliest time from the smallest start",
        "verify/predict.py",
        "lemmas.reach_not_before(self.scale, a, high,",
        "lemmas.reach_not_before(self.scale, a, low,",
        (_PREDICT + "windows_from_omega_span_the_starts_that_beta_allows",),
    ),
    Mutant(
        "LaTeX without its escapes",
        "report/markup.py",
        r""""_": r"\_",""",
        """"_": "_",""",
        (_COMPARE + "latex_escapes_and_balances",),
    ),
    Mutant(
        "a word that is too wide is broken",
        "report/text.py",
        "break_long_words=False",
        "break_long_words=True",
        ("report/test_tables.py::test_a_table_fits_and_keeps_every_word",),
    ),
    Mutant(
        "columns are left out without a word",
        "report/text.py",
        '                lines += wrapped(note, width or USUAL, hang="")\n',
        "",
        ("report/test_tables.py::test_minor_columns_go_first_and_are_named",),
    ),
    Mutant(
        "the width that the shell gives is ignored",
        "report/text.py",
        'width if "COLUMNS" in os.environ else min(_MOST, width)',
        "USUAL",
        ("report/test_tables.py::test_columns_of_the_shell_are_obeyed",),
    ),
    Mutant(
        "half a file stays where the whole should be",
        "report/files.py",
        "        part = target.with_name(name)\n",
        "        part = target\n",
        ("report/test_files.py::test_after_an_error_the_old_file_stands_alone[KeyboardInterrupt]",),
    ),
    Mutant(
        "what was changed passes for what was written",
        "report/files.py",
        'if content["sha256"] != _digest(plain, arrays or {}):',
        'if not content["sha256"]:',
        ("test_cli_files.py::test_no_bit_of_a_file_may_change[result.json-0.01]",),
    ),
    Mutant(
        "arrays in results can be written to",
        "theory/numbers.py",
        "one.setflags(write=False)",
        "one.setflags(write=True)",
        ("test_isolation.py::test_a_result_is_read_only_and_has_copies[run]",),
    ),
    Mutant(
        "an option that is ignored passes",
        "cli/options.py",
        "if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:",
        "if context.get_parameter_source(name) is None:",
        ("test_options.py::test_an_option_changes_something_or_is_refused[check, statements]",),
    ),
    Mutant(
        "the digest leaves the arrays out",
        "report/files.py",
        "        found.update(one.tobytes())\n",
        "",
        ("test_cli_files.py::test_what_was_edited_and_packed_again_is_told",),
    ),
    Mutant(
        "a bar ends a cell of Markdown",
        "report/markup.py",
        r'r"[\\`*|$]|~(?=~)',
        r'r"[\\`*$]|~(?=~)',
        ("report/test_tables.py::test_the_same_words_in_markdown_and_html",),
    ),
    Mutant(
        "failing assumptions exit with zero",
        "cli/options.py",
        "Verdict.FAILS: 1,",
        "Verdict.FAILS: 0,",
        (_CLI + "the_exit_code_says_how_it_went[arguments1-1]",),
    ),
    Mutant(
        "arrays are unpickled",
        "theory/reading.py",
        'return {"": np.load(io.BytesIO(content), allow_pickle=False)}',
        'return {"": np.load(io.BytesIO(content), allow_pickle=True)}',
        (_CLI + "a_wrong_matrix_file_is_refused",),
    ),
    # runs
    Mutant(
        "the bracket of (D.2) counts a quarter in a written-out step",
        "simulate/steps.py",
        "+ ({_g(i, j)} - 0.5 * {both})",
        "+ ({_g(i, j)} - 0.25 * {both})",
        (_STEPS + "compiled_and_plain_steps_have_the_same_bits",),
    ),
    Mutant(
        "the bracket of (D.2) counts a quarter in lanes",
        "simulate/steps.py",
        "fma(-0.5, {both}, {_w(i, j)} + {_g(i, j)})",
        "fma(-0.25, {both}, {_w(i, j)} + {_g(i, j)})",
        (_LANES + "a_step_of_every_lane_is_the_printed_formula",),
    ),
    Mutant(
        "gd adds eta B W B for eta^2 B W B",
        "simulate/steps.py",
        'f"r{j} * c{i}_{j}")',
        'f"c{i}_{j}")',
        (_LANES + "a_step_of_every_lane_is_the_printed_formula",),
    ),
    Mutant(
        "the bracket of (D.2) counts a quarter in NumPy",
        "simulate/steps.py",
        "return G - 0.5 * (Y + Y.T)",
        "return G - 0.25 * (Y + Y.T)",
        (_STEPS + "steps_are_the_printed_maps",),
    ),
    Mutant(
        "gd adds eta B W B for eta^2 B W B in NumPy",
        "simulate/steps.py",
        "(half * C - 0.5 * product(",
        "(C - 0.5 * product(",
        (_STEPS + "steps_are_the_printed_maps",),
    ),
    Mutant(
        "a stage of the flow has the weights of the one before",
        "simulate/steps.py",
        "_upwards(weights[s - 1, :s]",
        "_upwards(weights[s - 2, :s]",
        (_STEPS + "compiled_and_plain_steps_have_the_same_bits",),
    ),
    Mutant(
        "a lane is reached too early",
        "simulate/lanes.py",
        "0.0 if v{i}_{i} >= ",
        "0.0 if 2 * v{i}_{i} >= ",
        (_LANES + "a_step_of_every_lane_is_the_printed_formula",),
    ),
    Mutant(
        "a rise of the test loss counts as a descent in lanes",
        "simulate/lanes.py",
        "+= 1.0 if fell else 0.0",
        "+= 1.0 if rose else 0.0",
        (_WATCHED + "descents_and_transients_are_those_of_single_runs[2-gd]",),
        slow=True,
    ),
    Mutant(
        "the transient of a lane is the smallest entry on the way",
        "simulate/lanes.py",
        "t = u if u > t else t",
        "t = u if u < t else t",
        (_WATCHED + "descents_and_transients_are_those_of_single_runs[2-gd]",),
        slow=True,
    ),
    Mutant(
        "a batch forgets the exponent of omega",
        "simulate/batch.py",
        "parts[..., 1].astype(np.int64)",
        "0 * parts[..., 1].astype(np.int64)",
        (_WATCHED + "a_scale_is_what_it_multiplies_w_by",),
    ),
    Mutant(
        "a jump neglects a part in a million",
        "simulate/jump.py",
        "NEGLIGIBLE = 2.0**-51",
        "NEGLIGIBLE = 2.0**-20",
        (_JUMPS + "a_run_with_jumps_against_mpmath",),
    ),
    Mutant(
        "a coupling grows where it decays",
        "theory/growth.py",
        "np.stack([-rate * apart",
        "np.stack([rate * apart",
        (_SKIPPING + "growth_logarithms_are_right_to_the_last_digit_of_a_long_double",),
    ),
    Mutant(
        "a jump takes the factor of the mirror entry",
        "simulate/jump.py",
        "growth[FIRST], growth[FIRST].swapaxes(1, 2))",
        "growth[FIRST].swapaxes(1, 2), growth[FIRST])",
        (_JUMPS + "a_run_with_jumps_against_mpmath",),
    ),
    Mutant(
        "a jump goes past the products that grow",
        "simulate/jump.py",
        "there & (gain > 0.0)",
        "there & (gain > 1e9)",
        (_JUMPS + "a_run_with_jumps_against_mpmath",),
    ),
    Mutant(
        "a fall within a jump is told a step late",
        "simulate/jump.py",
        "state.suppressed[i, j] = t + steps",
        "state.suppressed[i, j] = t + steps + 1",
        (_SKIPPING + "a_fall_inside_a_jump_is_found_at_its_step",),
    ),
    Mutant(
        "a loss of semidefiniteness in a jump is told at its end",
        "simulate/jump.py",
        "t + bad, order",
        "t + n, order",
        (_SKIPPING + "a_loss_of_psd_inside_a_jump_is_found_at_its_step",),
    ),
    Mutant(
        "a maximum of the test loss is kept as a minimum",
        "simulate/observe.py",
        "turning[1 - up], 1 - up)",
        "turning[1 - up], up)",
        (_KERNELS + "events_are_those_of_the_recorded_trajectory",),
    ),
    Mutant(
        "rounding of an absent component grows for a whole block",
        "simulate/lanes.py",
        "blocks[held] = [quiet_steps(one)",
        "blocks[held] = [256 + 0 * quiet_steps(one)",
        (_LANES + "coarse_steps_from_a_start_of_rank_one_keep_the_rank",),
    ),
    Mutant(
        "the median margin of an even pixel is the lower one",
        "sweeping/phases.py",
        'done["margin"].median(), ',
        'done["margin"].quantile(0.5, interpolation="lower"), ',
        (_SWEEPING + "phase_cells.py::test_numbers_of_a_pixel_by_hand",),
    ),
    Mutant(
        "an unfinished run counts its descents",
        "sweeping/frame.py",
        'ended=ended & frame["descents"].notna(),',
        'ended=done & frame["descents"].notna(),',
        (_SWEEPING + "phase_cells.py::test_an_unfinished_run_counts_no_descents",),
    ),
    Mutant(
        "a line around pixels without a margin",
        "sweeping/picture.py",
        "return ((one > 1) & (other <= 1)) | ((one <= 1) & (other > 1))",
        "return (one > 1) != (other > 1)",
        (_SWEEPING + "phase_picture.py::test_the_line_of_margin_one_runs_between_pixels",),
    ),
    Mutant(
        "undecided points among the disagreements",
        "sweeping/frame.py",
        'decided = ended & (frame["predicted"] != Label.UNDECIDED)',
        "decided = ended",
        (_SWEEPING + "phase_disagreements.py::test_the_surest_comes_first",),
    ),
    Mutant(
        "a point that diverges is foreseen in order",
        "sweeping/measure.py",
        "diverges=bool(np.isfinite(batch.blow_up[number]))",
        "diverges=bool(np.isnan(batch.blow_up[number]))",
        (_SWEEPING + "measure.py::test_what_runs_away_is_foreseen_together",),
    ),
    Mutant(
        "progress says all before it is done",
        "simulate/batch.py",
        "progress(int((kept.outcome != NOT_RUN).sum()), total)",
        "progress(total, int((kept.outcome != NOT_RUN).sum()))",
        (_LANES + "an_interrupted_batch_keeps_what_was_finished[1]",),
    ),
    # predictions and sweeps of many
    Mutant(
        "every step size draws a W(0) of its own",
        "sweeping/point.py",
        '"omega", "width", "seed")',
        '"omega", "width", "seed", "eta")',
        ("sweeping/test_measure.py::test_one_initial_matrix_for_all_dynamics_and_step_sizes",),
    ),
    Mutant(
        "a failed row replaces a measured one",
        "sweeping/store.py",
        '== ("done", "failed"):',
        '== ("done", "gone"):',
        ("sweeping/test_store.py::test_a_row_is_there_once_and_never_gets_worse",),
    ),
    Mutant(
        "a store of another version is gone on with",
        "sweeping/store.py",
        "if value != held:",
        'if value == f"{held}!":',
        ("sweeping/test_store.py::test_another_version_of_swingby_is_read_and_not_written",),
    ),
    Mutant(
        "a digest leaves out the last column",
        "sweeping/store.py",
        "hashlib.sha256(ascii(values).encode())",
        "hashlib.sha256(ascii(values[:20]).encode())",
        ("sweeping/test_store.py::test_what_was_changed_is_refused_and_measured_again[a vector]",),
    ),
    Mutant(
        "rows that are missing from a store are not missed",
        "sweeping/store.py",
        "if (count, checksum) != (self.head.rows, self.head.checksum):",
        "if False:",
        (
            "sweeping/test_store.py::"
            "test_what_was_changed_is_refused_and_measured_again[a row removed]",
        ),
    ),
    Mutant(
        "the schema of a store may have more",
        "sweeping/store.py",
        "if _schema(connection) != ",
        "if _schema(connection)[:2] != ",
        ("sweeping/test_store.py::test_other_databases_formats_and_schemas",),
    ),
    Mutant(
        "equal steps are out of order",
        "sweeping/point.py",
        "earlier < later",
        "earlier <= later",
        ("sweeping/test_measure.py::test_the_order_of_learning_by_hand",),
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
        "simulate/initialization.py",
        "np.asarray((shares <= 0)",
        "np.asarray((shares < 0)",
        ("simulate/test_run.py::test_missing_concepts_are_decided_exactly",),
    ),
    # the prover of inequalities
    Mutant(
        "a certificate may use a negative factor",
        "verify/prover/scalar/certificate.py",
        "if again is None or (coefficient <= 0 and not again.free):",
        "if again is None:",
        (_CERTIFICATE + "a_negative_coefficient_is_refused_even_in_a_true_identity",),
    ),
    Mutant(
        "a strict goal needs nothing strict",
        "verify/prover/scalar/certificate.py",
        'if problem.goal.kind == ">" and not any(piece.strict for _, piece in rebuilt):',
        'if problem.goal.kind == ">" and not rebuilt:',
        (_CERTIFICATE + "a_strict_goal_needs_a_strict_piece",),
    ),
    Mutant(
        "z3 alone counts as a proof",
        "verify/prover/scalar/dispatch.py",
        "answer, point = opinion(problem)\n",
        "answer, point = opinion(problem)\n            if answer == 'unsat':\n"
        "                return Attempt(True, 'z3')\n",
        (_SEEDED + "z3_alone_proves_nothing",),
    ),
    Mutant(
        "at most becomes less than among the hypotheses",
        "verify/prover/scalar/translation.py",
        'KINDS = {"<=": ">=",',
        'KINDS = {"<=": ">",',
        (_SCALAR_PROVER + "a_chain_reports_each_relation",),
    ),
    Mutant(
        "the inverse of an exponential forgets its number",
        "verify/prover/scalar/translation.py",
        "{inverse(monomial): 1 / coefficient}",
        "{inverse(monomial): coefficient}",
        (_CERTIFICATE + "the_inverse_of_an_exponential_keeps_its_number",),
    ),
    Mutant(
        "an equation of an absolute value is two equations",
        "verify/prover/scalar/relation.py",
        'if size and relation.small == piece and relation.kind != "=="',
        "if size and relation.small == piece",
        (_CERTIFICATE + "an_equation_with_an_absolute_value_is_not_two_equations",),
    ),
    Mutant(
        "a witness need not satisfy the hypotheses",
        "verify/prover/scalar/counterexample.py",
        "is True for c in given)",
        "is not None for c in given)",
        (_SEEDED + "a_point_outside_the_hypotheses_is_no_witness",),
    ),
    Mutant(
        "a witness need not satisfy D.5",
        "verify/prover/scalar/counterexample.py",
        "for statement in text.PRINTED\n",
        "for statement in text.PRINTED[:-1]\n",
        (_COUNTEREXAMPLE + "a_spoiled_set_is_refused[C]",),
    ),
    Mutant(
        "a ball contains every rational",
        "verify/prover/scalar/exact_value.py",
        "return bool(abs(number - _dyadic(ball.mid())) <= _dyadic(ball.rad()))",
        "return bool(abs(number - _dyadic(ball.mid())) >= 0)",
        (_COUNTEREXAMPLE + "a_ball_contains_a_rational_exactly_or_not",),
    ),
    Mutant(
        "the verdict on an existence claim is not turned",
        "verify/prover/scalar/dispatch.py",
        "{Finding.PROVED: Finding.REFUTED, Finding.REFUTED: Finding.PROVED}",
        "{Finding.PROVED: Finding.PROVED}",
        (_SCALAR_PROVER + "an_existence_claim_is_refuted_by_its_negation",),
    ),
    Mutant(
        "a box that touches zero proves a strict goal",
        "verify/prover/scalar/branch_and_bound.py",
        "    if low > 0 or (not strict and low >= 0):\n        return True\n    if high",
        "    if low >= 0:\n        return True\n    if high",
        (_SEEDED + "a_box_whose_edge_touches_zero_proves_no_strict_goal",),
    ),
    Mutant(
        "convex functions are least at the edges",
        "verify/prover/scalar/branch_and_bound.py",
        "balled)[1] <= 0:",
        "balled)[0] >= 0:",
        (_BOXES + "a_touching_point_inside_is_left_open",),
    ),
    Mutant(
        "a strict goal becomes a weak one",
        "verify/prover/scalar/translation.py",
        '"<": ">",',
        '"<": ">=",',
        (_SCALAR_PROVER + "spoiled_lines_are_never_proved[D.34, strict]",),
    ),
    Mutant(
        "the second evaluation skips the hypotheses",
        "verify/prover/scalar/exact_value.py",
        "for relation in (*given, goal):",
        "for relation in (goal,):",
        (_SEEDED + "a_point_outside_the_hypotheses_is_no_witness",),
    ),
    Mutant(
        "zero is positive on a box",
        "verify/prover/scalar/branch_and_bound.py",
        "    report.boxes += 1\n    if f == 0:\n        return not strict",
        "    report.boxes += 1\n    if f == 0:\n        return True",
        (_BOXES + "strict_goals_are_not_proved_by_touching",),
    ),
    Mutant(
        "a denominator may be zero",
        "verify/prover/scalar/relation.py",
        "            if exponent < 0:\n",
        "            if exponent < -64:\n",
        (_SIDE + "what_is_cancelled_is_judged_first",),
    ),
    Mutant(
        "what is open about being defined does not count",
        "verify/prover/scalar/dispatch.py",
        "if found.verdict is Finding.PROVED and open_conditions:",
        "if found.verdict is Finding.PROVED and not open_conditions and evidence is None:",
        (_SIDE + "a_line_that_is_not_shown_to_be_defined_is_not_proved",),
    ),
    Mutant(
        "an equation gives a positive letter any value",
        "verify/prover/scalar/sampling.py",
        "return [value] if may_be(value, letter) else []",
        "return [value]",
        (_SIDE + "witnesses_respect_what_sympy_assumes_of_letters",),
    ),
    Mutant(
        "a certificate may forget its squares",
        "verify/prover/scalar/certificate.py",
        "piece.monomial, square=piece.square)",
        "piece.monomial, square=None)",
        (_SIDE + "squares_are_verified_exactly",),
    ),
    Mutant(
        "at an irrational root a factor is not zero",
        "verify/prover/scalar/laurent.py",
        "if factor is not None and polynomial.rem(factor).is_zero:",
        "if factor is None and polynomial.is_zero:",
        (_SIDE + "roots_decide_one_unknown_completely",),
    ),
    Mutant(
        "a solution may divide by zero",
        "verify/prover/algebra/dispatch.py",
        "        if undefined is not None:\n",
        "        if undefined is not None and case:\n",
        (_SIDE + "a_solution_that_divides_by_a_rate_needs_the_rate",),
    ),
    # the provers of matrix identities and means
    Mutant(
        "words under a trace are not rotated",
        "verify/prover/algebra/words.py",
        "for turn in range(len(word))",
        "for turn in range(min(1, len(word)))",
        (_MATRIX + "known_identities_are_proved[conclusion1]",),
    ),
    Mutant(
        "equal at small sizes is equal in every dimension",
        "verify/prover/algebra/matrix.py",
        "    if general:\n",
        "    if general or failing is None:\n",
        (_MATRIX + "commutativity_needs_d_2",),
    ),
    Mutant(
        "the fourth Gaussian moment is 1",
        "verify/prover/algebra/words.py",
        "math.comb(order, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))",
        "math.comb(order, 2 * pairs)",
        (_MEAN + "raw_moments",),
    ),
    Mutant(
        "the entries of U have the variance tau",
        "verify/prover/algebra/mean.py",
        "(zero, scale * scale)",
        "(zero, scale)",
        (_MEAN + "known_means_are_proved[conclusion5]",),
    ),
    # claims along trajectories, and the repaired edition
    Mutant(
        "gd in balls forgets eta^2 B W B",
        "verify/certification/ball_run.py",
        '_Euler(signal, eta) if dynamics == "euler" else _GradientDescent(signal, eta)',
        "_Euler(signal, eta)",
        (_BALL_RUN + "the_balls_contain_the_exact_rationals[scale0-1-gd]",),
    ),
    Mutant(
        "one ball run is enough for a violation",
        "verify/prover/trajectories/judge.py",
        "sides = confirm(claim, violation, run.instance, again)",
        "sides = first[name]",
        (_SEEDED + "a_violation_needs_the_second_ball_run[gd]",),
    ),
    Mutant(
        "a violation need not satisfy the hypotheses",
        "verify/prover/trajectories/judge.py",
        "if not _all_hold([given.relation for given in claim.given], fixed):",
        "if not fixed:",
        (_SEEDED + "a_violation_needs_the_hypotheses_and_disjoint_balls",),
    ),
    Mutant(
        "balls that overlap count as a violation",
        "verify/prover/trajectories/judge.py",
        "if not small > large:",
        "if small < large:",
        (_SEEDED + "a_violation_needs_the_hypotheses_and_disjoint_balls",),
    ),
    Mutant(
        "the first anchor for the tightest",
        "verify/prover/trajectories/violation.py",
        "np.where(at >= 0, at + start, -1)",
        "np.where(at >= 0, start + np.argmax(begins[start:end]), -1)",
        (_TRAJECTORY + "the_tightest_anchor_finds_what_all_pairs_find[claim2]",),
    ),
    Mutant(
        "an interval is judged at its midpoint",
        "verify/prover/repaired/flow.py",
        "around = balls.ball(middle) + balls.ball(half) * flint.arb(0, 1)",
        "around = balls.ball(middle) + balls.ball(half) * 0",
        (_FLOW_PROVER + "interval_that_touches_the_bound_is_undecided",),
    ),
    # the audit: what is kept, and what follows from a repair
    Mutant(
        "the error of a prover is kept",
        "verify/audit.py",
        "if self._cache and verdict.method != FAILED:",
        "if self._cache:",
        (_AUDIT + "a_prover_that_fails_gives_no_verdict_and_leaves_nothing_behind",),
    ),
    Mutant(
        "the key of a verdict forgets the provers",
        "verify/audit_cache.py",
        "[content(claim), code_hash(), *_versions()]",
        "[content(claim), *_versions()]",
        (_CACHE + "the_code_behind_a_verdict_is_part_of_the_key",),
    ),
    Mutant(
        "the key of a verdict covers the outer modules only",
        "verify/audit_cache.py",
        "        waiting += [root / relative for relative in _imported(seen[name])]\n",
        "",
        (_SEEDED + "the_key_of_a_verdict_covers_every_module_of_the_provers",),
    ),
    Mutant(
        "an edited file of the cache is used",
        "verify/audit_cache.py",
        'if kept["check"] != _check(name, kept["judged"], kept["seconds"]):',
        'if not kept["check"]:',
        (_CACHE + "a_damaged_or_edited_file_is_ignored",),
    ),
    Mutant(
        "a line stands on one that falls",
        "verify/standing.py",
        "worst = max((part[0] for part in parts)",
        "worst = min((part[0] for part in parts)",
        ("verify/test_standing.py::test_a_line_is_as_good_as_the_worst_that_can_be_reached",),
    ),
    Mutant(
        "a display does not go on in later lines",
        "verify/standing.py",
        "    if old not in starts:",
        "    if old not in starts or True:",
        (_AUDIT + "downstream_goes_on_where_a_later_line_starts_at_what_has_changed",),
    ),
    Mutant(
        "the repair is not put in downstream",
        "verify/standing.py",
        "given += [Given(relation, refuted.id) for relation in repair.conditions]",
        "given.append(hypothesis)",
        (_AUDIT + "downstream_is_judged_with_the_repaired_hypothesis",),
    ),
    Mutant(
        "undecided repairs are corrections",
        "verify/corrections.py",
        "_STANDING = (Finding.PROVED, Finding.TESTED)",
        "_STANDING = (Finding.PROVED, Finding.TESTED, Finding.UNDECIDED)",
        (_SEEDED + "an_undecided_repair_is_no_correction",),
    ),
    # the lines of the text, and how they read
    Mutant(
        "a difference in a proof file is a sum",
        "theory/proofs/formulas.py",
        'negative = part != "+"',
        "negative = False",
        (_PROOFS + "a_formula_is_what_a_mathematician_reads",),
    ),
    Mutant(
        "a product in a proof file is a quotient",
        "theory/proofs/formulas.py",
        'if node.data == "quotient":',
        'if node.data == "product" and before:',
        (_PROOFS + "a_formula_is_what_a_mathematician_reads",),
    ),
    Mutant(
        "a mistake is placed in the line above",
        "theory/proofs/formulas.py",
        "line = self.line + at[0] - 1",
        "line = self.line + at[0] - 2",
        (_PROOFS + "a_mistake_is_named_with_its_place",),
    ),
    Mutant(
        "a line of a proof may rest on the lines below it",
        "theory/proofs/reader.py",
        "self._entries[id].block.head.line < line",
        "self._entries[id].block.head.line > 0",
        (_PROOFS + "a_mistake_is_named_with_its_place",),
    ),
    Mutant(
        "hypotheses that a repair adds stand in place of the others",
        "theory/proofs/reader.py",
        'changes["given"] = (*before, *self._hypotheses(own["also given"]))',
        'changes["given"] = tuple(self._hypotheses(own["also given"]))',
        (_PROOFS + "every_field_of_a_line_is_read",),
    ),
    Mutant(
        "a proof file is written without its definitions",
        "theory/proofs/writer.py",
        "if claim.where != (above.where if above else ()):",
        "if above and claim.where != above.where:",
        (_PROOFS + "what_is_written_is_read_as_it_was",),
    ),
    Mutant(
        "every line of a proof file is expected to be proved",
        "testing/ledger_items.py",
        '"refuted" if version.flaw else "proved"',
        '"proved"',
        ("testing/test_plugin.py::test_the_lines_of_a_proof_file_are_tests",),
    ),
    Mutant(
        "the printed D.61 has its one fifth",
        "theory/proofs/suppression.proof",
        "then collected <= -ω α/C",
        "then collected <= -ω α/(5 C)",
        (_VERDICTS + "verdict[D.61]",),
    ),
    Mutant(
        "the bound of the noise loses beta^2",
        "theory/proofs/suppression.proof",
        "let noise = 2 P γ α d β² ω²",
        "let noise = 2 P γ α d ω²",
        ("verify/test_perturbed.py::test_a_dropped_power_of_beta_is_never_proved[D.65-False]",),
    ),
    Mutant(
        "the mended line before D.29 allows negative x",
        "theory/proofs/initial_lower_bound.proof",
        "    also given x >= 0  [case]\n",
        "    for any\n",
        (_VERDICTS + "verdict_on_the_repair[before D.29]",),
    ),
    Mutant(
        "P beta omega is squared too",
        "theory/derivations/ledger.py",
        "if d in bases:",
        "if P in bases:",
        ("verify/test_corrected_chain.py::test_only_P_beside_d_is_squared",),
    ),
    Mutant(
        "two claims share an id",
        "theory/derivations/ledger.py",
        "    if twice:\n",
        "    if len(twice) > 1:\n",
        (_LEDGER + "two_claims_cannot_share_an_id",),
    ),
    Mutant(
        "a lemma stands behind its proof",
        "theory/derivations/ledger.py",
        '"Lemma D.7": ("D", 57, 0)',
        '"Lemma D.7": ("D", 73, 0)',
        (_LEDGER + "ids_stand_where_the_text_has_them",),
    ),
    Mutant(
        "a denominator needs no brackets",
        "theory/formula.py",
        "_wrap(below, len(bottom) > 1, latex)",
        "_wrap(below, len(bottom) > 9, latex)",
        (_LEDGER + "formulas_evaluate_to_what_they_show",),
    ),
    Mutant(
        "the assumptions in force go unsaid",
        "theory/claim_text.py",
        "    if claim.in_force:\n        lines",
        "    if claim.in_force is None:\n        lines",
        (_LEDGER + "a_claim_names_hypotheses_sources_entries_and_what_is_in_force",),
    ),
    # certified runs
    Mutant(
        "a neighbourhood of I twice as wide",
        "verify/certification/events.py",
        "radius = (1 - rho) / (4 * largest)",
        "radius = (1 - rho) / (2 * largest)",
        (_CERTIFY + "convergence.py::test_one_step_obeys_the_lemma[euler]",),
    ),
    Mutant(
        "the largest signal alone bounds the rate",
        "verify/certification/events.py",
        "rho = max(abs(1 - 2 * eta * min(signal)), abs(1 - 2 * largest))",
        "rho = abs(1 - 2 * largest)",
        (_CERTIFY + "convergence.py::test_one_step_obeys_the_lemma[gd]",),
    ),
    Mutant(
        "a later equal peak wins",
        "verify/certification/events.py",
        (
            "            if size <= peak.size:\n"
            "                continue\n"
            "            if size > peak.size:"
        ),
        (
            "            if size < peak.size:\n"
            "                continue\n"
            "            if size >= peak.size:"
        ),
        (_CERTIFY + "certify.py::test_a_tie_of_two_steps_goes_to_the_first",),
    ),
    Mutant(
        "an open passage counts as reached",
        "verify/certification/events.py",
        (
            "            while levels and not w < levels[-1][1]:\n"
            "                name, level = levels.pop()\n"
            "                if w >= level:"
        ),
        (
            "            while levels and not w < levels[-1][1]:\n"
            "                name, level = levels.pop()\n"
            "                if not w < level:"
        ),
        (_CERTIFY + "certify.py::test_an_open_entry_is_doubted_or_noted[passages/1/2/1]",),
    ),
    Mutant(
        "an open pivot counts as positive",
        "verify/certification/ball_run.py",
        "            return False if any(rest[i][i] < 0 for i in range(k, size)) else None",
        "            return False if any(rest[i][i] < 0 for i in range(k, size)) else True",
        (_CERTIFY + "semidefinite.py::test_semidefinite_agrees_with_sympy",),
    ),
    Mutant(
        "a zero pivot needs no zero row",
        "verify/certification/ball_run.py",
        "        if pivot == 0 and any(rest[k][j] != 0 for j in range(k + 1, len(rest))):",
        "        if pivot == 0 and not rest:",
        (_CERTIFY + "semidefinite.py::test_semidefinite_agrees_with_sympy",),
    ),
    Mutant(
        "enclosures without their allowance",
        "verify/certification/enclosure.py",
        "    slack = ALLOWANCE * abs(number)",
        "    slack = 0 * ALLOWANCE * abs(number)",
        (_CERTIFY + "certificate.py::test_enclosures_agree_with_the_decimal_module[1/2]",),
    ),
    Mutant(
        "enclosures rounded inwards",
        "verify/certification/enclosure.py",
        "    if left and upward == (number > 0):",
        "    if left and upward != (number > 0):",
        (_CERTIFY + "certificate.py::test_enclosures_agree_with_the_decimal_module[1/3]",),
    ),
    Mutant(
        "exact steps of gd are those of euler",
        "verify/certification/ball_run.py",
        "            following = (identity + change) * W * (identity + change)",
        "            following = W + change * W + W * change",
        (
            _CERTIFY
            + "replay.py::test_the_reference_is_accepted_and_is_what_certify_finds[two, gd]",
        ),
    ),
    Mutant(
        "the digest is not looked at",
        "verify/certification/replay.py",
        'inputs["digest"] = hashlib.sha256(text.encode()).hexdigest()',
        'inputs["digest"] = certificate.get("digest")',
        (_CERTIFY + "replay.py::test_every_single_change_is_rejected[case0]",),
    ),
    Mutant(
        "the replay forgets the error of a product",
        "verify/certification/replay.py",
        "growth = max(growth, abs(own) + g[i] + g[j] + g[i] * r + rest)",
        "growth = max(growth, abs(own))",
        (_CERTIFY + "replay.py::test_a_step_in_fixed_point_encloses_the_printed_map[0-euler]",),
    ),
    Mutant(
        "margins are not widened for floats",
        "verify/checking/certified.py",
        "    return exact + direction * (1 + abs(exact)) * _FLOAT_ROUNDING",
        "    return exact",
        (
            "verify/test_certified_assumptions.py::test_boxes_across_an_edge_enclose_check_at_their_points[signal0-omega0-beta0-printed]",
        ),
    ),
    Mutant(
        "a pair of free directions is far apart",
        "verify/checking/evaluation.py",
        "return flint.arb.pos_inf() if apart else flint.arb.neg_inf()",
        "return flint.arb.pos_inf()",
        (_CHECK + "two_free_directions_fail_D5_by_their_own_pair",),
    ),
    Mutant(
        "a turning component goes unsaid",
        "simulate/initialization.py",
        "            found[k] = missing[k] and any(a < signal[k] for a in there)",
        "            found[k] = False",
        ("simulate/test_run.py::test_a_component_that_may_turn_is_warned_of[gd]",),
    ),
    Mutant(
        "contributions leave out the mirror entry",
        "figures/criteria.py",
        "(parts[j, i] if i != j else 0.0)",
        "0.0",
        (
            "figures/test_theory_figures.py::test_contributions_add_up_to_the_change_of_the_loss[5-c-a-p-t-i-o-n]",
        ),
    ),
    Mutant(
        "altered data of a figure passes",
        "figures/make.py",
        'if facts != content or content["format"] != FORMAT:',
        'if content["format"] != FORMAT:',
        ("figures/test_make_figures.py::test_data_of_another_run_does_not_pass",),
    ),
    Mutant(
        "another release keeps old figures",
        "figures/figure.py",
        '            "swingby": swingby.__version__,\n',
        "",
        ("figures/test_make_figures.py::test_another_release_computes_again",),
    ),
    Mutant(
        "half of the runs count as most",
        "figures/criteria.py",
        "    return reaches(share, MOST)",
        "    return reaches(share, HALF)",
        ("figures/test_network_figures.py::test_shares",),
    ),
    Mutant(
        "a concept never learned comes first",
        "figures/criteria.py",
        'np.isnan(data["half_times"]), np.inf,',
        'np.isnan(data["half_times"]), 0.0,',
        ("figures/test_network_figures.py::test_order_of_learning",),
    ),
    Mutant(
        "the code edition takes sigma for a standard deviation",
        "figures/trained.py",
        '"sigma_is": "variance" if edition == "code"',
        '"sigma_is": "variance" if edition == "caption"',
        ("figures/test_network_figures.py::test_captions_and_code_differ_as_known",),
    ),
    Mutant(
        "epochs are cut like cells",
        "figures/criteria.py",
        'value if name == "epochs" or not',
        "value if not",
        ("figures/test_network_figures.py::test_a_part_of_the_cells",),
    ),
    Mutant(
        "the chord is on the other side",
        "figures/trained.py",
        "return np.asarray(0.5 * within",
        "return np.asarray(-0.5 * within",
        ("figures/test_network_figures.py::test_areas_turns_and_dips_of_known_paths",),
    ),
    # training
    Mutant(
        "the bias of a hidden layer learns its own 1",
        "training/written.py",
        "                further[:, :, -1] = 0.0",
        "                pass",
        (_TRAINING + "against_plain_torch.py::test_linear_networks[written-sgd-3-True]",),
    ),
    Mutant(
        "targets of one's own are seen by half",
        "training/written.py",
        "            E = E - cross",
        "            E = E - cross / 2",
        (_TRAINING + "given_points.py::test_weights_and_losses_are_those_of_the_formula",),
    ),
    Mutant(
        "one half is passed at the second step above it",
        "training/recorder.py",
        "        reached = seen >= 0.5",
        "        reached = seen > 0.5 + 1e-2",
        (_TRAINING + "records.py::test_half_times_are_those_of_every_step_whatever_is_kept",),
    ),
    Mutant(
        "an extreme between two chunks is forgotten",
        "training/recorder.py",
        "enumerate(losses, start), LEAST_TURN",
        "enumerate(losses), LEAST_TURN",
        (_TRAINING + "records.py::test_extrema_are_the_zigzag_of_the_loss[0.01]",),
    ),
    Mutant(
        "rotations without the signs of R",
        "training/data.py",
        "return np.asarray(Q * np.sign(np.diagonal(R)))",
        "return np.asarray(Q)",
        (_TRAINING + "points.py::test_rotations_are_orthogonal_and_uniform",),
    ),
    Mutant(
        "truncated points are drawn again without a look",
        "training/data.py",
        "            if not inside.size:\n                break",
        "            if inside.size < 20:\n                break",
        (_TRAINING + "points.py::test_truncation_leaves_no_point_in_the_ball",),
    ),
    Mutant(
        "the loss of torch is one over d",
        "training/setting.py",
        "else 2.0 / setting.task.dim",
        "else 1.0 / setting.task.dim",
        (_TRAINING + "clock.py::test_the_loss_of_torch_is_that_of_the_paper_times_two_over_d",),
    ),
    Mutant(
        "U U^T on the clock of two layers",
        "training/setting.py",
        "return 2.0 * rate if setting.network.symmetric else rate",
        "return rate",
        (
            _TRAINING
            + "clock.py::test_the_symmetric_network_is_gd_of_simulate_step_by_step[written-paper]",
            _TRAINING + "survival.py::test_everything_survives_at_home_and_not_in_two_layers",
        ),
    ),
    Mutant(
        "AdamW in the coordinates of the concepts",
        "training/data.py",
        'rotated = first.optimizer.kind != "adamw"',
        "rotated = True",
        (_TRAINING + "against_plain_torch.py::test_adamw_on_linear_networks[three]",),
    ),
    Mutant(
        "an interrupt does not wait for the end of a chunk",
        "training/loop.py",
        "        self.waiting = number\n",
        '        self.waiting = number\n        self.deliver("now")\n',
        (_TRAINING + "resume.py::test_ctrl_c_at_random_steps[sgd]",),
    ),
    Mutant(
        "SIGTERM is left to itself",
        "training/loop.py",
        "for one in (signal.SIGINT, signal.SIGTERM) if self._catch else ():",
        "for one in (signal.SIGINT,) if self._catch else ():",
        (_TRAINING + "resume.py::test_a_process_that_is_stopped[15]",),
    ),
    Mutant(
        "the number of steps of AdamW is lost with a restart",
        "training/loop.py",
        "if self.torch.is_tensor(value):",
        "if self.torch.is_tensor(value) and value.ndim:",
        (_TRAINING + "resume.py::test_ctrl_c_at_random_steps[adamw]",),
    ),
    Mutant(
        "what is kept beside the weights is not restored",
        "training/loop.py",
        "    parts = (learner, *beside)\n",
        "    parts = (learner,)\n",
        (_TRAINING + "resume.py::test_ctrl_c_at_random_steps[sgd]",),
    ),
    Mutant(
        "a checkpoint is taken whatever its digest",
        "training/checkpoint.py",
        'if header.pop("sha256", "none") != _digest(header, tensors, torch):',
        'if header.pop("sha256", "none") == _digest(header, {}, torch):',
        (_TRAINING + "resume.py::test_a_bit_that_flips_is_refused_or_changes_nothing",),
    ),
    Mutant(
        "checkpoints of other settings are taken",
        "training/checkpoint.py",
        'if header.get("identity") != name:',
        "if False:",
        (_TRAINING + "resume.py::test_other_settings_are_another_file",),
    ),
    Mutant(
        "archives may hold objects",
        "theory/reading.py",
        "with np.load(io.BytesIO(content), allow_pickle=False) as file:",
        "with np.load(io.BytesIO(content), allow_pickle=True) as file:",
        (
            _TRAINING + "run_archive.py::test_objects_are_refused_and_nothing_is_run[output]",
            "sweeping/test_store.py::test_arrays_are_never_unpickled",
        ),
    ),
    Mutant(
        "the last batch counts as a whole one",
        "training/data.py",
        "return across @ x / x.shape[1], None",
        "return across @ x / self._points._size, None",
        (_TRAINING + "against_plain_torch.py::test_linear_networks[written-sgd-1-False]",),
    ),
    Mutant(
        "one order for all epochs whatever is asked for",
        "training/data.py",
        'which = epoch if setting.optimizer.shuffle == "epoch" else 0',
        "which = 0",
        (_TRAINING + "points.py::test_the_order_of_an_epoch",),
    ),
    Mutant(
        "networks come back in the order of their groups",
        "training/result.py",
        'order = np.argsort(np.concatenate([np.asarray(one) for one in places]), kind="stable")',
        "order = np.arange(sum(map(len, places)))",
        (_TRAINING + "company.py::test_in_any_order_and_mixture[0]",),
    ),
    Mutant(
        "the slope of gelu without its second term",
        "training/model.py",
        "return 0.5 * (1.0 + torch.erf(z * 0.5**0.5)) + z * normal",
        "return 0.5 * (1.0 + torch.erf(z * 0.5**0.5))",
        (_TRAINING + "records.py::test_the_jacobian_is_that_of_torch_func[network3-optimizer3]",),
    ),
    Mutant(
        "memory of what is kept goes uncounted",
        "training/run.py",
        "    record_bytes = 8 * kept *",
        "    record_bytes = 0 * kept *",
        (
            _TRAINING
            + "wrong_input.py::test_absurd_sizes_are_refused_before_allocation[named2-huge2]",
        ),
    ),
    Mutant(
        "a concept that is never learned counts as learned",
        "cli/networks.py",
        'return 0 if set(run.outcomes) == {"learned"} else 1',
        "return 0",
        (_TRAINING + "train_command.py::test_exit_code_1_where_something_is_not_learned",),
    ),
    Mutant(
        "the growing mode is the first layer",
        "training/survival.py",
        "    U = (first.T + second) / 2\n",
        "    U = first.T\n",
        (_TRAINING + "survival.py::test_two_layers_run_on_the_law_of_their_growing_mode",),
    ),
    Mutant(
        "the clock of the first stage takes the growth of W for that of U",
        "training/laws.py",
        "np.polyfit(steps, line, 1)[0]) / 2), 0.5)",
        "np.polyfit(steps, line, 1)[0])), 0.5)",
        (_TRAINING + "forecast.py::test_the_law_goes_on_from_the_cut_and_beats_what_is_simpler",),
    ),
    Mutant(
        "forecasts look past the cut",
        "training/laws.py",
        "        W = run.jacobian[place, place_at]\n",
        "        W = run.jacobian[place, -1]\n",
        (_TRAINING + "forecast.py::test_nothing_after_the_cut_is_looked_at",),
    ),
    Mutant(
        "the tail decays as in U U^T",
        "training/survival.py",
        "    rate = (total - math.sqrt(total * total - 4 * weak * (strong - weak))) / 2",
        "    rate = (strong - weak) / 2",
        (_TRAINING + "survival.py::test_a_tail_is_an_eigenvector",),
    ),
    # diffusion: measured circles, responses, signals, plans, verdicts
    Mutant(
        "a response is divided by the length of its direction alone",
        "diffusion/course.py",
        "(means[asked] - means[other]) * way).sum() / (way**2).sum()",
        "(means[asked] - means[other]) * way).sum() / np.sqrt((way**2).sum())",
        (_COURSE + "the_response_is_w_of_a_linear_denoiser",),
    ),
    Mutant(
        "the response to size is read off the blue circles",
        "diffusion/course.py",
        '"trained": ((2, 0), (1, 0))',
        '"trained": ((2, 0), (3, 2))',
        (_COURSE + "directions_are_those_of_the_pairs",),
    ),
    Mutant(
        "a concept counts as learned when it is first followed",
        "diffusion/course.py",
        "last = int(below[-1])",
        "last = int(below[0])",
        (_COURSE + "times_by_hand",),
    ),
    Mutant(
        "the bend is not scaled by its triangle",
        "diffusion/course.py",
        "return float(cross.sum() / (away[-1, 0] * away[-1, 1]))",
        "return float(cross.sum())",
        (_COURSE + "corner_paths_bend_by_one",),
    ),
    Mutant(
        "an empty canvas counts unless it is faint and without a circle",
        "diffusion/circles.py",
        "np.where(faint | chance, EMPTY, kind)",
        "np.where(faint & chance, EMPTY, kind)",
        (_READING + "an_empty_canvas_is_no_small_circle[0.03]",),
    ),
    Mutant(
        "what lies beside a circle does not matter",
        "diffusion/circles.py",
        "second > SECOND, NOISE",
        "second > 100 * SECOND, NOISE",
        (_READING + "two_circles_are_not_one[radii2]",),
    ),
    Mutant(
        "a rough picture counts",
        "diffusion/circles.py",
        "residual > ROUGH, NOISE",
        "residual > 10 * ROUGH, NOISE",
        (_READING + "noise_is_no_circle[red]",),
    ),
    Mutant(
        "circles of any colour count",
        "diffusion/circles.py",
        "inside & decided & side & red_or_blue",
        "decided & side & red_or_blue",
        (_READING + "a_wrong_colour",),
    ),
    Mutant(
        "the grid of pixels adds nothing to the error of a radius",
        "diffusion/circles.py",
        "squares = squares + (along * grid) ** 2",
        "squares = squares + 0 * along",
        (_READING + "circles_of_the_generator_are_measured",),
    ),
    Mutant(
        "size is read off the classes that differ in colour",
        "diffusion/theory.py",
        "OTHER_CLASS = (2, 1)",
        "OTHER_CLASS = (2, 2)",
        (_SIGNALS + "registered_signals_in_closed_form",),
        slow=True,
    ),
    Mutant(
        "distances of mean images keep the bias of their noise",
        "diffusion/theory.py",
        "of_all = (total @ total.T - squares.sum(0)) / (count * (count - 1))",
        "of_all = total @ total.T / count**2",
        (_SIGNALS + "few_batches_leave_no_bias_in_the_distance",),
        slow=True,
    ),
    Mutant(
        "a covariance forgets how the condition is read",
        "diffusion/theory.py",
        "read[place] = (gain * offsets) @",
        "read[place] = offsets @",
        (_SIGNALS + "covariances_by_plain_sampling",),
        slow=True,
    ),
    Mutant(
        "a plan that was edited is taken where there are data",
        "diffusion/study.py",
        "        if found != plan.digest:",
        "        if not found:",
        (_IMAGES + "study.py::test_before_there_are_data_a_plan_may_change",),
    ),
    Mutant(
        "a study does not say that its plan was edited",
        "diffusion/study.py",
        'if plain["digest"] != plan.digest:',
        'if not plain["digest"]:',
        (_IMAGES + "malicious_files.py::test_a_plan_that_was_edited_does_not_fit_its_data",),
    ),
    Mutant(
        "runs of two cells share their seeds",
        "diffusion/plan.py",
        "self.first_seed + k * self.seeds + turn",
        "self.first_seed + turn",
        (_IMAGE_VERDICTS + "every_run_has_a_seed_of_its_own",),
    ),
    Mutant(
        "times are compared without what was predicted",
        "diffusion/verdicts.py",
        "off.append(math.log(before / after) - expected[-1] if known",
        "off.append(math.log(before / after) if known",
        (_IMAGE_VERDICTS + "the_signal_that_sets_the_pace_is_told_from_the_others",),
    ),
    Mutant(
        "seeds that never learn are left out of the mean",
        "diffusion/verdicts.py",
        "if not missing and len(off) >= FEWEST:",
        "if len(off) >= FEWEST:",
        (_IMAGE_VERDICTS + "one_run_that_never_learns_leaves_times_open",),
    ),
    Mutant(
        "two pairs decide",
        "diffusion/verdicts.py",
        "FEWEST = 3",
        "FEWEST = 2",
        (_IMAGE_VERDICTS + "an_unfinished_study_is_open",),
    ),
    Mutant(
        "swingby vectors ends well where a prediction is refuted",
        "cli/networks.py",
        "return exit_code(row.verdict for row in found.rows)",
        "return 0",
        ("diffusion/vectors/test_vectors_command.py::test_exit_codes",),
        slow=True,
    ),
    Mutant(
        "diffusion in concept space forgets the weight of the loss",
        "diffusion/vectors/setting.py",
        "return SCHEDULE.signal * (2.0",
        "return 5.0 * (2.0",
        (f"{_VECTORS}vector_input.py::test_numbers_are_read_exactly",),
        slow=True,
    ),
    Mutant(
        "U U^T runs on the clock of one layer",
        "diffusion/vectors/setting.py",
        '2.0 if self.denoiser == "symmetric" else 1.0',
        '1.0 if self.denoiser == "symmetric" else 1.0',
        (
            f"{_VECTORS}vector_predictions.py::test_a_plain_prediction_is_a_good_one",
            f"{_VECTORS}vector_input.py::test_numbers_are_read_exactly",
        ),
        slow=True,
    ),
    Mutant(
        "pairs of noise of one sign",
        "diffusion/vectors/train.py",
        "torch.cat([noise, -noise], 1)",
        "torch.cat([noise, noise], 1)",
        (f"{_VECTORS}theory.py::test_with_pairs_of_noise_the_gradient_is_that_of_the_moment",),
        slow=True,
    ),
    Mutant(
        "clusters in a row, each with times of its own",
        "diffusion/vectors/train.py",
        "np.tile(np.diag(task.test_point), (setting.batch, 1))",
        "np.repeat(np.diag(task.test_point), setting.batch, 0)",
        (f"{_VECTORS}vector_training.py::test_points_are_those_of_the_task",),
        slow=True,
    ),
    Mutant(
        "the denoiser adds what it should take away",
        "diffusion/vectors/train.py",
        "return z - signal * made",
        "return z + signal * made",
        (f"{_VECTORS}theory.py::test_the_diffusion_loss_is_the_loss_of_the_task",),
        slow=True,
    ),
    Mutant(
        "the noisy data are read with the wrong gain",
        "diffusion/vectors/train.py",
        "((1 - noise) / noise) * z",
        "(1 - noise) * z",
        (f"{_VECTORS}theory.py::test_where_both_are_read_the_loss_is_the_form",),
        slow=True,
    ),
    Mutant(
        "the form M without the noise",
        "diffusion/theory.py",
        "found[:, 1, 1] = copied * signal + self.rest",
        "found[:, 1, 1] = copied * signal",
        (f"{_VECTORS}theory.py::test_the_form_is_the_integral_of_its_definition",),
        slow=True,
    ),
    Mutant(
        "times of a batch that do not vary",
        "diffusion/vectors/noise.py",
        "/ (s * s * m)) + _covariance(by_offset)",
        "/ (s * s * m))",
        (f"{_VECTORS}theory.py::test_batches_vary_as_they_are_said_to",),
        slow=True,
    ),
    Mutant(
        "half the scatter of growth",
        "diffusion/vectors/noise.py",
        "return 4 * found",
        "return found",
        (
            f"{_VECTORS}vector_predictions.py::test_scatter_of_growth_is_what_the_noise_of_batches_makes_it",
        ),
        slow=True,
    ),
    Mutant(
        "the sampled map without the part of the data",
        "diffusion/theory.py",
        "k * (W - (1 - d) * (P @ found))",
        "k * W",
        (f"{_VECTORS}theory.py::test_where_both_are_read_samples_have_the_mean_of_the_recursion",),
        slow=True,
    ),
    Mutant(
        "a swing that is noise counts",
        "diffusion/vectors/laws.py",
        "return max(TURN, NOISE_TURN",
        "return min(TURN, NOISE_TURN",
        (f"{_VECTORS}vector_predictions.py::test_the_noise_of_batches_is_no_swing",),
        slow=True,
    ),
    Mutant(
        "a start too large counts as inside",
        "diffusion/vectors/laws.py",
        "if setting.omega > LARGEST_OMEGA:\n            return",
        "if setting.omega > 100 * LARGEST_OMEGA:\n            return",
        (f"{_VECTORS}vector_predictions.py::test_outside_its_range_there_is_no_number",),
        slow=True,
    ),
    Mutant(
        "two layers that read both start along the wrong direction",
        "diffusion/vectors/laws.py",
        "start[:, 1:] = size[:, None] * direction +",
        "start[:, 1:] = size[:, None] * across +",
        (
            f"{_VECTORS}vector_predictions.py::test_training_where_signals_are_small_has_a_ratio_of_its_own",
        ),
        slow=True,
    ),
    # image diffusion
    Mutant(
        "the noise schedule weighs the loss twice",
        "diffusion/vdm.py",
        "diffusion = 0.5 * schedule.slope * _summed",
        "diffusion = schedule.slope * _summed",
        (_IMAGES + "vdm.py::test_the_three_parts_by_hand",),
    ),
    Mutant(
        "the latent part forgets the data",
        "diffusion/vdm.py",
        "torch.sigmoid(-last) * x**2 + spread",
        "torch.sigmoid(-last) + spread",
        (_IMAGES + "vdm.py::test_the_bound_of_a_gaussian_in_closed_form",),
    ),
    Mutant(
        "the gradient of the reconstruction is cut",
        "diffusion/vdm.py",
        "off = torch.exp(0.5 * ends[0]) * first_noise",
        "off = torch.exp(0.5 * ends[0].detach()) * first_noise",
        (_IMAGES + "vdm.py::test_gradients_of_the_schedule",),
    ),
    Mutant(
        "the sampler adds the noise of the step before",
        "diffusion/vdm.py",
        "z = z + sigma(later) * kappa.sqrt()",
        "z = z + sigma(now) * kappa.sqrt()",
        (_IMAGES + "vdm.py::test_every_step_of_the_sampler_with_the_same_noise",),
    ),
    Mutant(
        "times are drawn one by one",
        "diffusion/vdm.py",
        "first = torch.rand((), generator=generator, device=device)",
        "first = torch.rand(n, generator=generator, device=device)",
        (_IMAGES + "vdm.py::test_spread_times_one_in_every_part_each_uniform",),
    ),
    Mutant(
        "rows and columns of a circle are swapped",
        "diffusion/circles.py",
        "rows = (grid - centres[:, :1])[:, :, None]",
        "rows = (grid - centres[:, 1:])[:, :, None]",
        (_IMAGES + "circles.py::test_paint_against_a_loop_over_pixels",),
    ),
    Mutant(
        "colours vary by a quarter of the contrast",
        "diffusion/circles.py",
        "colour = COLOUR_JITTER * self.contrast",
        "colour = 2 * COLOUR_JITTER * self.contrast",
        (_IMAGES + "circles.py::test_ranges_of_what_is_drawn",),
    ),
    Mutant(
        "blocks are told of nothing",
        "diffusion/unet.py",
        "told = told + self.condition(condition)",
        "told = told + 0 * self.condition(condition)",
        (_IMAGES + "unet.py::test_the_condition_reaches_every_block",),
    ),
    Mutant(
        "one block is not told the condition",
        "diffusion/unet.py",
        "x = self.middle_first(x, time, condition)",
        "x = self.middle_first(x, time, 0 * condition)",
        (_IMAGES + "unet.py::test_the_condition_reaches_every_block",),
    ),
    Mutant(
        "the condition is scaled before it is centred",
        "diffusion/unet.py",
        "condition = (condition - self.centre) * self.gain",
        "condition = condition * self.gain - self.centre",
        (_IMAGES + "unet.py::test_centre_and_gain_of_the_condition",),
    ),
    Mutant(
        "losses before a save are forgotten when a course goes on",
        "diffusion/train.py",
        '        self._sums.copy_(state["sums"])\n',
        "",
        (_IMAGES + "training_images.py::test_stopped_at_saves_and_between",),
        slow=True,
    ),
    Mutant(
        "the running mean is not read again",
        "diffusion/train.py",
        "extra = mean if self.preset.averaging else {}",
        "extra: dict[str, Any] = {}",
        (_IMAGES + "training_images.py::test_stopped_at_saves_and_between",),
        slow=True,
    ),
    Mutant(
        "saves later than the checkpoint are kept",
        "diffusion/course.py",
        'for line in self.lines() if line["step"] <= step]',
        "for line in self.lines()]",
        (_IMAGES + "training_images.py::test_a_killed_process",),
        slow=True,
    ),
    Mutant(
        "images are made with the weights of the moment",
        "diffusion/train.py",
        "called = _called(model.mean, preset, device)",
        "called = _called(model.network, preset, device)",
        (_IMAGES + "training_images.py::test_averaging_is_what_makes_the_images",),
        slow=True,
    ),
    Mutant(
        "the modified field of the layers has a wrong weight",
        "theory/law/deep.py",
        "(-1 / 6, -1 / 6, 4 / 3)",
        "(-1 / 6, 1 / 6, 1.0)",
        (_DEEP + "a_step_of_gradient_descent_is_the_modified_flow_to_its_order",),
    ),
    Mutant(
        "a chain is cut out by an orthogonal projector",
        "theory/law/deep.py",
        "np.outer(layer @ up[i], down[i]) / (down[i] @ up[i])",
        "np.outer(layer @ up[i], up[i]) / (up[i] @ up[i])",
        (_DEEP + "a_concept_cut_out_leaves_the_schur_complement",),
    ),
    Mutant(
        "a chain is cut out that is not parallel",
        "theory/law/deep.py",
        "PARALLEL * tolerance",
        "math.inf",
        (_NETWORK + "a_chain_that_is_not_parallel_is_not_cut_out",),
    ),
    Mutant(
        "the time from the homogeneous flow to the half is left out",
        "theory/law/deep.py",
        "t + (on + to_half(depth))",
        "t + (on)",
        (_DEEP + "one_chain_waits_c_more_than_the_homogeneous_flow",),
    ),
    Mutant(
        "bars of deep networks are given for large steps",
        "verify/predict_network.py",
        "if x > LARGEST_STEP:",
        "if x > 4 * LARGEST_STEP:",
        (_NETWORK + "out_of_its_range_a_prediction_says_so",),
    ),
    Mutant(
        "overlapping bars of deep networks do not matter",
        "verify/predict_network.py",
        "<= error[i] + error[j]",
        "< 0",
        (_NETWORK + "equal_signals_leave_the_order_open_where_bars_overlap",),
    ),
    Mutant(
        "a face is critical though a factor lies above one",
        "relu/geometry.py",
        "if not all(0 <= one <= 1 for one in eta):",
        "if not all(0 <= one <= 2 for one in eta):",
        ("relu/test_geometry.py::test_rational_numbers_alone_find_the_same",),
    ),
    Mutant(
        "faces on which points are tied are left out",
        "relu/geometry.py",
        "itertools.product((-1, 0, 1), repeat=t)",
        "itertools.product((-1, 1), repeat=t)",
        ("relu/test_geometry.py::test_what_is_critical_is_so_by_its_neighbours",),
    ),
    Mutant(
        "no path slides along a hyperplane",
        "relu/paths.py",
        "if (v[j] @ normals[k]) * ((v[j] + jump) @ normals[k]) > 0:",
        "if True:",
        ("relu/test_dynamics.py::test_paths_are_those_of_an_ode_solver",),
    ),
    Mutant(
        "a path leaves the hyperplanes it slides on at the next one",
        "relu/paths.py",
        "lines = [*tied[j], k]",
        "lines = [k]",
        ("relu/test_dynamics.py::test_paths_are_those_of_an_ode_solver",),
    ),
    Mutant(
        "shared neurons of ReLU layers are those of linear ones",
        "relu/concepts.py",
        "shared = np.array([(z > 0) * one for one in learned]).T",
        "shared = np.array(learned).T",
        ("relu/test_dynamics.py::test_shared_neurons_learn_later_than_linear_layers_say",),
    ),
    Mutant(
        "a loss far below that of the halves counts as theirs",
        "relu/runs.py",
        "if ratio < 1 - CLOSE:",
        "if ratio < 1 - 10 * CLOSE:",
        ("relu/test_study.py::test_two_percent",),
    ),
    Mutant(
        "a piece of an exported proof may be negative",
        "verify/prover/check_proof.py",
        '(not free and (factor < 0 or sign == "defined"))',
        '(not free and sign == "defined")',
        (_PROOF,),
    ),
    Mutant(
        "an exported contradiction needs no piece above 0",
        "verify/prover/check_proof.py",
        "if (strict or turned) and not sure:",
        "if strict and not sure:",
        (_PROOF,),
    ),
    Mutant(
        "what may be 0 is cancelled in an exported proof",
        "verify/prover/check_proof.py",
        'if any(not name.isdigit() and self.signs[name] != "positive" for name, _ in term):',
        "if not term:",
        (_PROOF,),
    ),
)
