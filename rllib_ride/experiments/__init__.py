"""From a YAML file to trials, and from trials to a run with Tune."""
