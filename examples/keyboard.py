"""A surface of one's own: slips onto a neighbouring key.

A class that inherits from `Surface` needs one method. It works through every stage, only slower than those of roben.

>>> surface = NeighbouringKey()
>>> sorted(surface.typos("it"))
['8t', '9t', 'i5', 'i6', 'if', 'ig', 'ir', 'it', 'iy', 'jt', 'kt', 'ot', 'ut']
>>> encoding = roben.Encoding.build(vocabulary(), surface)
>>> encoding("a hood film")
'a good film'
>>> model = roben.RobustClassifier(encoding).fit(TEXTS, LABELS)
>>> [certificate.verdict for certificate in roben.certify(model, TEXTS, LABELS)]
['robust', 'robust', 'robust', 'robust']
"""

import roben

KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")

TEXTS = ["a good film", "a great film", "a dull plot", "an awful bore"]
LABELS = ["pos", "pos", "neg", "neg"]


def neighbours(key: str) -> str:
    """The keys around one, on a keyboard whose rows are shifted by half a key."""
    for row, keys in enumerate(KEYS):
        if key in keys:
            place = keys.index(key)
            around = [(row, place - 1), (row, place + 1), (row - 1, place), (row - 1, place + 1), (row + 1, place - 1)]
            around.append((row + 1, place))
            return "".join(KEYS[r][p] for r, p in around if 0 <= r < len(KEYS) and 0 <= p < len(KEYS[r]))
    return ""


class NeighbouringKey(roben.Surface):
    """One letter of a word of two or more may be its neighbour on the keyboard."""

    def typos(self, token: str) -> frozenset[str]:
        """The token, and every slip of one finger."""
        slips = {token}
        if len(token) > 1:
            for i, letter in enumerate(token):
                slips.update(token[:i] + other + token[i + 1 :] for other in neighbours(letter))
        return frozenset(slips)


def vocabulary() -> roben.Vocabulary:
    """The words of the texts; a real one would have many more."""
    return roben.Vocabulary.from_texts(TEXTS)
