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
