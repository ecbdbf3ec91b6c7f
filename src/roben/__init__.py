"""Text classifiers that are provably robust to typos."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from roben.surface import EditOne, InternalPermutation, Surface
from roben.vocabulary import Vocabulary
from roben.graph import TypoGraph, typo_graph
from roben.clustering import Clustering, agglomerate, connected_components
from roben.artifact import ArtifactError
from roben.encoding import Encoding, Explanation

if TYPE_CHECKING:
    from roben import attack, baseline, data
    from roben.certificate import Certificate, RobustAccuracy, certify, robust_accuracy
    from roben.classifier import ModelError, NgramClassifier, RobustClassifier, TransformerClassifier, open_model

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "Certificate",
    "Clustering",
    "EditOne",
    "Encoding",
    "Explanation",
    "InternalPermutation",
    "ModelError",
    "NgramClassifier",
    "RobustAccuracy",
    "RobustClassifier",
    "Surface",
    "TransformerClassifier",
    "TypoGraph",
    "Vocabulary",
    "agglomerate",
    "attack",
    "baseline",
    "certify",
    "connected_components",
    "data",
    "open_model",
    "robust_accuracy",
    "typo_graph",
]

# What needs scikit-learn is imported when it is first asked for, and `import roben` stays light.
_LATER = {
    "Certificate": "roben.certificate",
    "ModelError": "roben.classifier",
    "NgramClassifier": "roben.classifier",
    "RobustAccuracy": "roben.certificate",
    "RobustClassifier": "roben.classifier",
    "TransformerClassifier": "roben.classifier",
    "attack": "roben.attack",
    "baseline": "roben.baseline",
    "certify": "roben.certificate",
    "data": "roben.data",
    "open_model": "roben.classifier",
    "robust_accuracy": "roben.certificate",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'roben' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if _LATER[name] == f"roben.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
