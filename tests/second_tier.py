"""Tests that `make test` leaves to `make test-all`: they compile much, or play many games.

Each entry is the beginning of a test's id below `tests/`. An entry that fits no test is an error,
so that the list stays true. Some tests of every module, and of every game's rules against
its reference, stay in `make test`.
"""

SECOND_TIER = (
    # Benchmarks and the commands of the README, as whole processes.
    "bench/test_benchmarks.py",
    "bench/test_scripts.py",
    "test_readme.py::test_commands_train_and_measure",
    "test_notebooks.py::test_they_run",
    # Games: every size that hypothesis finds compiles anew; larger boards; adapters.
    "envs/pgx/test_adapters.py::test_pgx_environments_conform",
    "envs/pgx/test_adapters.py::test_both_sides_agree_ply_by_ply",
    "envs/pgx/test_adapters.py::test_azjax_trains_a_pgx_environment",
    "envs/pgx/test_adapters.py::test_games_pass_the_api_test_of_pgx",
    "envs/pgx/test_adapters.py::test_wrappers_of_pgx_take_our_games",
    "envs/test_every_game.py::test_any_size_and_any_line_of_play_conforms",
    "envs/test_connect_four.py::test_open_spiel_any_size",
    "envs/test_hex.py::test_open_spiel_any_size",
    "envs/test_hex.py::test_open_spiel_sizes",
    "envs/test_gomoku.py::test_open_spiel_any_mnk",
    "envs/test_gomoku.py::test_lines_on_any_board",
    "envs/test_mancala.py::test_plain_rules_any_size",
    "envs/test_mancala.py::test_published_margins_by_enumeration",
    "envs/test_mancala.py::test_every_margin_is_plain_alpha_betas",
    "envs/test_othello.py::test_any_line_of_play",
    "envs/test_othello.py::test_any_position",
    "envs/test_published_values.py",
    "envs/test_go_gnugo.py::test_random_games_with_suicide",
    "envs/test_chess.py::test_any_position",
    "envs/test_chess.py::test_any_ending",
    "envs/test_gardner_chess.py::test_any_position",
    "envs/test_shogi.py",
    "envs/test_shogi_rules.py::test_games_of",
    "envs/test_shogi_rules.py::test_random_positions",
    "envs/test_shogi_rules.py::test_random_pawn_drops",
    # Training on several processes, with everything at once, of large games.
    "training/test_multihost.py",
    "training/test_methods.py",
    "training/test_large_games.py",
    "training/test_loop.py::test_signals_and_a_kill_of_a_real_process",
    # Exact values: tables of large games.
    "exact/test_dots_and_boxes.py",
    "exact/test_kalah.py",
    "exact/test_endgames.py",
    "exact/test_first_moves.py",
    # External engines, whole games through the protocols, thousands of wrong lines.
    "players/engines/test_programs.py",
    "play/gtp/test_games.py",
    "play/gtp/test_nonsense.py",
    "play/uci/test_games.py",
    "play/uci/test_nonsense.py",
    # Browsers and exported models; one whole game in a browser stays.
    "web/test_browser.py::test_hints_undo_sides_and_strength_in_one_file_from_a_disk",
    "web/test_browser.py::test_moves_of_two_clicks_on_the_local_server",
    "web/test_page.py",
    "web/test_command.py::test_the_page_of_a_pretrained_player",
    "web/test_onnx_model.py",
)
