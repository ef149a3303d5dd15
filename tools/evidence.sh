#!/usr/bin/env bash
# Runs parts of results/commands.txt one after the other and keeps their curves and records.
#
#     tools/evidence.sh n7s4_ride keycorridor_ride
#
# Parts already begun are resumed. RIDE_RUNS: the folder of the runs (default: runs/evidence).
# RIDE_RESULTS: where curves and records are kept (default: results).
# RLLIB_RIDE: the command (default: .venv/bin/rllib-ride).
set -uo pipefail
cd "$(dirname "$0")/.."
runs=${RIDE_RUNS:-runs/evidence}
results=${RIDE_RESULTS:-results}
command=${RLLIB_RIDE:-.venv/bin/rllib-ride}

keep() { # the small files of a part
    for record in "$runs/$1"/*/*/run.json; do
        [ -e "$record" ] || continue # no trial has begun
        trial=$(basename "$(dirname "$record")")
        mkdir -p "$results/$1/$trial"
        cp "$record" "$(dirname "$record")/curve.csv" "$results/$1/$trial/"
    done
}

for part in "$@"; do
    options=$(sed -n "s/^$part  *//p" results/commands.txt)
    [ -n "$options" ] || { echo "results/commands.txt has no part $part" >&2; exit 2; }
    resume=$(compgen -G "$runs/$part/*/trials.json" > /dev/null && echo --resume)
    # shellcheck disable=SC2086  # options are words
    "$command" run $options --storage "$runs/$part" $resume || failed=1
    keep "$part"
done
exit "${failed:-0}"
