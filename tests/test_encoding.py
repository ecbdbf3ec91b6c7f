"""Encodings: tokens and texts to codes, and exactly the codes that the attacker can reach."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import roben
from roben import _reference

GERMAN = "abcdefghijklmnopqrstuvwxyzäöüß"
RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"


def build(words, surface=None, **options) -> roben.Encoding:
    """An encoding of these words, the first the most frequent."""
    return roben.Encoding.build(roben.Vocabulary.from_counts(falling(words)), surface, **options)


def falling(words) -> dict[str, int]:
    return {word: len(words) - i for i, word in enumerate(words)}


# -- what the encoding means, as naively as it can be said --------------------------------------------------


def word_by_definition(encoding: roben.Encoding, token: str) -> str | None:
    if token in encoding.vocabulary.words:
        return token
    return next((word for word in encoding.vocabulary.words if token in ball(encoding.surface, word)), None)


def code_by_definition(encoding: roben.Encoding, token: str) -> str:
    word = word_by_definition(encoding, token)
    if word is not None:
        return encoding.clusters.representatives[encoding.vocabulary.words.index(word)]
    return token if len(ball(encoding.surface, token)) == 1 else encoding.unknown


def reachable_by_definition(encoding: roben.Encoding, token: str) -> frozenset[str]:
    return frozenset(code_by_definition(encoding, typo) for typo in ball(encoding.surface, token))


@cache
def ball(surface: roben.Surface, token: str) -> frozenset[str]:
    return surface.typos(token)


def reference_encoder(encoding: roben.Encoding) -> _reference.Encoder:
    c = encoding.clusters
    rows = c.reachable
    return _reference.Encoder(
        c.vocabulary.words, c.codes, rows.offsets, rows.targets, c.surface, encoding._split, encoding.unknown
    )


# -- codes --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example_encoding() -> roben.Encoding:
    """The words of the paper's example, agglomerated."""
    return build(("at", "about", "aunt", "abrupt", "abet"))


def test_the_words_of_the_example_are_one_component_and_two_agglomerated_clusters(example_encoding):
    vocabulary = example_encoding.vocabulary
    graph = roben.typo_graph(vocabulary, roben.EditOne())
    assert {word: graph.neighbors(word) for word in vocabulary.words} == {
        "at": {"aunt", "abet"},
        "about": {"abet", "abrupt"},
        "aunt": {"at", "abet"},
        "abrupt": {"about"},
        "abet": {"at", "aunt", "about"},
    }
    assert set(roben.connected_components(graph).representatives) == {"at"}
    weighted = roben.Vocabulary.from_counts({"at": 100, "about": 50, "aunt": 6, "abrupt": 3, "abet": 1})
    encoding = roben.Encoding.build(weighted)
    assert encoding("At about aunt abrupt abet") == "at about at about about"
    assert encoding("aut abuot auunt abrut abbet aubt") == "at about at about about at"
    assert [sorted(encoding.reachable(word)) for word in weighted.words] == [
        ["at"],
        ["about"],
        ["at"],
        ["about"],
        ["about", "at"],
    ]
    assert encoding.reachable("aut") == {"at", "about", "[MASK]"}
    assert encoding.clusters.members("abet") == ("about", "abrupt", "abet")


def test_a_typo_becomes_the_code_of_the_most_frequent_word_whose_ball_holds_it():
    # "aut" is a typo of both; the more frequent one owns it, whichever that is.
    assert build(("at", "aunt"), gamma=1).code("aut") == "at"
    assert build(("aunt", "at"), gamma=1).code("aut") == "aunt"


def test_a_word_of_the_vocabulary_owns_itself_though_it_is_a_typo_of_a_more_frequent_one():
    encoding = build(("at", "ant"), gamma=1)
    assert encoding.surface.allows("at", "ant")
    assert (encoding.word("ant"), encoding.code("ant")) == ("ant", "ant")


def test_every_word_of_the_vocabulary_owns_itself_and_has_the_code_of_its_cluster(encoding):
    vocabulary, representatives = encoding.vocabulary, encoding.clusters.representatives
    for word, representative in zip(vocabulary.words, representatives, strict=True):
        assert (encoding.word(word), encoding.code(word)) == (word, representative)


def test_a_ball_need_not_be_symmetric():
    encoding = build(("it's", "itas"), gamma=1)
    assert encoding.surface.allows("it's", "itas")
    assert not encoding.surface.allows("itas", "it's")
    assert build(("itas",)).code("it's") == "[MASK]"
    assert build(("it's",)).code("itas") == "it's"


