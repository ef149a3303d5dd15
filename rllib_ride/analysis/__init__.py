"""Curves, tables and pictures from what runs wrote; imports no trainer."""

from rllib_ride.analysis.episode_picture import write_episode_picture
from rllib_ride.analysis.episode_record import Episode, Facts, Kind, Recording, kind_of
from rllib_ride.analysis.finish import write_summary

__all__ = [
    "Episode",
    "Facts",
    "Kind",
    "Recording",
    "kind_of",
    "write_episode_picture",
    "write_summary",
]
