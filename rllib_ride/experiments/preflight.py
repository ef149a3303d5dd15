"""Checks that run once Ray is up and before a trial starts, so that no trial waits forever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
import yaml
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from rllib_ride.experiments.address import named_cluster
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.wording import last_line

if TYPE_CHECKING:
    from rllib_ride.experiments.trial import Trial

_ANSWER_WITHIN_S = 60.0
_AUTOSCALER_CONFIG = Path("~/ray_bootstrap_config.yaml").expanduser()

Resources = Mapping[str, float]


def preflight(trials: Sequence[Trial], address: str | None = None) -> None:
    """Refuses a run that the Ray this process is connected to cannot carry out.

    Args:
        trials: The trials of one experiment.
        address: Address of the cluster, if it is one; a cluster may have an autoscaler.

    Raises:
        ConfigError: A trial does not fit, or a node has other versions; says what is needed and
            what there is.
    """
    nodes = [node["Resources"] for node in alive_nodes()]
    launchable = launchable_nodes(len(nodes) - 1) if named_cluster(address) else ()
    check_resources(trials, nodes, launchable)
    if len(nodes) > 1:
        check_versions(versions(), node_versions())


def alive_nodes() -> list[dict[str, Any]]:
    """Ray's record of each node that is alive."""
    return [node for node in ray.nodes() if node["Alive"]]


# --- resources ----------------------------------------------------------------------------------


def launchable_nodes(num_workers: int, config: Path = _AUTOSCALER_CONFIG) -> list[Resources]:
    """Resources of each node that the autoscaler may still add, as far as `config` states them.

    Args:
        num_workers: Nodes that are alive, without the head.
        config: Where `ray up` leaves the cluster's file on the head, on which the driver runs.
    """
    if not config.exists():
        return []
    cluster = yaml.safe_load(config.read_text(encoding="utf-8"))
    types = {**cluster.get("available_node_types", {})}
    types.pop(cluster.get("head_node_type"), None)
    most = cluster.get("max_workers", 0)  # of all types together
    workers = [
        node.get("resources", {})
        for node in types.values()
        for _ in range(node.get("max_workers", most))
    ]
    return workers[: max(0, most - num_workers)]


def check_resources(
    trials: Sequence[Trial], nodes: Sequence[Resources], launchable: Sequence[Resources] = ()
) -> None:
    """Refuses a run with a trial whose bundles do not fit on the nodes.

    Args:
        trials: The trials of one experiment.
        nodes: Total resources of each node that is alive, such as `{"CPU": 4.0, "GPU": 1.0}`.
        launchable: Resources of each node that an autoscaler may add.

    Raises:
        ConfigError: Names the trial, what it needs and what there is.
    """
    from rllib_ride.experiments.build import algorithm_config, resource_request

    for trial in trials:
        bundles = resource_request(algorithm_config(trial)).bundles
        if fits(bundles, [*nodes, *launchable]):
            continue
        raise ConfigError(
            f"trial {trial.name} needs {told(_total(bundles))} at once "
            f"({_parts_told(bundles)}). There is {_nodes_told(nodes)}"
            f"{f', and the autoscaler may add {_nodes_told(launchable)}' if launchable else ''}. "
            f"A trial runs in one process on 1 CPU with --set num_env_runners=0 --set "
            "num_learners=0; --address names a larger cluster, whose nodes still to come are in "
            "`ray status`"
        )


def _parts_told(bundles: Sequence[Resources]) -> str:
    """Bundles in words, such as `1 x 1 CPU, 1 GPU + 4 x 1 CPU`; each must fit on one node."""
    return " + ".join(f"{times} x {part}" for part, times in Counter(map(told, bundles)).items())


def _nodes_told(nodes: Sequence[Resources]) -> str:
    return f"{told(_total(nodes))} on {len(nodes)} node{'s' if len(nodes) != 1 else ''}"


def fits(bundles: Sequence[Resources], nodes: Sequence[Resources]) -> bool:
    """Whether all bundles fit on the nodes: first fit, the largest bundle placed first."""
    free = [dict(node) for node in nodes]
    for bundle in sorted(bundles, key=lambda bundle: -sum(bundle.values())):
        for node in free:
            if all(node.get(name, 0.0) >= amount for name, amount in bundle.items()):
                for name, amount in bundle.items():
                    node[name] -= amount
                break
        else:
            return False
    return True


def told(resources: Resources) -> str:
    """Resources in words, such as `2 CPU, 1 GPU`; leaves out memory and custom resources."""
    known = [f"{resources[name]:g} {name}" for name in ("CPU", "GPU") if resources.get(name)]
    return ", ".join(known) or "no CPU"


def _total(parts: Sequence[Resources]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


# --- versions -----------------------------------------------------------------------------------


def _versions_teller() -> Callable[[], dict[str, str]]:
    """A function that returns the versions on the machine it is called on.

    It is nested so that Ray pickles its code and not its name: a node without this package, or with
    an older one, can answer too.
    """

    def tell() -> dict[str, str]:
        import hashlib
        import platform
        from importlib import metadata, util
        from pathlib import Path

        found = {"python": platform.python_version()}
        for package in ("ray", "torch", "rllib-ride"):
            try:
                found[package] = metadata.version(package).partition("+")[0]  # 2.13.0+cpu: 2.13.0
            except metadata.PackageNotFoundError:
                found[package] = "not installed"
        spec = util.find_spec("rllib_ride")
        if spec is not None and spec.origin is not None:
            digest = hashlib.sha256()
            folder = Path(spec.origin).parent
            for file in sorted(folder.rglob("*.py")):
                digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
            found["rllib-ride"] += f" (source {digest.hexdigest()[:8]})"
        return found

    return tell


def versions() -> dict[str, str]:
    """Versions on this machine that all nodes must share; this package's has a source digest."""
    return _versions_teller()()


def node_versions() -> dict[str, dict[str, str] | str]:
    """By node address: its versions, or the error that kept it from answering."""
    ask = ray.remote(num_cpus=0)(_versions_teller())
    asked = {}
    for node in alive_nodes():
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked[node["NodeManagerAddress"]] = ask.options(scheduling_strategy=there).remote()
    answers: dict[str, dict[str, str] | str] = {}
    for address, reference in asked.items():
        try:
            answers[address] = ray.get(reference, timeout=_ANSWER_WITHIN_S)
        except ray.exceptions.GetTimeoutError:
            answers[address] = f"no answer within {_ANSWER_WITHIN_S:g} s"
        except ray.exceptions.RayError as error:
            answers[address] = last_line(error) or type(error).__name__
    return answers


def check_versions(here: Mapping[str, str], nodes: Mapping[str, Mapping[str, str] | str]) -> None:
    """Refuses nodes on which a trial would run other code than here.

    Raises:
        ConfigError: Names each node that differs, and how.
    """
    found = differences(here, nodes)
    if found:
        raise ConfigError(
            f"the cluster's nodes must have what this machine has: {'; '.join(found)}. "
            "`ray up` brings the checkout to all nodes and installs it there"
        )


def differences(here: Mapping[str, str], nodes: Mapping[str, Mapping[str, str] | str]) -> list[str]:
    """How the answers of `node_versions` differ from the versions here, in words."""
    found = []
    for address, there in nodes.items():
        if isinstance(there, str):
            found.append(f"{address}: {there}")
            continue
        found += [
            f"{address} has {name} {there.get(name, 'not installed')}, not {version}"
            for name, version in here.items()
            if there.get(name) != version
        ]
    return found