def test_a_token_that_cannot_be_changed_stays_itself_and_any_other_unknown_one_does_not(encoding):
    for mark in (".", ",", "!", "-", "…", "漢", "\0", "\ud800", "👍"):
        assert (encoding.code(mark), encoding.word(mark)) == (mark, None)
        assert encoding.reachable(mark) == {mark}
    for token in ("qx", "xylophonist's", "12345", "漢字", "\ud800\ud800"):
        assert (encoding.code(token), encoding.word(token)) == ("[MASK]", None)


def test_a_token_that_cannot_be_changed_but_is_a_typo_of_a_word_becomes_the_code_of_the_word():
    encoding = build(("an",), roben.EditOne(keep_last=0))
    assert encoding.surface.count("a") == 1
    assert encoding.code("a") == "an"
    assert encoding.code("b") == "b"


def test_what_is_unknown_becomes_what_the_encoding_says():
    encoding = build(("the",), unknown="<?>")
    assert encoding("the xylophone, thx") == "the <?> , <?>"
    assert encoding.reachable("xylophone") == {"<?>"}


@pytest.mark.parametrize("unknown", ["", " ", "a b", "a\u2028", None, 5])
def test_what_unknown_tokens_become_must_be_one_token(unknown):
    with pytest.raises(ValueError, match=r"unknown is .*without white space"):
        build(("the",), unknown=unknown)


@pytest.mark.parametrize("tokens", ["letters", "", None, "Words", 3])
def test_an_unknown_way_to_split_is_refused(tokens):
    with pytest.raises(ValueError, match="it may be 'words' or 'spaces'"):
        build(("the",), tokens=tokens)


def test_an_encoding_is_made_from_clusters_alone(english):
    with pytest.raises(TypeError, match="expected the clusters of words, found Vocabulary"):
        roben.Encoding(english)


def test_an_empty_vocabulary_knows_no_word():
    encoding = build(())
    assert encoding("Any text.") == "[MASK] [MASK] ."
    assert encoding.reachable("any") == {"[MASK]"}
    assert encoding.explain("a")[0].cluster == ()


# -- reachable codes ----------------------------------------------------------------------------------------

OUT_OF_VOCABULARY = [
    *("ß", "q7", "zz", "qz", "vj", "é", "'", "''", "o'", "'em", "y'", "x'y", "d'oh'd", "fo'c'sle", "rock'n'rollers"),
    *("x1", "42", "365", "1999", "12345678", "57th", "b2b", "0x1f", "٣", "½", "x²", "漢字", "कखग", "мир", "straße"),
    *("thhe", "mvie", "wjs", "misreable", "hasnt", "mustnt", "wouldnt've", "aaaa", "ababababab", "zzzzzzzz"),
    *("xylophonists", "antidisestablishmentarianism", "a" * 60, "e\u0301te\u0301", "na\0ve", "a\ud800b", "👍👍", "..."),
    *("well-made", "snake_case", "https://example.org/?q=1", "foo@bar.com", "teh", "recieve", "adn", "hte", "thier"),
]


@given(st.data())
def test_a_typo_never_leaves_reachable(encoding, data):
    token = data.draw(st.sampled_from(encoding.vocabulary.words) | st.sampled_from(OUT_OF_VOCABULARY))
    typo = data.draw(st.sampled_from(sorted(encoding.surface.typos(token))))
    assert encoding.code(typo) in encoding.reachable(token)


def test_reachable_is_exactly_the_codes_of_all_typos_for_2000_words(encoding):
    for word in encoding.vocabulary.words[::5]:
        assert encoding.reachable(word) == {encoding.code(typo) for typo in encoding.surface.typos(word)}


@pytest.mark.parametrize("token", OUT_OF_VOCABULARY, ids=ascii)
def test_reachable_is_exactly_the_codes_of_all_typos_for_tokens_that_are_no_words(encoding, token):
    assert token not in encoding.vocabulary
    assert encoding.reachable(token) == {encoding.code(typo) for typo in encoding.surface.typos(token)}


def test_a_typo_of_a_typo_may_leave_reachable():
    # B_π is about one typo: what is certified for a text is not certified for its typed versions.
    encoding = build(("at", "aunt", "abet", "about", "abrupt"), gamma=1)
    assert encoding.reachable("at") == {"at"}
    assert not encoding.reachable("aet") <= encoding.reachable("at")


# -- all of it, against the definition, on small vocabularies and surfaces of every kind --------------------

