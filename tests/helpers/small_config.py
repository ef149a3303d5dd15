"""The config of an experiment with an update every 32 frames; tests complete it."""

SMALL_CONFIG = """\
config:
  num_envs_per_env_runner: 2
  rollout_fragment_length: 16
  train_batch_size_per_learner: 32
"""
