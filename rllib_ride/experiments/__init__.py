"""Turns a YAML file into trials, and runs them with Tune."""