SURFACES = {
    "edit-one": roben.EditOne(alphabet="abc"),
    "free-start": roben.EditOne(keep_first=0, alphabet="abc'"),
    "free-end": roben.EditOne(keep_last=0, alphabet="ab"),
    "free-ends": roben.EditOne(keep_first=0, keep_last=0, alphabet="ab"),
    "deletions, five kept at both ends": roben.EditOne(keep_first=5, keep_last=5, edits=("delete",)),
    "deletions": roben.EditOne(edits=("delete",)),
    "deletions anywhere": roben.EditOne(keep_first=0, keep_last=0, edits=("delete",)),
    "substitutions by one letter": roben.EditOne(edits=("substitute",), alphabet="a"),
    "substitutions by one letter anywhere": roben.EditOne(
        keep_first=0, keep_last=0, edits=("substitute",), alphabet="a"
    ),
    "insertions of one letter": roben.EditOne(edits=("insert",), alphabet="b"),
    "swaps": roben.EditOne(edits=("swap",)),
    "swaps anywhere": roben.EditOne(keep_first=0, keep_last=0, edits=("swap",)),
    "no edits": roben.EditOne(edits=()),
    "no letters": roben.EditOne(alphabet="", edits=("insert", "substitute")),
    "two kept, one kept": roben.EditOne(keep_first=2, keep_last=1, alphabet="ab"),
    "none kept, three kept": roben.EditOne(keep_first=0, keep_last=3, alphabet="ab"),
    "permutation": roben.InternalPermutation(),
}
# Few letters, so that balls meet; some words long enough for five kept at both ends.
TOKENS = st.text(st.sampled_from("aabbc'é1"), min_size=1, max_size=6) | st.text(
    st.sampled_from("ab"), min_size=9, max_size=13
)


@pytest.mark.parametrize("name", SURFACES)
@settings(max_examples=60)
@given(
    words=st.lists(TOKENS, max_size=10, unique=True),
    others=st.lists(
        TOKENS | st.text(st.characters(exclude_categories=["Z", "Cc"]), min_size=1, max_size=4), max_size=6
    ),
    gamma=st.sampled_from([0.0, 0.3, 1.0]),
    tokens=st.sampled_from(["words", "spaces"]),
)
def test_both_kernels_do_what_the_definition_says(name, words, others, gamma, tokens):
    encoding = build(words, SURFACES[name], gamma=gamma, tokens=tokens)
    plain = reference_encoder(encoding)
    typos = [max(ball(encoding.surface, word)) for word in words]
    for token in map(str.lower, [*words, *typos, *others]):
        word = word_by_definition(encoding, token)
        rank = None if word is None else words.index(word)
        assert (encoding.word(token), plain.word(token)) == (word, rank)
        assert encoding.code(token) == plain.code(token) == code_by_definition(encoding, token)
        assert encoding.reachable(token) == plain.reachable(token) == reachable_by_definition(encoding, token)
    text = " ".join(others) + "".join(words) + "," + "-".join(typos)
    assert encoding(text) == plain.encode(text)
    assert encoding([text, "", *words]) == plain.encode_many([text, "", *words])


@pytest.mark.parametrize(
    "name", ["deletions, five kept at both ends", "substitutions by one letter", "swaps", "permutation"]
)
def test_typos_that_cannot_be_changed_again_stay_themselves(name):
    # The token can be changed, some of its typos cannot: those are no one's, and reach a code of their own.
    encoding = build(("aaaa",), SURFACES[name])
    for token in ("abcdexfghij", "aabaaaaa", "abba", "abab", "abbba", "a" * 40 + "b" + "a" * 40):
        assert encoding.reachable(token) == {encoding.code(typo) for typo in ball(encoding.surface, token)}
    assert build(("aaaa",), SURFACES["deletions, five kept at both ends"]).reachable("abcdexfghij") == {
        "[MASK]",
        "abcdefghij",
    }


@pytest.mark.parametrize("surface", [roben.EditOne(), roben.InternalPermutation()], ids=["edit-one", "permutation"])
def test_both_kernels_agree_on_many_english_typos(english, surface):
    encoding = roben.Encoding.build(english, surface)
    plain, rng = reference_encoder(encoding), np.random.default_rng(0)
    for word in english.words[::20]:
        for typo in surface.sample(word, rng, k=3):
            assert (encoding.word(typo), encoding.code(typo)) == (
                None if plain.word(typo) is None else english.words[plain.word(typo)],
                plain.code(typo),
            )
    for word in OUT_OF_VOCABULARY[::4]:
        assert encoding.reachable(word) == plain.reachable(word)


