# What a person types on the laptop; two_machines.sh runs it between its machines.
head=$1 worker=$2

say() { printf '\n### %s, %s s\n' "$1" $SECONDS; }

refused() {
  if "$@" > refused.txt; then echo "not refused: $*" && exit 1; fi
  cat refused.txt
}

on_the_worker() { ssh -o StrictHostKeyChecking=no "root@$worker" "$@"; }

on_the_head() { ray exec mine/cluster.yaml "$1"; }

# A clone, and a cluster file after the lines marked CHANGE.
rsync -a --filter=':- .gitignore' "$(dirname "$0")/../../" ~/clone/
cd ~/clone
mkdir mine
sed -e "s/^  head_ip: [^ ]*/  head_ip: $head/" -e "s/^  worker_ips: \[[^]]*\]/  worker_ips: [$worker]/" \
  -e 's/^  ssh_user: [^ ]*/  ssh_user: root/' cluster.local.yaml > mine/cluster.yaml
# Three trials of one CPU each: more than the head has.
cat > mine/tiny.yaml <<'YAML'
experiment: tiny
env: MiniGrid-Empty-5x5-v0
method: [ride, none]
preset: tuned
seed: [1, 2, 3]
frames: 4000
YAML

say 'ray up'
ray get-auth-token --generate > /dev/null
ray up --yes mine/cluster.yaml

say 'until the worker is there'
for _ in {1..60}; do
  on_the_head 'rllib-ride doctor --address auto' | tee doctor.txt | grep "node $worker .*versions match" && break
  sleep 2
done
grep "node $head .*versions match" doctor.txt
grep "node $worker .*versions match" doctor.txt
refused grep "$(cat ~/.ray/auth_token)" doctor.txt

say 'ray submit'
ray submit mine/cluster.yaml mine/tiny.yaml -- --method ride | tee submitted.txt
grep "finished: $HOME/runs/tiny" submitted.txt

say 'the head: python takes Python too, and more than there is is refused'
on_the_head "python -c 'import rllib_ride; print(rllib_ride.__file__)'" | grep "^$HOME/rllib-ride/rllib_ride/"
refused ray submit mine/cluster.yaml mine/tiny.yaml -- --storage more --set num_env_runners=9
grep 'needs 10 CPU at once' refused.txt

say 'a node with other code'
on_the_worker "echo '# other' >> ~/rllib-ride/rllib_ride/__init__.py"
refused ray submit mine/cluster.yaml mine/tiny.yaml -- --storage more
grep "$worker has rllib-ride" refused.txt

say 'without the token'
refused on_the_head "HOME=/tmp rllib-ride doctor --address $head:6379"
grep 'cannot be joined' refused.txt

say 'what listens on the head'
on_the_head 'ss -ltn' | tee listening.txt
grep -q ':6379 ' listening.txt
refused grep -E '(0\.0\.0\.0|\*|10\.77\.0\.11):8265 ' listening.txt

say 'results back'
ray rsync-down mine/cluster.yaml '~/runs/' runs/
for trial in runs/tiny/ride_Empty-5x5_seed{1,2,3}; do
  test -s "$trial/curve.csv" -a -s "$trial/run.json"
  grep -o '"node_ip": "[^"]*"' "$trial/result.json" | tail -n 1
done | tee nodes.txt
grep -q "$head" nodes.txt
grep -q "$worker" nodes.txt

say 'ray down'
ray down --yes mine/cluster.yaml
refused bash -c ": < /dev/tcp/$head/6379"

say 'until the worker has missed its head'
for _ in {1..60}; do
  on_the_worker pgrep -x raylet > /dev/null || break
  sleep 2
done
refused on_the_worker pgrep -x raylet
say 'all as it should be'
