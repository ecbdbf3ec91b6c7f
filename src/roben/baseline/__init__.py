"""The defences that roben is compared with: none of them proves anything.

`augment` shows a model typos while it is trained. `Corrected` puts a corrector in front of a model: a `TypoCorrector`
that was trained for the task, `symspell`, `pyspellchecker`, or any function that turns texts into corrected ones.
"""

from roben.baseline.augmentation import augment
from roben.baseline.corrector import TypoCorrector
from roben.baseline.front import Corrected, Corrector, CorrectorError, pyspellchecker, symspell

__all__ = ["Corrected", "Corrector", "CorrectorError", "TypoCorrector", "augment", "pyspellchecker", "symspell"]
