"""Loading the policy of a trial's checkpoint from weights and a seal, without running code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.core.rl_module.torch import TorchRLModule

from helpers.trials import trial
from rllib_ride.analysis.bonus import load_intrinsic
from rllib_ride.analysis.policy import load_policy
from rllib_ride.experiments.trainable import TrialTrainable
from rllib_ride.rllib.ray_internals import module_folder
from rllib_ride.rllib.weights import WEIGHTS_FILE
from rllib_ride.seal import SEAL_FILE, write_seal

EXTRAS = (
    *("wandb", "wandb_workspaces", "tensorboard", "tensorboardX", "rliable", "vizdoom", "boto3"),
    *("gym_super_mario_bros", "nes_py", "mypy", "pytest"),
)
"""Packages that training, reports or other environments need, but evaluation does not."""

SMALL = {"num_envs_per_env_runner": 2, "rollout_fragment_length": 16}


def save(folder: Path, method: str, **changes: object) -> Path:
    ours = trial(method=method, config={**SMALL, "train_batch_size_per_learner": 32}, **changes)
    trainable = TrialTrainable({"trial": ours.to_dict()})
    trainable.train()
    trainable.save_checkpoint(str(folder))
    trainable.stop()
    return folder


@pytest.fixture(scope="module")
def saved(ray_session: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints of trials, by method."""
    folder = tmp_path_factory.mktemp("saved")
    return {
        "ride": save(folder / "ride", "ride"),
        "count": save(folder / "count", "count", env_options={"observation": "dict"}),
        "ride_shared_embedding": save(folder / "shared", "ride_shared_embedding"),
    }


@pytest.mark.parametrize("method", ["ride", "count", "ride_shared_embedding"])
def test_it_is_what_rllib_loads_and_nothing_is_unpickled(
    saved: dict[str, Path], tmp_path: Path, method: str
) -> None:
    by_rllib = {
        name: TorchRLModule.from_checkpoint(str(module_folder(saved[method], name)))
        for name in ("default_policy", "intrinsic")
    }
    seal = json.loads((saved[method] / SEAL_FILE).read_text())
    copy = without_pickles(saved[method], tmp_path / "c")

    policy = load_policy(copy)
    intrinsic = load_intrinsic(copy, policy)

    assert intrinsic is not None
    assert policy.frames_trained == seal["frames"] > 0
    assert (policy.env, policy.env_options) == (seal["env"], seal["env_options"])
    assert intrinsic.model_config == by_rllib["intrinsic"].model_config
    for name, module in (("default_policy", policy.module), ("intrinsic", intrinsic)):
        wanted = by_rllib[name].state_dict()
        assert module.state_dict().keys() == wanted.keys() != set()
        for key, value in module.state_dict().items():
            np.testing.assert_array_equal(value, wanted[key])


def without_pickles(checkpoint: Path, copy: Path) -> Path:
    """A copy without its pickles, under a seal that does not list them."""
    shutil.copytree(checkpoint, copy)
    seal = json.loads((copy / SEAL_FILE).read_text())
    for path in copy.rglob("*.pkl"):
        path.unlink()
        del seal["files"][path.relative_to(copy).as_posix()]
    (copy / SEAL_FILE).write_text(json.dumps(seal))
    return copy


def test_weights_that_would_run_code_are_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Stranger:
        def __reduce__(self) -> tuple[object, ...]:
            return (os.system, (f"touch {ran}",))

    copy = tmp_path / "c"
    shutil.copytree(saved["ride"], copy)
    torch.save({"default_policy": Stranger()}, copy / WEIGHTS_FILE)
    seal = json.loads((copy / SEAL_FILE).read_text())
    write_seal(copy, {k: v for k, v in seal.items() if k not in ("format", "versions", "files")})

    with pytest.raises(ValueError, match="not a whole checkpoint: UnpicklingError"):
        load_policy(copy)
    assert not ran.exists()


def test_a_changed_file_is_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "c"
    shutil.copytree(saved["ride"], copy)
    (copy / "metadata.json").write_text("{}")

    with pytest.raises(ValueError, match="metadata.json is sha256 .* not as they were saved"):
        load_policy(copy)


def test_another_environment_needs_the_spaces_that_were_sealed(saved: dict[str, Path]) -> None:
    policy = load_policy(saved["ride"], env="MiniGrid-MultiRoom-N2-S4-v0")
    assert (policy.env, policy.trained_in) == (
        "MiniGrid-MultiRoom-N2-S4-v0",
        "MiniGrid-Empty-5x5-v0",
    )
    with pytest.raises(ValueError, match=r"has the action space Discrete\(3\); the policy was"):
        load_policy(saved["ride"], env="MiniGrid-Dynamic-Obstacles-5x5-v0")


def test_evaluation_needs_none_of_the_extras(saved: dict[str, Path], tmp_path: Path) -> None:
    program = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None  # importing it is an ImportError
from rllib_ride.cli import main
sys.exit(main(["evaluate", {str(saved["ride"])!r}, "--episodes", "2", "--json"]))
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["episodes"] == 2
