#!/bin/bash
# A cluster on one machine, for real: `ray up`, `ray submit` of a small experiment, results back,
# `ray down`, with cluster.local.yaml as it stands but for addresses and key.
#
#   tests/cluster/two_machines.sh WORK_FOLDER        (as root; sshd, rsync and ip installed)
#
# A laptop, a head and a worker are each a set of namespaces: an address on a bridge of their own, an
# sshd, a home, a /tmp, and their own process ids, without which the `ray stop` of one would end all
# Ray on this machine. The kernel takes all of it away when the outermost process ends, however it
# ends. WORK_FOLDER keeps homes, logs and results. PYTHON names a Python with this package's
# dependencies, which stands for what pip would fetch.
set -euo pipefail

HEAD=10.77.0.11 WORKER=10.77.0.12 LAPTOP=10.77.0.1
CHECKOUT=$(cd "$(dirname "$0")/../.." && pwd)
root_home=$(getent passwd root | cut -d: -f6)
PYTHON=$(realpath -s "${PYTHON:-$(command -v python3)}")
# Folders that a machine sees although its /tmp and its home are its own.
SEEN=("$CHECKOUT" "$(dirname "$(dirname "$PYTHON")")" "$(dirname "$(dirname "$(realpath "$PYTHON")")")")

main() {
  work=$(realpath "$1") && mkdir -p "$work"
  make_keys
  # setpriv: the machines end with this process, even if it is killed.
  setpriv --pdeathsig KILL unshare --net --mount --pid --fork --kill-child --mount-proc \
    bash "$0" --in laptop "$work" &
  machines=$!
  trap 'kill -KILL $machines 2> /dev/null || true' EXIT  # unshare itself ignores other signals
  wait $machines
}

make_keys() {
  for name in laptop head worker; do
    mkdir -p "$work/$name"/{home/.ssh,tmp} && chmod 700 "$work/$name"/home{,/.ssh}
    cp /etc/skel/.bashrc "$work/$name/home/"
    echo '. ~/.bashrc' > "$work/$name/home/.profile"
  done
  ssh-keygen -q -t ed25519 -N '' -f "$work/laptop/home/.ssh/id_ed25519" <<< y > /dev/null
  for name in head worker; do
    ssh-keygen -q -t ed25519 -N '' -f "$work/$name/host_key" <<< y > /dev/null
    cp "$work/laptop/home/.ssh/id_ed25519.pub" "$work/$name/home/.ssh/authorized_keys"
    mkdir -p "$work/$name/home/runs"
  done
  mkdir -p "$work/shared"
}

# --- inside the namespaces --------------------------------------------------------------------

# A home and a /tmp of its own; the checkout and the Python may lie below the real ones.
private_folders() {
  mount --make-rprivate /
  mount --rbind / /mnt
  mount --bind "/mnt$work/$1/tmp" /tmp
  mount --bind "/mnt$work/$1/home" "$root_home"
  for path in "$work" "${SEEN[@]}"; do
    case $path in
    /tmp/* | "$root_home"/*) mkdir -p "$path" && mount --rbind "/mnt$path" "$path" ;;
    esac
  done
  export HOME=$root_home RAY_AUTH_MODE=token
  unset RAY_ADDRESS RAY_TMPDIR RAY_AUTH_TOKEN PYTHONPATH
  cd /
}

node() {
  private_folders "$1"
  ip link set lo up
  mount --bind "$work/shared" "$root_home/runs"
  hostname "$1"
  give_packages "$root_home/rllib-ride-venv"
  mkdir -p /run/sshd
  exec /usr/sbin/sshd -D -E "$work/$1/sshd.log" -f /dev/null -o PidFile=none -o UsePAM=no \
    -o HostKey="$work/$1/host_key" -o PermitRootLogin=prohibit-password -o StrictModes=no
}

# A node's environment for which all dependencies are there already, so that it needs no network.
give_packages() {
  "$PYTHON" -m venv --without-pip "$1"
  local purelib='import sysconfig; print(sysconfig.get_path("purelib"))'
  "$PYTHON" -c "$purelib" > "$("$1/bin/python" -c "$purelib")/there.pth"
  printf '#!%s\nfrom pip._internal.cli.main import main\nraise SystemExit(main())\n' "$1/bin/python" > "$1/bin/pip"
  printf '#!%s\nfrom ray.scripts.scripts import main\nmain()\n' "$1/bin/python" > "$1/bin/ray"
  chmod +x "$1"/bin/{pip,ray}
  mkdir -p ~/.config/pip
  printf '[install]\nno-index = true\nno-deps = true\nno-build-isolation = false\n' > ~/.config/pip/pip.conf
}

start_node() {
  local name=$1 address=$2
  unshare --net --uts --mount --pid --fork --kill-child --mount-proc bash "$0" --in "$name" "$work" &
  local pid=$!
  until [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
  ip link add "to-$name" type veth peer name eth0 netns "$pid"
  ip link set "to-$name" master machines up
  nsenter --net --target "$pid" ip addr add "$address/24" dev eth0
  nsenter --net --target "$pid" ip link set eth0 up
  # It leads nowhere, but by it a machine knows which address is its own.
  nsenter --net --target "$pid" ip route add default via "$LAPTOP"
  for _ in {1..150}; do
    (: < "/dev/tcp/$address/22") 2> /dev/null && return
    sleep 0.2
  done
  echo "no sshd on $name: $(cat "$work/$name/sshd.log")" >&2
  return 1
}

laptop() {
  ip link set lo up
  ip link add machines type bridge
  ip addr add "$LAPTOP/24" dev machines
  ip link set machines up
  start_node head $HEAD
  start_node worker $WORKER
  private_folders laptop
  export PATH="$(dirname "$PYTHON"):$PATH"
  bash -euo pipefail "$CHECKOUT/tests/cluster/session.sh" "$HEAD" "$WORKER"
}

if [ "${1-}" = --in ]; then
  work=$3
  case $2 in laptop) laptop ;; *) node "$2" ;; esac
else
  main "$@"
fi
