"""What g may be: the classifier behind the encoding.

`NgramClassifier` is the default. Any scikit-learn estimator over str, or over pairs of str, works too, and so does
any object with `fit`, `predict` and `classes_`; `TransformerClassifier` brings transformers.
"""

from roben.extras import require

require("sklearn", extra="classify")

from roben.classifier.ngram import NgramClassifier  # noqa: E402
from roben.classifier.opened import open_model  # noqa: E402
from roben.classifier.robust import ModelError, RobustClassifier  # noqa: E402
from roben.classifier.transformer import TransformerClassifier  # noqa: E402

__all__ = ["ModelError", "NgramClassifier", "RobustClassifier", "TransformerClassifier", "open_model"]
