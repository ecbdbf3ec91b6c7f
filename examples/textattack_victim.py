"""TextAttack against what is proved: its typos break the undefended model, and no review that is certified.

`python examples/textattack_victim.py` trains two linear models on movie reviews, with and without an encoding, and
attacks both with TextAttack's typos, once as they come and once held to what the surface allows. It needs
`pip install 'roben[demo,textattack]'`.
"""

import logging
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import roben
from roben.extras import require
from roben.typed import TypedText
from roben.victim import constraint, dataset, victim

SURFACE = roben.EditOne()

Turned = tuple[roben.Certificate, str]


def import_textattack() -> Any:
    """TextAttack, with or without a network.

    As soon as it is imported it wants NLTK's stop words, which have to be downloaded, for parts that are not used here.
    """
    require("textattack", extra="textattack")
    with mock.patch("nltk.corpus.stopwords", SimpleNamespace(words=lambda language: [])):
        import textattack
    textattack.shared.utils.logger.setLevel(logging.ERROR)  # it warns of every model that is not its own
    return textattack


def typos(textattack: Any, model: Any, *constraints: Any) -> Any:
    """The edits of Pruthi et al. (2019), one in each of any number of words, the most important words first.

    As in the surface, the first and the last character of a word stay.
    """
    options = {"random_one": False, "skip_first_char": True, "skip_last_char": True}
    edits = ("NeighboringCharacterSwap", "RandomCharacterDeletion", "RandomCharacterInsertion", "QWERTY")
    return textattack.Attack(
        textattack.goal_functions.UntargetedClassification(victim(model), model_batch_size=1024),
        [textattack.constraints.pre_transformation.RepeatModification(), *constraints],
        textattack.transformations.CompositeTransformation(
            [getattr(textattack.transformations, f"WordSwap{edit}")(**options) for edit in edits]
        ),
        textattack.search_methods.GreedyWordSwapWIR(wir_method="delete"),
    )


def broken(attack: Any, examples: Any) -> list[str | None]:
    """Of each example, a text that the model gets wrong: itself, if it was wrong already; None if none was found."""
    random.seed(0)
    found: list[str | None] = []
    for text, rank in examples:
        result = attack.attack(text, rank)
        survived = type(result).__name__ == "FailedAttackResult"
        found.append(None if survived else result.perturbed_result.attacked_text.text)
    return found


def is_allowed(text: str, typed: str) -> bool:
    """May the attacker type this for the text? Asked of the surface, token by token."""
    clean, others = TypedText(text, "inner-words").tokens, TypedText(typed, "inner-words").tokens
    return len(clean) == len(others) and all(map(SURFACE.allows, clean, others))


def turned(certificates: Sequence[roben.Certificate], found: Sequence[str | None]) -> list[Turned]:
    """The examples that were right as they stood, and the text that turned each around."""
    return [(c, typed) for c, typed in zip(certificates, found, strict=True) if typed not in (None, c.text)]


def main(n_reviews: int = 100) -> None:
    """Trains, attacks, certifies and compares."""
    textattack = import_textattack()
    train, test = roben.data.reviews("train"), roben.data.reviews("test").sample(n_reviews, seed=0)
    encodings = {"undefended": "none", "defended": roben.Encoding.english()}
    models = {name: roben.RobustClassifier(it).fit(train.texts, train.labels) for name, it in encodings.items()}
    certificates = list(roben.certify(models["defended"], test.texts, test.labels))
    proved = roben.robust_accuracy(certificates).lower

    print(f"Percent of {n_reviews} reviews classified rightly\n")
    print("              standard   TextAttack   within the surface   robust (proved)")
    for name, model in models.items():
        examples = dataset(model, test)
        free = broken(typos(textattack, model), examples)
        held = broken(typos(textattack, model, constraint(SURFACE)), examples)
        standard, robust = model.score(test.texts, test.labels), proved if name == "defended" else None
        shares = [standard, free.count(None) / n_reviews, held.count(None) / n_reviews, robust]
        row = ["" if share is None else f"{100 * share:.1f}" for share in shares]
        print("{:10}{:>12}{:>13}{:>21}{:>18}".format(name, *row).rstrip())

    # The last of the loop was the defended model. What TextAttack found is checked without its help.
    assert proved <= held.count(None) / n_reviews
    assert all(is_allowed(c.text, typed) for c, typed in turned(certificates, held))
    new = turned(certificates, free)
    allowed = [(c, typed) for c, typed in new if is_allowed(c.text, typed)]
    assert all(c.verdict == "broken" for c, _ in [*allowed, *turned(certificates, held)])

    print(f"\nLeft to itself, TextAttack turns {len(new)} reviews of the defended model around.")
    print(f"The surface allows {len(allowed)} of the texts, and none of these reviews was certified.")
    if others := [pair for pair in new if pair not in allowed]:
        certificate, typed = others[0]
        print(f"The others edit the ends of tokens, such as those around a hyphen:\n  {certificate.text}\n  {typed}")


if __name__ == "__main__":
    main()
