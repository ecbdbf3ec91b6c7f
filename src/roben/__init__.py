"""Text classifiers that are provably robust to typos."""

from roben.surface import EditOne, InternalPermutation, Surface
from roben.vocabulary import Vocabulary
from roben.graph import TypoGraph, typo_graph
from roben.clustering import Clustering, agglomerate, connected_components
from roben.artifact import ArtifactError
from roben.encoding import Encoding, Explanation

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "Clustering",
    "EditOne",
    "Encoding",
    "Explanation",
    "InternalPermutation",
    "Surface",
    "TypoGraph",
    "Vocabulary",
    "agglomerate",
    "connected_components",
    "typo_graph",
]