# -- tokens of any length -----------------------------------------------------------------------------------

HUGE = {"one letter": "a" * 100_000, "two halves": "a" * 50_000 + "b" * 50_000, "two letters": "ab" * 50_000}


@pytest.mark.parametrize("token", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize(
    "name", ["edit-one", "free-ends", "deletions, five kept at both ends", "substitutions by one letter", "permutation"]
)
def test_a_token_of_100_000_characters_is_no_trouble(name, token):
    encoding = build(("aaaa", "abab", "the"), SURFACES[name])
    is_fixed = encoding.surface.count(token) == 1
    code = token if is_fixed else "[MASK]"
    assert encoding.code(token) == encoding(token) == code
    assert encoding.reachable(token) == {code}
    assert encoding.explain(token) == [roben.Explanation(token, None, (), code, frozenset([code]))]


def test_a_text_of_a_million_tokens_is_no_trouble(encoding):
    assert encoding("thhe, " * 1_000_000).count("the ,") == 1_000_000


# -- texts --------------------------------------------------------------------------------------------------

TEXTS = st.lists(
    st.characters()
    | st.sampled_from([*" \n\t.,'’-!?\0\ud800", "the", "Movie", "isn't", "mvie ", " wjs ", "Straße", "हिन्दी", "👍"]),
    max_size=20,
).map("".join)


@given(TEXTS)
@example("Thae mvie wjs misreable!")
@example("It isn’t 'well-made', IS IT?")
def test_the_encoding_of_a_text_is_the_codes_of_its_tokens_joined_by_blanks(encoding, text):
    assert encoding(text) == " ".join(encoding.code(token) for token in encoding.tokenize(text))


@given(TEXTS)
def test_by_spaces_too(spaced, text):
    assert spaced.tokenize(text) == text.lower().split()
    assert spaced(text) == " ".join(spaced.code(token) for token in spaced.tokenize(text))


@pytest.fixture(scope="module")
def spaced(encoding) -> roben.Encoding:
    """The same encoding by white space, as in the paper."""
    return roben.Encoding(encoding.clusters, tokens="spaces")


def test_the_contracts_example(encoding):
    assert encoding("thae mvie wjs misreable") == encoding("the movie was miserable")
    assert encoding.word("mvie") == "movie"
    assert encoding("The movie, WAS miserable!!") == encoding("the movie , was miserable ! !")


def test_by_spaces_a_mark_at_a_word_hides_it_and_by_words_it_does_not(encoding, spaced):
    assert encoding("the movie,").endswith(" ,")
    assert spaced("the movie,") == f"{spaced.code('the')} [MASK]"


def test_an_empty_text_is_encoded_as_one_and_no_texts_as_none(encoding):
    assert encoding("") == encoding(" \n\u3000") == ""
    assert encoding([]) == encoding(iter(())) == []
    assert encoding(["", ""]) == ["", ""]
    assert encoding(("", "the")) == ("", encoding("the"))
    assert encoding.tokenize("") == encoding.explain("") == []


def test_a_text_a_pair_and_many_of_either_are_told_apart(encoding):
    one, two = "Thae mvie.", "wjs Misreable"
    a, b = encoding(one), encoding(two)
    assert encoding([one, two]) == [a, b]
    assert encoding(text for text in (one, two)) == [a, b]
    assert encoding({one: 1, two: 2}) == [a, b]
    assert encoding(np.array([one, two])) == [a, b]
    assert encoding((one, two)) == (a, b)
    assert encoding([(one, two), (two, two)]) == [(a, b), (b, b)]
    assert encoding(pair for pair in [(one, two)]) == [(a, b)]


def test_a_str_of_another_class_is_a_str(encoding):
    class Label(str):
        __slots__ = ()

    for text in ("Thae mvie", "Thaé mvie", "", "İ"):
        assert encoding(Label(text)) == encoding(text)
        assert type(encoding(Label(text))) is str
        assert encoding([Label(text)]) == [encoding(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, "None.*NoneType"),
        (1.5, "1.5.*float"),
        (b"the", "b'the'.*bytes"),
        (bytearray(b"the"), "bytearray"),
        ([None], "None.*NoneType"),
        (["the", 1.5], "1.5.*float"),
        (["the", b"movie"], "b'movie'.*bytes"),
        ([["the", "movie"]], "list"),
        (["the", ("the", "movie")], "'the'.*str"),
        ([("the", "movie"), "the"], "'the'.*str"),
        ([("the", "movie"), ("the",)], "'the',.*tuple"),
        (("the", "movie", "was"), "'was'.*tuple"),
        (("the",), "tuple"),
        ((), "tuple"),
        (("the", None), "None.*tuple"),
        ([("the", 3)], "3.*tuple"),
        (b"", "bytes"),
    ],
    ids=ascii,
)
def test_what_is_no_text_is_refused_and_named(encoding, text, found):
    with pytest.raises(TypeError, match=rf"(?s)found .*{found}.*expected"):
        encoding(text)


