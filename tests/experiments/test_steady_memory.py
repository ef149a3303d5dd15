"""A run's allocators return memory, and Tune's saves do not make the driver grow."""

import os
import subprocess
import sys

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="left as it is elsewhere")
IN_A_RUN = """
import sys
import rllib_ride.cli
from rllib_ride.verbs import run
def started(*args, **options):
    from ray import tune
    import pyarrow
    print(pyarrow.default_memory_pool().backend_name)
    sys.exit()
run.planned_trials = started
rllib_ride.cli.main(["run", "any.yaml"])
"""

# 100 MB in pieces, of which every thousandth stays, so that the heap cannot shrink from its end.
FREED = """
import numpy as np
from rllib_ride.experiments.steady_memory import give_back_memory
def mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
pieces = [np.ones(10_000, np.uint8) for _ in range(10_000)]
kept = pieces[::1000]
del pieces
before = mb()
give_back_memory()
print(before, mb())
"""

# Saves Tune's record of a trial, which holds the last values of each metric, after each of 1,000.
SAVED = """
import sys, tracemalloc
from ray.tune.trainable.metadata import _TrainingRunMetadata
from rllib_ride.experiments.quiet import quiet_ray
if sys.argv[1] == "quiet":
    quiet_ray()
record = _TrainingRunMetadata(n_steps=[10])
tracemalloc.start()
for value in range(1_010):
    record.update_metric("return_mean", value / 7)
    record.get_json_state()
    if value == 10:
        before, _ = tracemalloc.get_traced_memory()
print((tracemalloc.get_traced_memory()[0] - before) / 1_000)
"""


def backend(**variables):
    """The allocator that pyarrow has once the verb `run` imports Tune."""
    env = {k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"} | variables
    done = subprocess.run([sys.executable, "-c", IN_A_RUN], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@LINUX
def test_a_run_has_an_allocator_that_gives_back_what_threads_leave_behind():
    assert backend() == "jemalloc"


@LINUX
def test_what_the_user_has_set_stays():
    assert backend(ARROW_DEFAULT_MEMORY_POOL="system") == "system"


@LINUX
def test_freed_memory_goes_back_to_the_system():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after = map(float, done.stdout.split())
    assert before - after > 50  # MB; without glibc's malloc_trim there is nothing to give back


@pytest.mark.parametrize(("quiet", "grows"), [("quiet", False), ("as Ray is", True)])
def test_a_saved_trial_leaves_nothing_behind_in_tunes_process(quiet, grows):
    done = subprocess.run([sys.executable, "-c", SAVED, quiet], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (float(done.stdout) > 100) == grows  # bytes a save
