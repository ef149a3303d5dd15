# Sourced by ~/.bashrc on every node of a cluster (see setup_commands in cluster.yaml), and so by
# each command that `ray up`, `ray submit` and `ray exec` run there.

# Every process that talks to the cluster authenticates with the token in ~/.ray/auth_token.
export RAY_AUTH_MODE=token

# First this folder: its `python` also takes an experiment's YAML. Then the environment's programs.
export PATH="$HOME/rllib-ride/tools/cluster:$HOME/rllib-ride-venv/bin:$PATH"