@pytest.mark.parametrize("method", ["code", "word", "reachable"])
def test_what_is_no_token_is_refused_and_named(encoding, method):
    for wrong in (None, 1.5, b"the", ["the"], ("the", "the")):
        with pytest.raises(TypeError, match=f"found .*{type(wrong).__name__}"):
            getattr(encoding, method)(wrong)
    for wrong in ("", " ", "the movie", " the", "the\n", "a\u2028b"):
        with pytest.raises(ValueError, match="is no token"):
            getattr(encoding, method)(wrong)


@pytest.mark.parametrize("method", ["tokenize", "explain"])
def test_what_is_no_text_has_no_tokens(encoding, method):
    for wrong in (None, 1.5, b"the", ["the"]):
        with pytest.raises(TypeError, match=f"found .*{type(wrong).__name__}"):
            getattr(encoding, method)(wrong)


def test_a_token_may_be_given_in_capitals(encoding):
    assert encoding.code("MVIE") == encoding.code("mvie")
    assert encoding.word("MoVie") == "movie"
    assert encoding.reachable("Movie") == encoding.reachable("movie")


def test_an_explanation_tells_token_word_cluster_code_and_what_is_reachable(encoding):
    for explained in encoding.explain("Thae mvie, xylophonist's!"):
        token = explained.token
        assert explained.word == encoding.word(token)
        assert explained.code == encoding.code(token)
        assert explained.reachable == encoding.reachable(token)
        if explained.word is None:
            assert explained.cluster == ()
        else:
            assert explained.word in explained.cluster
            assert explained.code == explained.cluster[0]
            assert {encoding.code(word) for word in explained.cluster} == {explained.code}
    assert [e.token for e in encoding.explain("Thae mvie, xylophonist's!")] == [
        "thae",
        "mvie",
        ",",
        "xylophonist's",
        "!",
    ]


# -- threads ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_texts(encoding) -> list[str]:
    """100,000 short texts of words, typos, and what is not ASCII."""
    rng = np.random.default_rng(1)
    pieces = [
        *encoding.vocabulary.words[:2000],
        *(encoding.surface.sample(word, rng)[0] for word in encoding.vocabulary.words[:2000]),
        *(f"{word}," for word in encoding.vocabulary.words[:300]),
        *("é", "Ünïcode", "हिन्दी", "👍", "don’t", "\u3000", "", "İ", "\0", "漢字。", "\ud800", "Straße") * 20,
    ]
    chosen = rng.integers(len(pieces), size=(100_000, 5)).tolist()
    return [" ".join([pieces[i] for i in row]) for row in chosen]


def test_any_number_of_threads_gives_the_same(encoding, many_texts):
    expected = encoding(many_texts, threads=1)
    assert expected[:3000] == [encoding(text) for text in many_texts[:3000]]
    for threads in (2, 7, None):
        assert encoding(many_texts, threads=threads) == expected
    assert encoding([(text, "the") for text in many_texts[:1000]], threads=2) == [
        (code, encoding("the")) for code in expected[:1000]
    ]


def test_two_python_threads_at_once_get_what_one_gets(encoding, many_texts):
    halves = [many_texts[:20_000], many_texts[20_000:40_000]]

    def everything(texts):
        codes = encoding(texts, threads=2)
        tokens = [token for text in texts[:500] for token in encoding.tokenize(text)]
        return codes, [(encoding.code(t), encoding.word(t), encoding.reachable(t)) for t in tokens]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(everything, halves)) == list(map(everything, halves))


@pytest.mark.parametrize("threads", [0, -1, True, 1.0, "2"])
def test_a_number_of_threads_is_a_whole_number_above_0(encoding, threads):
    with pytest.raises(ValueError, match=r"threads is .*above 0"):
        encoding(["the"], threads=threads)


def test_the_last_texts_of_a_batch_are_encoded_as_the_first_are(encoding):
    # The kernel takes texts in chunks of 256 and batches of 32,768.
    for n in (1, 255, 256, 257, 32_768, 32_769):
        assert encoding(["", *["thae"] * (n - 1), "mvie"], threads=2) == ["", *["the"] * (n - 1), encoding("mvie")]


