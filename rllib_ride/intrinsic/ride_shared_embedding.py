"""RIDE whose embedding is the policy's (RIDE, ICLR 2020, appendix "Other Practical Insights")."""

from __future__ import annotations

from typing import Any, ClassVar

from rllib_ride.intrinsic.networks import PolicyEmbedding
from rllib_ride.intrinsic.ride import Ride


class RideSharedEmbedding(Ride):
    """RIDE with one network for the policy's features and phi, trained by the losses of both.

    The paper tried it and found it ineffective. docs/methods/ablations.md tells the whole of it;
    `DynamicsMethod`, what it takes and how it learns.

    Attributes:
        embedding: The policy's convolutions once they are shared (`share`); until then, a network
            of the same shape.
    """

    embedding_class: ClassVar[Any] = PolicyEmbedding
    shares_policy_embedding: ClassVar[bool] = True

    def share(self, embedding: PolicyEmbedding) -> None:
        """Makes the policy's convolutions this method's phi."""
        self.embedding = embedding
