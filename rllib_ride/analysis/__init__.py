"""Curves, tables and pictures from what runs wrote; imports no trainer."""
