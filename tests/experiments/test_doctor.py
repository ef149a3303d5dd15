"""What `rllib-ride doctor` reports, and what it must never reveal."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from rllib_ride.cli import main
from rllib_ride.experiments import doctor


@pytest.fixture(autouse=True)
def no_address(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def examined(capsys, *args: str) -> tuple[int, dict[str, dict]]:
    code = main(["doctor", "--json", *args])
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is (code == 0)
    return code, {finding["part"]: finding for finding in told["findings"]}


def test_a_sound_installation(capsys):
    code, found = examined(capsys)

    assert code == 0
    assert found["torch"] == {
        "part": "torch",
        "required": True,
        "state": "ok",
        "detail": metadata.version("torch"),
    }
    assert found["ray cluster"]["detail"].startswith("none asked for")


def test_a_missing_required_part_fails(capsys, monkeypatch):
    real = metadata.version

    def without_numba(name):
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", without_numba)

    code, found = examined(capsys)

    assert code == 1
    assert found["numba"]["state"] == "missing"
    assert found["numba"]["detail"].startswith("pip install")
    assert found["ray"]["state"] == "ok"


def test_a_missing_optional_part_is_told_with_its_remedy_and_fails_nothing(capsys, monkeypatch):
    real = doctor.importlib.util.find_spec
    monkeypatch.setattr(
        doctor.importlib.util, "find_spec", lambda name: None if name == "nes_py" else real(name)
    )

    assert main(["doctor"]) == 0

    (line,) = [line for line in capsys.readouterr().out.splitlines() if "mario" in line]
    assert "missing" in line
    assert "nes_py not installed: pip install -c constraints.txt -e '.[mario]'" in line


def test_an_address_where_no_cluster_is_fails(capsys):
    code, found = examined(capsys, "--address", "127.0.0.1:9")

    assert code == 1
    assert found["ray cluster"]["state"] == "wrong"
    assert "nothing answers" in found["ray cluster"]["detail"]


@pytest.mark.parametrize("place", ["environment", "file"])
def test_no_secret_is_told(capsys, monkeypatch, tmp_path, place):
    secret = "6b1f0c1de0f24"
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", secret)
    if place == "environment":
        monkeypatch.setenv("RAY_AUTH_TOKEN", secret)
    else:
        (tmp_path / "token").write_text(secret)
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))

    code, found = examined(capsys)

    assert code == 0
    assert found["ray token"]["state"] == "ok"
    assert "logged in" in found["wandb mode"]["detail"]
    assert secret not in json.dumps(found)


@pytest.mark.parametrize(
    ("netrc", "told"),
    [
        (b"machine api.wandb.ai login user password 0123", "logged in"),
        (b"# not of wandb\nmachine example.org login user password 0123", "no login"),
        (b"machine api.wandb.ai login \xff password 0123", "no login"),
        (b"machine api.wandb.ai whatever", "no login"),
    ],
)
def test_a_login_is_one_in_a_netrc_that_can_be_read(capsys, monkeypatch, tmp_path, netrc, told):
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "netrc").write_bytes(netrc)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    _, found = examined(capsys)

    assert told in found["wandb mode"]["detail"]


def test_nodes_are_told_each(monkeypatch):
    import ray

    from rllib_ride.experiments import connect, preflight

    nodes = [
        {"NodeManagerAddress": "10.0.0.1", "Alive": True, "Resources": {"CPU": 4.0}},
        {"NodeManagerAddress": "10.0.0.2", "Alive": True, "Resources": {"CPU": 8.0, "GPU": 1.0}},
        {"NodeManagerAddress": "10.0.0.3", "Alive": False, "Resources": {}},
    ]
    monkeypatch.setattr(connect, "start_ray", lambda address: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)  # other tests use this session's Ray
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(preflight, "versions", lambda: {"ray": "2.60.0"})
    monkeypatch.setattr(
        preflight,
        "node_versions",
        lambda: {"10.0.0.1": {"ray": "2.60.0"}, "10.0.0.2": {"ray": "2.59.0"}},
    )

    findings = {finding.part: finding for finding in doctor.examine("10.0.0.1:6379")}

    assert findings["ray cluster"].detail == "10.0.0.1:6379, 2 nodes alive"
    assert findings["node 10.0.0.1"].detail == "4 CPU, versions match"
    assert findings["node 10.0.0.2"].state == "wrong"
    assert findings["node 10.0.0.2"].detail == "10.0.0.2 has ray 2.59.0, not 2.60.0"
    assert findings["node 10.0.0.3"].detail == "dead"
    assert not findings["node 10.0.0.3"].required
    assert not doctor.healthy(list(findings.values()))
