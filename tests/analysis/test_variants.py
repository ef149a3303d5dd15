from rllib_ride.analysis.variants import variants


def fact(method="ride", env="E", preset=None, options=None, **config):
    facts = {"method": method, "env": env, "env_options": options or {}, "config": config}
    return {**facts, "preset": preset} if preset else facts


def test_seeds_of_one_setting_are_no_variants():
    assert variants([fact(seed=1, lr=0.1), fact(seed=2, lr=0.1), fact("none", lr=0.2)]) == [""] * 3


def test_runs_are_told_apart_by_the_settings_in_which_they_differ():
    facts = [
        fact(lr=1e-4, gamma=0.9, intrinsic={"coef": 0.1}),
        fact(lr=1e-4, gamma=0.9, intrinsic={"coef": 0.30000000000000004}),
        fact(lr=2e-4, gamma=0.9, intrinsic={"coef": 0.1}),
    ]

    assert variants(facts) == ["coef=0.1, lr=0.0001", "coef=0.3, lr=0.0001", "coef=0.1, lr=0.0002"]


def test_a_key_that_only_some_runs_set_is_a_variant():
    assert variants([fact(lr=0.5), fact()]) == ["lr=0.5", "lr=None"]


def test_a_preset_stands_for_the_settings_it_brings():
    facts = [
        fact(preset="paper", lr=1e-4, eps=0.01),
        fact(preset="tuned", lr=4e-4, eps=1e-5),
        fact(preset="tuned", lr=5e-4, eps=1e-5),
    ]

    assert variants(facts) == ["paper", "tuned, lr=0.0004", "tuned, lr=0.0005"]


def test_settings_of_other_tasks_and_of_rllib_itself_tell_nothing():
    facts = [
        fact(lr=0.1, _internal=1),
        fact(lr=0.1, _internal=2),
        fact(env="F", lr=0.2),
        fact(options={"singleton_seed": 1}, lr=0.3),
    ]

    assert variants(facts) == [""] * 4


def test_long_values_are_cut_but_stay_apart():
    one, two = variants([fact(model="x" * 200 + "1"), fact(model="x" * 200 + "2")])

    assert one != two and max(len(one), len(two)) < 40
