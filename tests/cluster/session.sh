# What a person types on the laptop; run by two_machines.sh between its machines.
work=$1 head=$2 worker=$3

# A clone with a cluster file of its own, as a person's would be after the lines marked CHANGE.
rsync -a --filter=':- .gitignore' "$(dirname "$0")/../../" ~/clone/
cd ~/clone
mkdir -p mine
sed -e "s/^  head_ip: .*/  head_ip: $head/" -e "s/^  worker_ips: .*/  worker_ips: [$worker]/" \
  -e 's/^  ssh_user: .*/  ssh_user: root/' cluster.local.yaml > mine/cluster.yaml
cat > mine/tiny.yaml <<'YAML'
experiment: tiny
env: MiniGrid-Empty-5x5-v0
method: [ride, none]
preset: tuned
seed: [1, 2]
frames: 4000
YAML
ray get-auth-token --generate > /dev/null

echo '### ray up'
ray up --yes mine/cluster.yaml
echo '### ray status'
ray exec mine/cluster.yaml 'ray status'

echo '### doctor'
ray exec mine/cluster.yaml 'rllib-ride doctor --address auto' || true
echo '### ray submit'
ray submit mine/cluster.yaml mine/tiny.yaml -- --method none
echo '### the same from the head by hand'
ray exec mine/cluster.yaml "python ~/tiny.yaml --method none --dry-run"
echo '### python is still Python'
ray exec mine/cluster.yaml "python -c 'import rllib_ride, sys; print(sys.version, rllib_ride.__file__)'"
echo '### listening'
ray exec mine/cluster.yaml 'ss -ltnp'
echo '### rsync-down'
ray rsync-down mine/cluster.yaml '~/runs/' runs/
find runs -name result.json
echo '### ray down'
ray down --yes mine/cluster.yaml
ps -ef