# -- a value ------------------------------------------------------------------------------------------------


def variants() -> dict[str, roben.Encoding]:
    words = ("at", "aunt", "abet", "about", "abrupt")
    clusters = build(words).clusters
    return {
        "first": roben.Encoding(clusters),
        "tokens": roben.Encoding(clusters, tokens="spaces"),
        "unknown": roben.Encoding(clusters, unknown="?"),
        "gamma": build(words, gamma=1),
        "gamma, the same clusters": build(words, gamma=0.999),
        "surface": build(words, roben.EditOne(alphabet=GERMAN)),
        "kept": build(words, roben.EditOne(keep_last=2)),
        "permutation": build(words, roben.InternalPermutation()),
        "words": build((*words[:-1], "abut")),
        "order": build(words[::-1]),
        "counts": roben.Encoding.build(roben.Vocabulary.from_counts({w: 9.5 - i for i, w in enumerate(words)})),
    }


def test_encodings_are_equal_if_and_only_if_their_fingerprints_are():
    first, second = variants(), variants()
    for name, encoding in first.items():
        for other_name, other in second.items():
            assert (encoding == other) == (name == other_name)
            assert (encoding.fingerprint == other.fingerprint) == (name == other_name)
        assert hash(encoding) == hash(second[name])
    assert len(set(first.values()) | set(second.values())) == len(first)
    assert first["first"] != "first"


def test_a_fingerprint_is_a_checksum(example_encoding):
    assert len(bytes.fromhex(example_encoding.fingerprint)) == 32


@pytest.mark.parametrize("clone", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy, copy.copy])
def test_a_copy_is_equal_and_encodes_alike(encoding, clone):
    cloned = clone(encoding)
    assert cloned == encoding
    assert hash(cloned) == hash(encoding)
    assert cloned.fingerprint == encoding.fingerprint
    assert cloned("Thae mvie, wjs misreable") == encoding("Thae mvie, wjs misreable")
    assert cloned.reachable("mvie") == encoding.reachable("mvie")


def test_an_encoding_cannot_be_changed(encoding):
    for name in ("clusters", "tokens", "unknown"):
        with pytest.raises(AttributeError):
            setattr(encoding, name, getattr(encoding, name))


def test_its_repr_says_what_it_is(encoding):
    text = repr(encoding)
    assert text.startswith("Encoding(10,000 words, ")
    for part in (f"{encoding.clusters.n_clusters:,} codes", "EditOne(", "gamma=0.3", "tokens='words'"):
        assert part in text


def test_building_all_stages_at_once_gives_what_the_stages_give(english, encoding):
    assert roben.Encoding.build(english, threads=1) == encoding
    assert roben.Encoding.build(english, roben.EditOne(), gamma=0.3, threads=2) == encoding


def test_progress_names_the_stages_and_ends_each_at_one():
    calls = []
    build(("the", "thee", "cat"), Doubling(), progress=lambda *call: calls.append(call))
    shares = {stage: [share for name, share in calls if name == stage] for stage, _ in calls}
    assert list(shares) == ["typo graph", "clusters"]
    for shares_of_stage in shares.values():
        assert shares_of_stage == sorted(shares_of_stage)
        assert shares_of_stage[-1] == 1


def test_a_gamma_out_of_range_is_refused_before_anything_is_built(english):
    for gamma in (-0.1, 1.1, float("nan"), "0.3", None, True):
        with pytest.raises(ValueError, match=r"gamma is .*from 0 .* to 1"):
            roben.Encoding.build(english, gamma=gamma, progress=lambda *_: pytest.fail("it was built"))


# -- other languages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "alphabet", "text", "typed"),
    [
        ("de", GERMAN, "Können wir über die großen Straßen?", "Kötnnen wir übr die größen Strßaen?"),
        ("ru", RUSSIAN, "Это было очень хорошее время.", "Эхто бло оечнь хоёрошее врея."),
    ],
    ids=["German", "Russian"],
)
def test_another_language_works_with_its_own_alphabet(language, alphabet, text, typed):
    vocabulary = roben.Vocabulary.language(language, 3000)
    encoding = roben.Encoding.build(vocabulary, roben.EditOne(alphabet=alphabet))
    clean, changed = encoding.tokenize(text), encoding.tokenize(typed)
    for token, typo in zip(clean, changed, strict=True):
        assert encoding.surface.allows(token, typo)
        assert encoding.code(typo) in encoding.reachable(token)
    assert [encoding.word(typo) for typo in changed[:-1]] == [encoding.word(token) for token in clean[:-1]]
    assert encoding(text.upper().replace("SS", "ẞ")) == encoding(text)
    for token in (*vocabulary.words[::20], *changed):
        assert encoding.reachable(token) == {encoding.code(typo) for typo in encoding.surface.typos(token)}


