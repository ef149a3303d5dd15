# Sourced by ~/.bashrc on every node of a cluster (see setup_commands in cluster.yaml), and thus by
# each command that `ray up`, `ray submit` and `ray exec` run there.

# Every process that talks to the cluster authenticates with the token in ~/.ray/auth_token.
export RAY_AUTH_MODE=token

# This folder comes first: its `python` also takes an experiment's YAML. The virtual environment's
# programs come next.
export PATH="$HOME/rllib-ride/tools/cluster:$HOME/rllib-ride-venv/bin:$PATH"
