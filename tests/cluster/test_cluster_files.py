"""The cluster files are what Ray's launcher takes, and say what they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

# The launcher's own check and defaults: Ray 2.60 has no public way to ask for them.
from ray.autoscaler._private.util import prepare_config, validate_config

CLONE = Path(__file__).parents[2]
HEAD_START = "head_start_ray_commands"
FILES = ("cluster.yaml", "cluster.local.yaml")


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((CLONE / name).read_text())


def commands(cluster: dict[str, Any], *kinds: str) -> str:
    return "\n".join(line for kind in kinds for line in cluster.get(kind, []))


@pytest.mark.parametrize("name", FILES)
def test_rays_schema_takes_it(name):
    prepared = prepare_config(read(name))
    validate_config(prepared)  # raises what is wrong

    assert prepared["head_node_type"] in prepared["available_node_types"]


@pytest.mark.parametrize("name", FILES)
def test_rays_schema_refuses_a_mistyped_key(name):
    cluster = read(name)
    cluster["setup_comands"] = cluster.pop("setup_commands")

    with pytest.raises(jsonschema.ValidationError, match="setup_comands"):
        validate_config(prepare_config(cluster))


@pytest.mark.parametrize("name", FILES)
def test_token_and_checkout_travel_and_what_git_ignores_does_not(name):
    cluster = read(name)

    assert cluster["file_mounts"] == {
        "~/rllib-ride": ".",
        "~/.ray/auth_token": "~/.ray/auth_token",
    }
    assert cluster["rsync_filter"] == [".gitignore"]
    assert {".venv/", "runs/"} <= set((CLONE / ".gitignore").read_text().split())
    profile = (CLONE / "tools/cluster/profile.sh").read_text()
    assert "export RAY_AUTH_MODE=token" in profile


@pytest.mark.parametrize("name", FILES)
def test_every_node_installs_the_checkout_with_the_lock_and_sources_the_profile(name):
    setup = commands(read(name), "setup_commands")

    assert ". ~/rllib-ride/tools/cluster/profile.sh" in setup
    assert "cd ~/rllib-ride && " in setup and "-c constraints.txt" in setup
    assert (CLONE / "constraints.txt").is_file()


@pytest.mark.parametrize("name", FILES)
def test_the_dashboard_is_on_loopback(name):
    start = commands(read(name), "head_start_ray_commands", "worker_start_ray_commands")

    assert "--dashboard-host=127.0.0.1" in start
    assert "0.0.0.0" not in start


def test_both_files_set_up_and_start_nodes_alike():
    aws, local = (read(name) for name in FILES)

    assert aws["setup_commands"] == local["setup_commands"]
    assert aws["worker_start_ray_commands"] == local["worker_start_ray_commands"]
    head = [line.replace("RAY_enable_autoscaler_v2=0 ", "") for line in local[HEAD_START]]
    assert aws[HEAD_START] == head
    assert head != local[HEAD_START]


def test_aws_workers_have_the_heads_image_and_fit_below_the_maximum():
    aws = read("cluster.yaml")
    types = aws["available_node_types"]
    head, worker = types[aws["head_node_type"]], types["worker"]

    assert head["node_config"]["ImageId"] == worker["node_config"]["ImageId"]
    assert 0 <= worker["min_workers"] <= worker["max_workers"] <= aws["max_workers"]
