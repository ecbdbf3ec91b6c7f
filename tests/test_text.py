"""How a text falls into tokens, and the law the certificate rests on: a typed text has the same tokens, one by one."""

import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import roben
from roben import _reference
from roben.kernel import LAST_ASSIGNED, is_word_character, native_kernel, split_name

SPLITS = ("spaces", "words", "inner-words")
GERMAN = "abcdefghijklmnopqrstuvwxyzäöüß"
RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"

# What texts are made of that text generators seldom think of.
ODDITIES = [
    *"aZé9_-'’.,!?\"&@#/\\\0\x1b\x7f\xad",
    *" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2009\u2028\u2029\u202f\u205f\u3000\u200b\ufeff",
    *"\ud800\udfff\u0301\u200c\u200d\ufe0f\U000e0100\U0010ffff½²Ⅷ١漢字ßİıſKΣςǅﬁ",
    *(
        "don't",
        "isn’t",
        "'tis'",
        "rock 'n' roll",
        "''",
        "e\u0301te\u0301",
        "हिन्दी",
        "क्\u200dष",
        "👍🏽",
        "☺\ufe0f",
        "1️⃣",
        "Straße",
    ),
    *("ΟΔΟΣ", "İstanbul", "Москва", "naïve", "x2", "3.14", "well-made", "A\ud800b", "cancer,", "…"),
]
TEXTS = st.lists(st.characters() | st.sampled_from(ODDITIES), max_size=30).map("".join)


def tokenize(text: str, split: str) -> list[str]:
    return native_kernel().tokenize(text, split)


# -- tokens -------------------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(TEXTS)
@example("".join(ODDITIES))
@example(" ".join(ODDITIES))
@pytest.mark.parametrize("split", SPLITS)
def test_both_kernels_find_the_same_tokens(split, text):
    assert tokenize(text, split) == _reference.tokenize(text, split)


def test_every_code_point_is_told_apart_alike_by_both_kernels():
    text = " ".join(f"a{chr(code)}b" for code in range(sys.maxunicode + 1))
    assert tokenize(text, "words") == _reference.tokenize(text, "words")


def test_by_spaces_every_text_falls_apart_where_str_split_says():
    text = "".join(f"a{chr(code)}b" for code in range(sys.maxunicode + 1))
    assert tokenize(text, "spaces") == text.lower().split()


def test_white_space_is_no_token_and_parts_words_in_every_split():
    white = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert len(white) >= 25
    for split in SPLITS:
        for space in white:
            assert tokenize(f"{space}a{space}{space}b{space}", split) == ["a", "b"]


def test_no_word_character_lies_beyond_the_last_that_the_compiled_kernel_is_told():
    assert not any(is_word_character(chr(code)) for code in range(LAST_ASSIGNED + 1, sys.maxunicode + 1))


def test_lower_casing_twice_is_lower_casing_once_for_every_code_point():
    # Texts are lower-cased as a whole, tokens and their typos once more: it must not matter.
    assert all(chr(code).lower().lower() == chr(code).lower() for code in range(sys.maxunicode + 1))


@given(TEXTS)
def test_lower_casing_twice_is_lower_casing_once_for_every_text(text):
    assert text.lower().lower() == text.lower()


@given(TEXTS)
@pytest.mark.parametrize("split", SPLITS)
def test_the_tokens_are_the_lower_cased_text_without_its_white_space(split, text):
    plain = text.lower() if split == "spaces" else text.lower().replace("’", "'")
    assert "".join(tokenize(text, split)) == "".join(plain.split())


