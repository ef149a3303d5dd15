"""What the authors' released code computed from real inputs: see tests/reference/README.md.

The environment variable `RIDE_REFERENCE_DIR` names another folder of such files.
"""

from __future__ import annotations

import ast
import os
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rllib_ride.intrinsic import IntrinsicMethod, Rnd, Transitions, get_method
from rllib_ride.intrinsic.dynamics import DynamicsMethod

# Each field of a file matches exactly one of these patterns: full names, or names with a "*".
INPUTS = (
    "hparams",
    "obs",
    "full_obs",
    "actions",
    "reward",
    "done",
    "episode_count_reward",
    "train_count_reward",
    "behaviour_logits",
    "target_logits",
    "values",
    "weights/embedding/*",
    "weights/forward/*",
    "weights/inverse/*",
    "weights/rnd_target/*",
    "weights/rnd_predictor/*",
)
CHECKED_IN_INTRINSIC = (  # tests/intrinsic/test_reference.py
    "phi",
    "phi_next",
    "forward_prediction",
    "inverse_logits",
    "forward_loss",
    "inverse_loss",
    "rnd_loss",
    "intrinsic/ride",
    "intrinsic/icm",
    "intrinsic/rnd",
    "intrinsic/no_episodic_counts",
    "intrinsic/only_episodic_counts",
    "intrinsic/count",
    "total_reward/*",
    "grad_norm/embedding",
    "grad_norm/forward",
    "grad_norm/inverse",
    "grad_norm/rnd_predictor",
    "weights_after_step/embedding/*",
    "weights_after_step/forward/*",
    "weights_after_step/inverse/*",
    "weights_after_step/rnd_predictor/*",
)
CHECKED_IN_LEARNER = (  # tests/rllib/test_reference_learner.py
    "vtrace_vs/*",
    "vtrace_pg_advantages/*",
    "pg_loss/*",
    "baseline_loss/*",
    "entropy_loss/*",
    "grad_target_logits/ride",
    "grad_values/ride",
)

# The released networks and layers, and what they are called here.
_NETWORKS = {
    "embedding": "embedding",
    "forward": "forward_model",
    "inverse": "inverse_model",
    "rnd_target": "target",
    "rnd_predictor": "predictor",
}
# Which of a file's coefficients a method takes, by the method's own names.
_COEFS = {
    DynamicsMethod: {
        "forward_loss_coef": "forward_loss_coef",
        "inverse_loss_coef": "inverse_loss_coef",
    },
    Rnd: {"loss_coef": "rnd_loss_coef"},
}
_LAYERS = {
    "feat_extract": "convolutions",
    "forward_dynamics.0": "hidden",
    "fd_out": "out",
    "inverse_dynamics.0": "hidden",
    "id_out": "out",
}


def reference_files() -> list[Path]:
    """The npz files to check against; never none."""
    default = Path(__file__).parents[1] / "reference"
    folder = Path(os.environ.get("RIDE_REFERENCE_DIR", default))
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise FileNotFoundError(f"RIDE_REFERENCE_DIR: no *.npz in {folder}")
    return files


@cache
def load(path: Path) -> Reference:
    """The file's contents, read once."""
    return Reference(path)


class Reference:
    """One file: its arrays by name, and the shipped classes loaded with its weights."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.arrays: dict[str, NDArray] = {name: file[name] for name in file.files}
        self.hparams: dict[str, float] = ast.literal_eval(str(self.arrays["hparams"]))

    def __getitem__(self, name: str) -> NDArray:
        return self.arrays[name]

    def fields(self, patterns: tuple[str, ...]) -> list[str]:
        """The names of this file's fields that match any of the patterns."""
        return [name for name in self.arrays if any(fnmatch(name, p) for p in patterns)]

    def transitions(self) -> Transitions:
        """All T x B transitions: the released losses mask none, not even at episode ends."""
        n_ep = np.round(1.0 / self["episode_count_reward"][1:] ** 2)
        actions = torch.from_numpy(self["actions"][1:])
        return Transitions(
            obs=torch.from_numpy(self._channel_last_obs()),
            actions=actions,
            episodic_counts=torch.from_numpy(n_ep),
            mask=torch.ones(actions.shape, dtype=torch.bool),
            state_keys=torch.zeros(actions.shape, dtype=torch.long),
            episode_ids=torch.arange(actions.shape[1]),
            t_started=torch.zeros(actions.shape[1], dtype=torch.long),
        )

    def spaces(self) -> tuple[gym.spaces.Box, gym.spaces.Discrete]:
        """The observation and action spaces."""
        return (
            gym.spaces.Box(0, 255, self._channel_last_obs().shape[2:], np.uint8),
            gym.spaces.Discrete(len(self["weights/inverse/id_out.bias"])),
        )

    def method(self, name: str) -> IntrinsicMethod:
        """A method with the weights and loss coefficients of the file."""
        cls = get_method(name)
        assert cls is not None
        method = cls(*self.spaces(), **self.method_config(name))
        for network_name, network in self.networks(method).items():
            network.load_state_dict(self.weights(f"weights/{network_name}/"))
        return method

    def method_config(self, name: str) -> dict[str, float]:
        """The file's loss coefficients as arguments of a method."""
        cls = get_method(name)
        assert cls is not None
        return {
            own: self.hparams[theirs]
            for base, coefs in _COEFS.items()
            if issubclass(cls, base)
            for own, theirs in coefs.items()
        }

    def networks(self, method: IntrinsicMethod) -> dict[str, nn.Module]:
        """The method's networks by their names in the file."""
        theirs = {own: name for name, own in _NETWORKS.items()}
        return {theirs[own]: network for own, network in method.named_children()}

    def weights(self, prefix: str) -> dict[str, Tensor]:
        """The fields under `prefix` as a state dict for the shipped network."""
        return {
            _own_layer(name.removeprefix(prefix)): torch.from_numpy(array)
            for name, array in self.arrays.items()
            if name.startswith(prefix)
        }

    def parameters(self, method: IntrinsicMethod, prefix: str) -> dict[str, Tensor]:
        """The method's parameters by the names of the fields `<prefix>/<network>/<layer>`."""
        return {
            field: network.get_parameter(_own_layer(field.split("/")[2]))
            for name, network in self.networks(method).items()
            for field in self.fields((f"{prefix}/{name}/*",))
        }

    def _channel_last_obs(self) -> NDArray[np.uint8]:
        obs = self["obs"]
        channels = self["weights/embedding/feat_extract.0.weight"].shape[1]
        if obs.shape[-1] == channels:
            return obs
        # The released pixel networks read the memory of [C, H, W] as [W, H, C]: no transpose.
        t, b, _, height, width = obs.shape
        return obs.reshape(t, b, width, height, channels)


def _own_layer(released: str) -> str:
    for theirs, ours in _LAYERS.items():
        if released.startswith(theirs + "."):
            return released.replace(theirs, ours, 1)
    raise KeyError(f"the released code has no layer {released}")
