"""RIDE whose embedding is the policy's (RIDE, ICLR 2020, appendix "Other Practical Insights")."""

from __future__ import annotations

from typing import Any, ClassVar

from rllib_ride.intrinsic.networks import PolicyEmbedding
from rllib_ride.intrinsic.ride import Ride


class RideSharedEmbedding(Ride):
    """RIDE with one network for the policy's features and phi, trained by the losses of both.

    The paper found it ineffective. See docs/methods/ablations.md, and `DynamicsMethod` for the
    arguments and the losses.

    Attributes:
        embedding: The policy's convolutions after `share`; before, a network of the same shape.
    """

    embedding_class: ClassVar[Any] = PolicyEmbedding
    shares_policy_embedding: ClassVar[bool] = True

    def share(self, embedding: PolicyEmbedding) -> None:
        """Uses the policy's convolutions as this method's phi."""
        self.embedding = embedding