def test_a_letter_that_the_attacker_does_not_have_is_not_typed():
    assert build(("für",)).code("fär") == "[MASK]"
    assert build(("für",), roben.EditOne(alphabet=GERMAN)).code("fär") == "für"


# -- surfaces of one's own ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Doubling(roben.Surface):
    """Any one letter may be typed twice."""

    def typos(self, token):
        return frozenset([token, *(token[:i] + token[i : i + 1] + token[i:] for i in range(len(token)))])


@dataclass(frozen=True)
class Only(roben.Surface):
    """Certain tokens have one typo each, and no others have any."""

    typo_of: dict[str, str]

    def typos(self, token):
        return frozenset([token, self.typo_of.get(token, token)])


def test_a_surface_in_plain_python_goes_through_every_stage(tmp_path):
    encoding = build(("the", "thee", "cat", "catt", "moo"), Doubling())
    for token in (*encoding.vocabulary.words, "tthe", "theee", "mooo", "x", "xy"):
        assert encoding.word(token) == word_by_definition(encoding, token)
        assert encoding.code(token) == code_by_definition(encoding, token)
        assert encoding.reachable(token) == reachable_by_definition(encoding, token)
    assert encoding("Tthe catt, moo!") == "the cat [MASK] moo [MASK]"
    assert [e.word for e in encoding.explain("Tthe cat")] == ["the", "cat"]
    encoding.save(tmp_path / "doubling")
    loaded = roben.Encoding.load(tmp_path / "doubling", surface=Doubling())
    assert loaded == encoding
    assert loaded.fingerprint == encoding.fingerprint
    assert loaded("Tthe catt") == encoding("Tthe catt")
    assert pickle.loads(pickle.dumps(encoding)) == encoding


def test_a_surface_need_not_inherit_from_anything():
    class Upside:
        def typos(self, token):
            return frozenset([token, token[::-1]])

        def count(self, token):
            return len(self.typos(token))

        def allows(self, token, typo):
            return typo in self.typos(token)

        def sample(self, token, rng, k=1):
            return [sorted(self.typos(token))[i] for i in rng.integers(self.count(token), size=k)]

    assert isinstance(Upside(), roben.Surface)
    encoding = build(("was", "god"), Upside())
    assert encoding("saw dog level ab") == "was god level [MASK]"
    assert encoding.reachable("saw") == {"was"}


def test_a_class_that_inherits_from_edit_one_is_a_surface_of_its_own():
    class Narrow(roben.EditOne):
        def typos(self, token):
            return frozenset(typo for typo in roben.EditOne().typos(token) if len(typo) == len(token))

        def count(self, token):
            return len(self.typos(token))

        def allows(self, token, typo):
            return typo in self.typos(token)

    encoding = build(("movie", "the"), Narrow())
    assert encoding("mvoie mvie moovie tha") == "movie [MASK] [MASK] [MASK]"
    assert encoding.reachable("mvoie") == reachable_by_definition(encoding, "mvoie")


@pytest.mark.parametrize(("tokens", "typo"), [("words", "dona-t"), ("words", "dona t"), ("spaces", "dona t")])
def test_a_surface_whose_typo_falls_apart_is_found_out_and_the_typo_named(tokens, typo):
    encoding = build(("the",), Only({"donat": typo}), tokens=tokens)
    for look in (encoding.reachable, encoding.explain):
        with pytest.raises(
            ValueError, match=f"may type '{typo}' for 'donat', which tokens='{tokens}' reads as .'dona'"
        ):
            look("donat")
    assert encoding.reachable("the") == {"the"}


def test_by_spaces_a_surface_may_type_a_hyphen():
    encoding = build(("donat",), Only({"donat": "dona-t", "donate": "don-ate"}), tokens="spaces")
    assert encoding("dona-t") == "donat"
    assert encoding.reachable("donat") == {"donat"}
    assert encoding.reachable("donate") == {"[MASK]", "don-ate"}


@pytest.mark.parametrize("wrong", ["", "Donat", "do nat", "donat\n", "İ"])
def test_a_surface_that_types_what_no_split_reads_as_one_token_is_found_out(wrong):
    for tokens in ("words", "spaces"):
        with pytest.raises(ValueError, match="would not line up"):
            build(("the",), Only({"donat": wrong}), tokens=tokens).reachable("donat")


