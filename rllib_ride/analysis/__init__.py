"""Curves, tables and pictures from the files of runs; imports no training code."""
