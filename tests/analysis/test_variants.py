import itertools

from rllib_ride.analysis.variants import variants

IMPALA = "<class 'rllib_ride.rllib.learner.IntrinsicIMPALALearner'>"
PPO = "<class 'rllib_ride.rllib.learner.IntrinsicPPOLearner'>"


def fact(method="ride", env="E", preset=None, options=None, learner=None, **config):
    facts = {"method": method, "env": env, "env_options": options or {}, "config": config}
    if learner:
        config["_learner_class"] = learner
    return {**facts, "preset": preset} if preset else facts


def intrinsic(**settings):
    return {"learner_config_dict": {"intrinsic": settings}}


def test_seeds_of_one_setting_are_no_variants():
    assert variants([fact(seed=1, lr=0.1), fact(seed=2, lr=0.1), fact("none", lr=0.2)]) == [""] * 3


def test_runs_are_told_apart_by_the_settings_in_which_they_differ():
    facts = [fact(lr=lr, gamma=0.9, **intrinsic(coef=c)) for lr in (1e-4, 2e-4) for c in (0.1, 0.3)]

    assert variants(facts) == [
        "coef=0.1, lr=0.0001",
        "coef=0.3, lr=0.0001",
        "coef=0.1, lr=0.0002",
        "coef=0.3, lr=0.0002",
    ]


def test_in_a_search_around_one_setting_each_is_named_by_what_it_changes():
    base = {"lr": 1e-4, "coef": 0.1, "gamma": 0.9}
    changes = [{}, {}, {"lr": 2e-4}, {"coef": 0.3}, {"gamma": 0.5}]

    assert variants([fact(**base | change) for change in changes]) == [
        *["", ""],
        *["lr=0.0002", "coef=0.3", "gamma=0.5"],
    ]


def test_where_a_task_was_searched_its_usual_runs_are_named_as_elsewhere():
    facts = [fact(env=env, coef=0.1) for env in "EFG"] + [fact(env="E", coef=0.5)]

    assert variants(facts) == ["", "", "", "coef=0.5"]


def test_a_setting_that_older_code_did_not_have_is_no_difference():
    """Two seeds, one from before `on_nonfinite` and `new` existed, and a run that differs."""
    old, new = {"coef": 0.1}, {"on_nonfinite": "stop"}
    facts = [
        fact(**intrinsic(**old)),
        fact(**intrinsic(**old, **new), new=1),
        fact(**intrinsic(coef=0.5, **new), new=1),
    ]

    assert variants(facts) == ["coef=0.1", "coef=0.1", "coef=0.5"]


def test_a_run_that_does_not_tell_a_setting_is_none_of_those_that_differ_in_it():
    told = [fact(gamma=0.9, lr=lr) for lr in (0.1, 0.2, 0.1)] + [fact(gamma=0.5, lr=0.1)]

    assert variants([fact(gamma=0.9), *told]) == [
        *["", "lr=0.1", "lr=0.2", "lr=0.1"],
        "gamma=0.5, lr=0.1",
    ]


def test_a_setting_below_one_that_the_record_has_was_not_given():
    facts = [
        fact(**intrinsic(method_config={})),
        fact(**intrinsic(method_config={"forward_loss_coef": 1.0})),
        fact(**intrinsic(method_config={"forward_loss_coef": 1.0, "hidden": 8})),
    ]

    assert variants(facts) == ["forward_loss_coef=None", "", "hidden=8"]


def test_settings_are_named_as_briefly_as_tells_them_apart():
    base = intrinsic(lr=1e-4, rmsprop={"eps": 1e-5})
    facts = [
        fact(lr=0.5, **base),
        fact(lr=0.5, **intrinsic(lr=2e-4, rmsprop={"eps": 1e-5})),
        fact(lr=0.25, **base),
        fact(lr=0.5, **intrinsic(lr=1e-4, rmsprop={"eps": 0.01})),
    ]

    assert variants(facts) == ["", "intrinsic.lr=0.0002", "lr=0.25", "eps=0.01"]


