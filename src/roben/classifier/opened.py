"""Models from disk, whoever trained them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roben.classifier.robust import MANIFEST, ModelError, RobustClassifier, load_sklearn

__all__ = ["open_model"]

PICKLES = (".pkl", ".pickle", ".joblib", ".bin", ".pt", ".pth")


def open_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = (), device: str | None = None) -> Any:
    """A fitted model with `predict`: roben's own, or one that somebody trained elsewhere.

    | path | model |
    |---|---|
    | a folder that `RobustClassifier.save` wrote | a `RobustClassifier` |
    | a folder with config.json, or "hub:NAME" | a transformers model for classifying texts |
    | a file that skops wrote | a scikit-learn estimator over str; `trusted` as for `RobustClassifier.load` |
    """
    if str(path).startswith("hub:"):
        return _transformer(str(path).removeprefix("hub:"), device)
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; `roben train` makes a model")
    if (path / MANIFEST).is_file():
        return RobustClassifier.load(path, trusted=trusted, device=device)
    if (path / "config.json").is_file():
        return _transformer(str(path), device)
    if path.is_dir():
        raise ModelError(f"{path} holds neither {MANIFEST} (roben) nor config.json (transformers): it is no model")
    if path.suffix.lower() in PICKLES:
        raise ModelError(
            f"{path} looks like a pickle, which runs code when it is read. Save the model with "
            "skops.io.dump(model, 'model.skops') and open that"
        )
    try:
        model = load_sklearn(path, trusted)
    except (ModelError, ImportError):
        raise
    except Exception as error:  # of whatever is in the file
        raise ModelError(f"{path} is not readable by skops: {type(error).__name__}: {str(error)[:200]}") from error
    if not hasattr(model, "predict"):
        raise ModelError(f"{path} holds a {type(model).__name__}, which has no predict; expected a fitted classifier")
    return model


def _transformer(name: str, device: str | None) -> Any:
    from roben.classifier.transformer import TransformerClassifier

    try:
        return TransformerClassifier.from_pretrained(name, device=device)
    except (ModelError, ImportError):
        raise
    except Exception as error:  # of whatever is in the folder
        raise ModelError(
            f"{name} is not readable by transformers: {type(error).__name__}: {str(error)[:200]}"
        ) from error