def test_a_surface_that_makes_a_mark_a_letter_would_join_words_and_is_found_out():
    # "well-made" would become "wellxmade": one token where the clean text has three.
    with pytest.raises(ValueError, match="may type 'x' for '-'"):
        build(("the",), Only({"-": "x"})).reachable("-")
    with pytest.raises(ValueError, match="may type \"'\" for '-'"):
        build(("the",), Only({"-": "'"})).reachable("-")
    assert build(("the",), Only({"-": "x"}), tokens="spaces").reachable("-") == {"x", "[MASK]"}
    assert build(("the",), Only({"-": "+"})).reachable("-") == {"+", "[MASK]"}


def test_an_alphabet_with_a_hyphen_is_for_spaces_only(tmp_path):
    surface = roben.EditOne(alphabet="abc-")
    with pytest.raises(ValueError, match=r"may type '-', which ends a word.*tokens='spaces'"):
        build(("the",), surface)
    encoding = build(("the",), surface, tokens="spaces")
    assert encoding("th-e") == "the"
    encoding.save(tmp_path / "spaces")
    assert roben.Encoding.load(tmp_path / "spaces") == encoding


# -- the encoding that is kept in the cache -----------------------------------------------------------------


@pytest.fixture
def cache_folder(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, instead of the user's own."""
    monkeypatch.setenv("ROBEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forbid_building(monkeypatch):
    monkeypatch.setattr(roben.Encoding, "build", lambda *_, **__: pytest.fail("it was built again"))


def kept_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_dir() and (path / "roben.json").exists())


def test_the_english_encoding_is_built_once_and_then_loaded(cache_folder, monkeypatch):
    built = roben.Encoding.english(2000)
    assert len(built.vocabulary) == 2000
    assert (built.surface, built.clusters.gamma, built.tokens) == (roben.EditOne(), 0.3, "words")
    assert len(kept_in(cache_folder)) == 1
    forbid_building(monkeypatch)
    assert roben.Encoding.english(2000) == built
    assert roben.Encoding.english(2000, gamma=np.float64(0.3)) == built


def test_every_choice_is_kept_by_itself(cache_folder, monkeypatch):
    made = {
        (n, gamma, tokens): roben.Encoding.english(n, gamma=gamma, tokens=tokens)
        for n, gamma, tokens in [(50, 0.3, "words"), (60, 0.3, "words"), (50, 0.5, "words"), (50, 0.3, "spaces")]
    }
    assert len(kept_in(cache_folder)) == len(made)
    forbid_building(monkeypatch)
    for (n, gamma, tokens), encoding in made.items():
        assert roben.Encoding.english(n, gamma=gamma, tokens=tokens) == encoding
        assert (len(encoding.vocabulary), encoding.clusters.gamma, encoding.tokens) == (n, gamma, tokens)


@pytest.mark.parametrize("damage", ["words", "arrays", "roben.json", "all files"])
def test_a_damaged_cache_is_built_again_with_a_warning(cache_folder, monkeypatch, damage):
    encoding = roben.Encoding.english(100)
    (folder,) = kept_in(cache_folder)
    for file in list(folder.iterdir()):
        if damage == "all files":
            file.unlink()
        elif file.name.startswith(damage):
            file.write_bytes(file.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="the kept encoding is built again: "):
        assert roben.Encoding.english(100) == encoding
    forbid_building(monkeypatch)
    assert roben.Encoding.english(100) == encoding


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ROBEN_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="the encoding is not kept: .*Set ROBEN_CACHE to a folder"):
        assert len(roben.Encoding.english(100).vocabulary) == 100


def test_a_wrong_option_is_refused_before_the_cache_is_touched(cache_folder):
    with pytest.raises(ValueError, match="gamma is 2"):
        roben.Encoding.english(100, gamma=2)
    with pytest.raises(ValueError, match="tokens is 'letters'"):
        roben.Encoding.english(100, tokens="letters")
    assert not cache_folder.exists()


def test_processes_that_start_at_once_all_get_the_same_encoding(cache_folder):
    code = "import roben; print(roben.Encoding.english(2000).fingerprint)"
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    results = [(*process.communicate(), process.returncode) for process in processes]
    assert [(error, status) for _, error, status in results] == [("", 0)] * 4
    assert len({fingerprint for fingerprint, _, _ in results}) == 1
    assert len(kept_in(cache_folder)) == 1