def test_a_schedule_is_told_in_words():
    facts = [fact(lr=[[0, first], [100_000_000, 0.0]]) for first in (1e-4, 2e-4)]

    assert variants(facts) == ["lr=0.0001 to 0 at 100M", "lr=0.0002 to 0 at 100M"]


def test_the_network_and_the_batch_are_settings_though_rllib_keeps_them_to_itself():
    facts = [
        fact(_rl_module_spec=f"Spec(model_config={{'network': '{network}'}})", **batch)
        for network in ("paper", "released")
        for batch in ({"_train_batch_size_per_learner": 64}, {"_train_batch_size_per_learner": 32})
    ]

    assert variants(facts)[:2] == [
        "network=paper, train_batch_size_per_learner=64",
        "network=paper, train_batch_size_per_learner=32",
    ]
    assert len(set(variants(facts))) == 4


def test_what_the_code_is_made_of_tells_nothing():
    facts = [
        fact(callbacks_on_episode_end=None, env_runner_cls="<class 'A'>", stats=["<function f>"]),
        fact(callbacks_on_episode_end=["x"], env_runner_cls="<class 'B'>", stats=None),
        fact(callbacks_on_episode_end=None, env_runner_cls=None, stats=["<function g>"]),
    ]

    assert variants(facts) == [""] * 3


def test_a_preset_stands_for_the_settings_it_brings():
    facts = [
        fact(preset="paper", lr=1e-4, eps=0.01),
        fact(preset="tuned", lr=4e-4, eps=1e-5),
        fact(preset="tuned", lr=5e-4, eps=1e-5),
    ]

    assert variants(facts) == ["paper", "tuned, lr=0.0004", "tuned, lr=0.0005"]


def test_algorithm_and_preset_are_those_of_the_whole_report():
    """A method with a single one of them is named like one with both, on every task."""
    facts = [
        fact("ride", preset="tuned", learner=IMPALA),
        fact("count", preset="tuned_ppo", learner=PPO),
        fact("ride", env="F", preset="tuned", learner=IMPALA),
    ]

    assert variants(facts) == ["IMPALA", "PPO", "IMPALA"]
    assert variants([*facts, fact("none", preset="paper", learner=IMPALA)]) == [
        "IMPALA, tuned",
        "PPO, tuned_ppo",
        "IMPALA, tuned",
        "IMPALA, paper",
    ]
    assert variants(facts[::2]) == ["", ""]


def test_one_preset_trained_by_two_algorithms_is_two_variants():
    facts = [fact(preset="tuned", learner=learner) for learner in (IMPALA, PPO)]

    assert variants(facts) == ["IMPALA", "PPO"]


def test_settings_of_other_tasks_and_of_rllib_itself_tell_nothing():
    facts = [
        fact(lr=0.1, _internal=1),
        fact(lr=0.1, _internal=2),
        fact(env="F", lr=0.2),
        fact(options={"singleton_seed": 1}, lr=0.3),
    ]

    assert variants(facts) == [""] * 4


def test_values_that_are_equal_to_six_digits_are_shown_with_more():
    assert variants([fact(lr=0.1), fact(lr=0.1000000001)]) == ["lr=0.1", "lr=0.1000000001"]
    assert variants([fact(lr=1), fact(lr=1.0)]) == ["", ""]


def test_different_settings_have_different_names():
    values = [None, 0, 1, 0.5, "1", [1], {}, {"a": 1}, {"a": 2}, {"a": 1, "b": 1}, "x" * 99]
    facts = [fact(m=m, n=n) for m, n in itertools.product(values, repeat=2)]

    # An empty mapping counts as None.
    assert len(set(variants(facts))) == (len(values) - 1) ** 2


def test_long_values_are_cut_but_stay_apart():
    one, two = variants([fact(model="x" * 200 + "1"), fact(model="x" * 200 + "2")])

    assert one != two and max(len(one), len(two)) < 40
