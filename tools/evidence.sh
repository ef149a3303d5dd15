#!/usr/bin/env bash
# Runs parts of results/commands.txt in order, and copies their curves and records to results/.
#
#     tools/evidence.sh n7s4_ride keycorridor_ride
#
# It resumes a part that has begun. RIDE_RUNS: folder of the runs (default: runs/evidence).
# RIDE_RESULTS: folder of the copies (default: results). RLLIB_RIDE: the command (default:
# .venv/bin/rllib-ride).
set -uo pipefail
cd "$(dirname "$0")/.."
runs=${RIDE_RUNS:-runs/evidence}
results=${RIDE_RESULTS:-results}
command=${RLLIB_RIDE:-.venv/bin/rllib-ride}

keep() { # copies the small files of a part
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
    # shellcheck disable=SC2086  # $options holds several words
    "$command" run $options --storage "$runs/$part" $resume || failed=1
    keep "$part"
done
exit "${failed:-0}"