@given(TEXTS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_token_is_one_token_by_itself(split, text):
    for token in tokenize(text, split):
        assert tokenize(token, split) == [token]


@given(TEXTS)
@pytest.mark.parametrize("split", ["words", "inner-words"])
def test_by_words_a_typographic_apostrophe_is_an_apostrophe(split, text):
    assert tokenize(text, split) == tokenize(text.replace("’", "'"), split)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\n\u3000 ", []),
        ("Well-made, isn't it?", ["well", "-", "made", ",", "isn't", "it", "?"]),
        ("isn’t", ["isn't"]),
        ("'Cancer,'", ["'", "cancer", ",", "'"]),
        ("rock 'n' roll", ["rock", "'", "n", "'", "roll"]),
        ("''' ''", ["'"] * 5),
        ("''tis''", ["'", "'", "tis", "'", "'"]),
        ("$3.50 (x2)", ["$", "3", ".", "50", "(", "x2", ")"]),
        ("snake_case", ["snake", "_", "case"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("漢字。Привет!", ["漢字", "。", "привет", "!"]),
        ("ok👍🏽ok", ["ok", "👍", "🏽", "ok"]),
        ("love☺\ufe0fit", ["love", "☺", "\ufe0f", "it"]),
        ("a\0b", ["a", "\0", "b"]),
        ("a\ud800b", ["a", "\ud800", "b"]),
        ("a\u200bb", ["a", "\u200b", "b"]),
        ("½ x² Ⅷ ١", ["½", "x²", "ⅷ", "١"]),
    ],
)
def test_worked_examples_by_words(text, tokens):
    assert encoding_for("edit-one", "words").tokenize(text) == tokens


def test_by_spaces_the_example_is_three_tokens():
    assert encoding_for("edit-one", "spaces").tokenize("Well-made, isn't it?") == ["well-made,", "isn't", "it?"]


def test_where_an_end_may_be_edited_apostrophes_stay_with_their_word():
    assert encoding_for("free-start", "words").tokenize("'Cancer,'") == ["'cancer", ",", "'"]


def test_an_unknown_way_to_split_is_refused():
    with pytest.raises(ValueError, match="'letters'; it may be 'words' or 'spaces'"):
        split_name("letters", keeps_ends=True)


# -- the law ------------------------------------------------------------------------------------------------

SURFACES = {
    "edit-one": roben.EditOne(),
    "free-start": roben.EditOne(keep_first=0),
    "free-end": roben.EditOne(keep_last=0),
    "free-ends": roben.EditOne(keep_first=0, keep_last=0),
    "apostrophe": roben.EditOne(alphabet="ab'"),
    "apostrophe-free-ends": roben.EditOne(alphabet="ab'", keep_first=0, keep_last=0),
    "permutation": roben.InternalPermutation(),
    "german": roben.EditOne(alphabet=GERMAN),
    "russian": roben.EditOne(alphabet=RUSSIAN),
    "combining": roben.EditOne(alphabet="a\u0301\u094d9", keep_first=0, keep_last=0),
}
BY_SURFACE_AND_TOKENS = pytest.mark.parametrize(
    ("name", "tokens"), [(name, tokens) for name in SURFACES for tokens in ("words", "spaces")]
)


@cache
def encoding_for(name: str, tokens: str) -> roben.Encoding:
    vocabulary = roben.Vocabulary.from_counts({"the": 2, "cancer": 1})
    return roben.Encoding.build(vocabulary, SURFACES[name], tokens=tokens)


def spans(text: str, tokens: list[str]) -> list[slice]:
    """Where in the lower-cased text its tokens stand."""
    plain = text.replace("’", "'")
    found, end = [], 0
    for token in tokens:
        start = (text if "’" in token else plain).index(token, end)
        assert not text[end:start].strip(), "between two tokens there is only white space"
        end = start + len(token)
        found.append(slice(start, end))
    return found


def typed_in_place(text: str, replacements: list[tuple[slice, str]]) -> str:
    """The text with some tokens typed otherwise. All that stands around them stays: white space, marks, or nothing."""
    for where, typo in reversed(replacements):
        text = text[: where.start] + typo + text[where.stop :]
    return text


@BY_SURFACE_AND_TOKENS
@settings(max_examples=120)
@given(text=TEXTS, seed=st.integers(0, 2**32), share=st.sampled_from([0.2, 0.7, 1.0]))
@example(text="".join(ODDITIES), seed=0, share=1.0)
@example(text=" ".join(ODDITIES), seed=1, share=1.0)
@example(text="''Tis a well-made, 'un-put-downable' book; don't (ever) miss'em!", seed=2, share=1.0)
def test_a_typed_text_has_the_same_tokens_one_by_one(name, tokens, text, seed, share):
    encoding, rng = encoding_for(name, tokens), np.random.default_rng(seed)
    clean = encoding.tokenize(text)
    typed = [encoding.surface.sample(t, rng)[0] if rng.random() < share else t for t in clean]
    lowered = text.lower()
    changes = [(at, new) for at, old, new in zip(spans(lowered, clean), clean, typed, strict=True) if old != new]
    typed_text = typed_in_place(lowered, changes)
    assert encoding.tokenize(typed_text) == typed
    assert encoding.tokenize(in_random_case(typed_text, rng)) == typed


@BY_SURFACE_AND_TOKENS
def test_every_single_typo_leaves_its_neighbours_alone(name, tokens):
    encoding = encoding_for(name, tokens)
    contexts = [
        "{}",
        "'{}'",
        "''{}''",
        "’{}’",
        "-{}-",
        "({}).",
        "the {} was",
        "the-{}'s",
        "_{}_",
        "\ufe0f{}\u200d",
        "$'{}',",
    ]
    for word in ("a", "is", "o'er", "it's", "böse", "e\u0301t", "всё", "9th"):
        for context in contexts:
            text = context.format(word)
            clean = encoding.tokenize(text)
            for i, where in enumerate(spans(text, clean)):
                for typo in encoding.surface.typos(clean[i]):
                    typed_text = typed_in_place(text, [(where, typo)])
                    assert encoding.tokenize(typed_text) == [*clean[:i], typo, *clean[i + 1 :]], typed_text


def in_random_case(text: str, rng: np.random.Generator) -> str:
    """Letters that have one capital, and it them. (ß has "SS", which is other letters, and Σ two small ones.)"""

    def has_a_capital(letter: str) -> bool:
        return letter.upper() != letter and letter.upper().lower() == letter and letter != "σ"

    return "".join(c.upper() if has_a_capital(c) and rng.random() < 0.5 else c for c in text)


def test_a_split_that_is_not_closed_would_break_the_law():
    # Were apostrophes split off though the surface edits the ends of a token, one typed there would be a new token.
    surface = SURFACES["apostrophe-free-ends"]
    assert surface.allows("cancer", "'cancer")
    assert tokenize("'cancer", "inner-words") == ["'", "cancer"]
    assert split_name("words", keeps_ends=surface.keeps_ends) == "words"
    assert tokenize("'cancer", "words") == ["'cancer"]


@pytest.mark.parametrize("alphabet", ["-", "ab.", "’", "\ufe0f", "☺", "_", "\0"])
def test_by_words_an_alphabet_that_would_split_words_is_refused(alphabet):
    clusters = roben.connected_components(
        roben.typo_graph(roben.Vocabulary.from_counts({"the": 1}), roben.EditOne(alphabet=alphabet))
    )
    with pytest.raises(ValueError, match=r"which ends a word.*tokens='spaces'"):
        roben.Encoding(clusters)
    encoding = roben.Encoding(clusters, tokens="spaces")
    for typo in encoding.surface.typos("well-made"):
        assert encoding.tokenize(f"a {typo} b") == ["a", typo, "b"]
