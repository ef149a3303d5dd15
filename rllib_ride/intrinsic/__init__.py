"""Intrinsic rewards in plain PyTorch: imports no Ray and runs in any training loop."""

from rllib_ride.intrinsic.count import Count
from rllib_ride.intrinsic.counts import EpisodicCounter, hash_observations
from rllib_ride.intrinsic.e3b import E3b
from rllib_ride.intrinsic.icm import Icm
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.networks import Embedding, ForwardModel, InverseModel
from rllib_ride.intrinsic.no_episodic_counts import NoEntropyNoEpisodicCounts, NoEpisodicCounts
from rllib_ride.intrinsic.noveld import NovelD
from rllib_ride.intrinsic.only_episodic_counts import OnlyEpisodicCounts
from rllib_ride.intrinsic.registry import get_method, methods, register_method
from rllib_ride.intrinsic.rewards import combine_rewards
from rllib_ride.intrinsic.ride import Ride
from rllib_ride.intrinsic.ride_raw_observations import RideRawObservations
from rllib_ride.intrinsic.ride_shared_embedding import RideSharedEmbedding
from rllib_ride.intrinsic.rnd import Rnd
from rllib_ride.intrinsic.transitions import Transitions

__all__ = [
    "Count",
    "E3b",
    "Embedding",
    "EpisodicCounter",
    "ForwardModel",
    "Icm",
    "IntrinsicMethod",
    "InverseModel",
    "NoEntropyNoEpisodicCounts",
    "NoEpisodicCounts",
    "NovelD",
    "OnlyEpisodicCounts",
    "Ride",
    "RideRawObservations",
    "RideSharedEmbedding",
    "Rnd",
    "Transitions",
    "combine_rewards",
    "get_method",
    "hash_observations",
    "methods",
    "register_method",
]
