"""Random play that uses a MiniGrid level's objects."""

import numpy as np

# left, right, forward, pickup, drop, toggle, done: opens and picks up more than uniform play does.
ACTION_WEIGHTS = np.array([0.12, 0.12, 0.34, 0.14, 0.08, 0.18, 0.02])


def random_actions(rng, env):
    """One action for each environment: ints [N]."""
    weights = ACTION_WEIGHTS[: env.single_action_space.n]
    return rng.choice(len(weights), size=env.num_envs, p=weights / weights.sum())
