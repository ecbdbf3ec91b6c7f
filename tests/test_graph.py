"""Which words share a typo, and who owns the typos: against the definition, on every path of the kernel."""

import copy
import itertools
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roben import (
    EditOne,
    InternalPermutation,
    Surface,
    TypoGraph,
    Vocabulary,
    _core,
    _reference,
    agglomerate,
    typo_graph,
)
from roben.graph import Rows

LETTERS = "abcdefghijklmnopqrstuvwxyz"
EDITS = ("insert", "delete", "substitute", "swap")


# -- oracle -------------------------------------------------------------------------------------------------


def defined(words, surface):
    """By rank: the owners of each word's typos, and the other words whose balls meet its own."""
    balls = [surface.typos(word) for word in words]
    owners = {}
    for rank, ball in enumerate(balls):  # the most frequent word first
        for typo in ball:
            owners.setdefault(typo, rank)
    owners.update({word: rank for rank, word in enumerate(words)})  # a word owns itself
    reach = [{owners[typo] for typo in ball} for ball in balls]
    neighbors = [{j for j in range(len(words)) if j != i and balls[i] & balls[j]} for i in range(len(words))]
    return reach, neighbors


def sets(rows):
    return [set(rows[i].tolist()) for i in range(len(rows))]


def ranked(words):
    """A vocabulary in which the words stand in this order."""
    return Vocabulary.from_counts({word: len(words) - i for i, word in enumerate(words)})


def assert_as_defined(graph):
    words = graph.vocabulary.words
    reach, neighbors = defined(words, graph.surface)
    assert sets(graph.reach) == reach
    assert sets(graph.adjacency) == neighbors
    assert graph.n_edges == sum(map(len, neighbors)) / 2
    for word, row in zip(words, neighbors, strict=True):
        assert graph.neighbors(word) == {words[i] for i in row}


def assert_same(results, others):
    assert [array.tolist() for array in results] == [array.tolist() for array in others]
    assert [array.dtype for array in results] == [array.dtype for array in others]


def both_kernels(words, surface):
    kernel, reference = _core.typo_graph(words, surface), _reference.typo_graph(words, surface)
    assert_same(kernel, reference)
    return kernel


# -- strategies ---------------------------------------------------------------------------------------------

# What may be typed, and what words are made of: few characters, so that many balls meet.
SCRIPTS = {
    "latin": ("ab", "abc"),
    "no letters": ("", "ab"),
    "german": ("aöß", "aoöß"),
    "russian": ("абё", "абеё-"),
    "emoji": ("😀👍a", "😀👍🏽\u200da"),
}


@st.composite
def edit_ones(draw, alphabet):
    return EditOne(
        keep_first=draw(st.integers(0, 3)),
        keep_last=draw(st.integers(0, 3)),
        alphabet=alphabet,
        edits=draw(st.sampled_from([s for n in range(5) for s in itertools.combinations(EDITS, n)])),
    )


@st.composite
def surfaces_and_vocabularies(draw):
    alphabet, characters = draw(st.sampled_from(list(SCRIPTS.values())))
    words = draw(st.lists(st.text(characters, min_size=1, max_size=6), unique=True, max_size=12))
    return draw(edit_ones(alphabet)), ranked(words)


@st.composite
def families(draw, length, characters):
    """Words that are at most three edits away from one of the given length."""
    surface = EditOne(alphabet=characters)
    stem = draw(st.text(characters, min_size=length, max_size=length))
    words = {stem: None}
    for _ in range(draw(st.integers(1, 6))):
        word = draw(st.sampled_from(list(words)))
        edited = surface.sample(word, np.random.default_rng(draw(st.integers(0, 2**32))), k=1)
        words.update(dict.fromkeys(edited))
    return ranked(draw(st.permutations([word for word in words if len(word) <= 256])))


# -- the definition -----------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(surfaces_and_vocabularies())
def test_the_graph_of_edits_is_the_one_of_the_definition(example):
    surface, vocab = example
    assert_as_defined(typo_graph(vocab, surface, threads=1))


@settings(max_examples=200)
@given(st.lists(st.text("abc", min_size=1, max_size=6), unique=True, max_size=15))
def test_the_graph_of_permutations_is_the_one_of_the_definition(words):
    assert_as_defined(typo_graph(ranked(words), InternalPermutation(), threads=1))


@settings(max_examples=200)
@given(surfaces_and_vocabularies())
def test_the_kernels_agree_on_edits(example):
    surface, vocab = example
    both_kernels(vocab.words, surface)


@given(st.lists(st.text("abcöß", min_size=1, max_size=6), unique=True, max_size=15))
def test_the_kernels_agree_on_permutations(words):
    both_kernels(words, InternalPermutation())


@given(surfaces_and_vocabularies())
def test_words_share_typos_both_ways_and_reach_themselves(example):
    surface, vocab = example
    graph = typo_graph(vocab, surface)
    for word in vocab.words:
        assert word not in graph.neighbors(word)
        assert all(word in graph.neighbors(other) for other in graph.neighbors(word))
    assert all(i in row for i, row in enumerate(sets(graph.reach)))


@given(surfaces_and_vocabularies())
def test_a_word_reaches_itself_and_neighbors_only(example):
    surface, vocab = example
    graph = typo_graph(vocab, surface)
    for i, (reached, neighbors) in enumerate(zip(sets(graph.reach), sets(graph.adjacency), strict=True)):
        assert reached <= neighbors | {i}


def test_the_papers_words():
    vocab = ranked(["at", "about", "aunt", "abet", "abrupt"])
    graph = typo_graph(vocab, EditOne())
    typos = {word: EditOne().typos(word) for word in vocab.words}
    assert typos["at"] & typos["aunt"] == {"ant", "aut"}
    assert typos["at"] & typos["abet"] == {"abt", "aet"}
    assert typos["aunt"] & typos["abet"] == {"abnt", "auet"}
    assert typos["about"] & typos["abet"] == {"abeut", "aboet", "abot", "abut"}
    assert typos["about"] & typos["abrupt"] == {"aboupt", "abrut"}
    assert {word: graph.neighbors(word) for word in vocab.words} == {
        "at": {"aunt", "abet"},
        "about": {"abet", "abrupt"},
        "aunt": {"at", "abet"},
        "abet": {"at", "aunt", "about"},
        "abrupt": {"about"},
    }
    assert graph.n_edges == 5
    assert_as_defined(graph)


def test_a_typo_that_is_a_word_belongs_to_itself_however_rare():
    # "cart" is all that "cat" and "carrt" have in common; the far more frequent "cat" does not own it.
    graph = typo_graph(Vocabulary.from_counts({"cat": 1000, "carrt": 10, "cart": 1}), EditOne())
    assert graph.vocabulary.words == ("cat", "carrt", "cart")
    assert sets(graph.reach) == [{0, 2}, {1, 2}, {0, 1, 2}]
    assert graph.neighbors("cat") == {"cart", "carrt"}


def test_a_typo_of_two_words_belongs_to_the_more_frequent():
    # "aut" is a typo of both, and neither word is a typo of the other.
    for counts, reach in (({"at": 2, "aunt": 1}, [{0}, {0, 1}]), ({"at": 1, "aunt": 2}, [{0}, {0, 1}])):
        assert sets(typo_graph(Vocabulary.from_counts(counts), EditOne()).reach) == reach


@pytest.mark.parametrize("surface", [EditOne(), InternalPermutation()], ids=["edit", "permutation"])
@pytest.mark.parametrize("threads", [1, 2, None])
def test_an_empty_vocabulary_has_an_empty_graph(surface, threads):
    graph = typo_graph(Vocabulary.from_counts({}), surface, threads=threads)
    assert graph.n_edges == 0
    assert len(graph.reach) == len(graph.adjacency) == 0


def test_words_without_room_for_an_edit_are_alone():
    graph = typo_graph(ranked(["a", "b", "ab", "the", "she"]), EditOne(keep_first=2, keep_last=2))
    assert graph.n_edges == 0
    assert sets(graph.reach) == [{i} for i in range(5)]


# -- every path of the kernel -------------------------------------------------------------------------------


# A letter of the 26 takes five bits of a key of 1, 2, 8 or 128 numbers: 12, 24, 96 interior characters, or more.
@pytest.mark.parametrize("length", [12, 13, 14, 15, 25, 26, 27, 28, 97, 98, 99, 100, 255, 256])
@settings(max_examples=5)
@given(st.data())
def test_long_words_are_packed_without_mistakes(length, data):
    graph = typo_graph(data.draw(families(length, LETTERS)), EditOne(), threads=1)
    assert_as_defined(graph)


@pytest.mark.parametrize("length", [5, 60, 63, 64, 65, 66, 67, 128, 130, 131, 256])
@settings(max_examples=20)
@given(st.data())
def test_long_words_of_two_letters_are_packed_without_mistakes(length, data):
    graph = typo_graph(data.draw(families(length, "ab")), EditOne(alphabet="ab"), threads=1)
    assert_as_defined(graph)


@pytest.mark.parametrize("length", [3, 6, 9, 10, 16, 40])
@settings(max_examples=10)
@given(st.data())
def test_words_of_many_different_characters_are_packed_without_mistakes(length, data):
    characters = "".join(map(chr, [*range(0x430, 0x450), *range(0x4E00, 0x4E50), *range(0x1F600, 0x1F620)]))
    graph = typo_graph(data.draw(families(length, characters)), EditOne(alphabet="ая😀"), threads=1)
    assert_as_defined(graph)


def test_more_typos_than_fit_one_table_are_not_mixed_up():
    # Over a million substitutions in one block: words share a typo if they differ in at most two places.
    letters = "".join(chr(0x4E00 + i) for i in range(1000))
    surface, rng = EditOne(alphabet=letters, edits=("substitute",)), random.Random(0)
    words = {}
    for _ in range(30):
        family = ["x" + "".join(rng.choices(letters, k=18)) + "x"]
        for _ in range(2):
            at = rng.randrange(1, 19)
            family.append(family[-1][:at] + rng.choice(letters) + family[-1][at + 1 :])
        words.update(dict.fromkeys(family))
    graph = typo_graph(ranked(list(words)), surface, threads=1)
    differences = {
        (a, b): sum(x != y for x, y in zip(a, b, strict=True))
        for a, b in itertools.permutations(graph.vocabulary.words, 2)
    }
    for word in graph.vocabulary.words:
        assert graph.neighbors(word) == {b for (a, b), n in differences.items() if a == word and n <= 2}
    assert graph == typo_graph(graph.vocabulary, surface, threads=2)


SURFACES = [
    EditOne(),
    EditOne(keep_first=0),
    EditOne(keep_first=2, keep_last=0),
    EditOne(edits=("swap",)),
    EditOne(alphabet="aeiou'", edits=("insert", "substitute")),
    InternalPermutation(),
]


@pytest.mark.parametrize("surface", SURFACES, ids=repr)
def test_the_kernels_agree_on_english(english, surface):
    both_kernels(english.words[:3_000], surface)


@pytest.mark.parametrize("surface", SURFACES, ids=repr)
def test_the_number_of_threads_makes_no_difference(english, surface):
    graphs = [typo_graph(english, surface, threads=threads) for threads in (1, 2, 3)]
    assert graphs[0] == graphs[1] == graphs[2]
    assert graphs[0].n_edges > 0


def test_the_graph_of_english_is_the_same_every_time(english, graph):
    assert typo_graph(english, EditOne()) == graph


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_bad_number_of_threads_is_named(english, threads):
    with pytest.raises(ValueError, match=f"threads is {threads!r}"):
        typo_graph(english, EditOne(), threads=threads)


# -- progress -----------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


class Substitution(Surface):
    """Any letter may become its neighbor on the keyboard. Written by a user: only `typos`, in plain Python."""

    ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

    def typos(self, token):
        beside = {c: row[max(0, i - 1) : i + 2] for row in self.ROWS for i, c in enumerate(row)}
        return frozenset(
            token[:i] + other + token[i + 1 :] for i, letter in enumerate(token) for other in beside.get(letter, letter)
        )


@pytest.fixture(scope="module")
def slow():
    """A vocabulary and a surface that keep the compiled kernel busy for long enough to report."""
    letters, rng = "".join(chr(0x4E00 + i) for i in range(2000)), random.Random(0)
    return ranked(["x" + "".join(rng.choices(letters, k=20)) + "x" for _ in range(40)]), EditOne(alphabet=letters)


def assert_rising_shares(shares):
    assert shares
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1


def test_progress_rises_in_the_compiled_kernel(slow):
    shares = []
    typo_graph(*slow, threads=1, progress=shares.append)
    assert_rising_shares(shares)


def test_progress_rises_in_the_plain_kernel(english):
    shares = []
    _reference.typo_graph(english.words[:300], EditOne(), tick=shares.append)
    assert_rising_shares(shares)
    assert shares[-1] == 1


def test_progress_rises_for_permutations(english):
    shares = []
    typo_graph(english, InternalPermutation(), progress=shares.append)
    assert_rising_shares(shares)


def test_progress_does_not_change_the_graph(english, graph):
    assert typo_graph(english, EditOne(), progress=lambda share: None) == graph


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_in_progress_stops_the_build_and_reaches_the_caller(slow, threads):
    calls = []

    def stop(share):
        calls.append(share)
        raise Stop(share)

    with pytest.raises(Stop):
        typo_graph(*slow, threads=threads, progress=stop)
    assert len(calls) == 1


@pytest.mark.parametrize("surface", [InternalPermutation(), Substitution()], ids=["permutation", "own"])
def test_an_exception_in_progress_reaches_the_caller_from_other_surfaces(surface):
    def stop(share):
        raise Stop(share)

    with pytest.raises(Stop):
        typo_graph(ranked(["cat", "cst"]), surface, progress=stop)


# -- surfaces that users write ------------------------------------------------------------------------------


class Plain:
    """The four methods and nothing else: one vowel may be left out."""

    def typos(self, token):
        return frozenset([token, *(token[:i] + token[i + 1 :] for i, c in enumerate(token) if c in "aeiou")]) - {""}

    def count(self, token):
        return len(self.typos(token))

    def allows(self, token, typo):
        return typo in self.typos(token)

    def sample(self, token, rng, k=1):
        return [str(typo) for typo in rng.choice(sorted(self.typos(token)), size=k)]


def test_a_surface_that_inherits_goes_through_the_graph(english):
    vocab = ranked(english.words[:400])
    graph = typo_graph(vocab, Substitution())
    assert_as_defined(graph)
    assert "of" in graph.neighbors("if")


def test_a_surface_that_only_has_the_methods_goes_through_the_graph(english):
    vocab = ranked(english.words[:400])
    graph = typo_graph(vocab, Plain())
    assert_as_defined(graph)
    assert "on" in graph.neighbors("in")


class Reversal(EditOne):
    """A user's own kind of edit: what it inherits from `EditOne` is not what the compiled kernel would do."""

    def typos(self, token):
        return super().typos(token) | {token[0] + token[-2:0:-1] + token[-1] if len(token) > 1 else token}


def test_a_class_that_inherits_from_a_known_surface_is_taken_at_its_own_word():
    vocab = ranked(["abcdefg", "afedcbg"])
    assert typo_graph(vocab, EditOne()).n_edges == 0
    graph = typo_graph(vocab, Reversal())
    assert graph.n_edges == 1
    assert_as_defined(graph)


# -- values -------------------------------------------------------------------------------------------------


def test_neighbors_of_what_is_no_word_are_refused(graph):
    with pytest.raises(KeyError, match="'xyzzy' is not in the vocabulary of 10,000 words"):
        graph.neighbors("xyzzy")


def test_graphs_are_equal_if_they_join_the_same_words():
    at_aunt = ranked(["at", "aunt"])
    graph = typo_graph(at_aunt, EditOne())
    assert graph == typo_graph(ranked(["at", "aunt"]), EditOne())
    assert hash(graph) == hash(typo_graph(ranked(["at", "aunt"]), EditOne()))
    assert graph != typo_graph(ranked(["aunt", "at"]), EditOne())
    assert graph != typo_graph(at_aunt, EditOne(alphabet="u"))
    assert graph != typo_graph(at_aunt, InternalPermutation())


def test_copies_of_a_graph_are_equal_to_it(graph):
    for same in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), copy.copy(graph)):
        assert isinstance(same, TypoGraph)
        assert same == graph
        assert hash(same) == hash(graph)
        assert same.neighbors("movie") == graph.neighbors("movie")


def test_a_graph_cannot_be_changed(graph):
    for array in (graph.reach.offsets, graph.reach.targets, graph.adjacency.offsets, graph.adjacency.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.reach = None


def test_rows_are_equal_if_their_offsets_and_targets_are():
    def rows(offsets, targets):
        return Rows(np.array(offsets, dtype=np.int64), np.array(targets, dtype=np.uint32))

    assert rows([0, 1, 2], [0, 1]) == rows([0, 1, 2], [0, 1])
    assert hash(rows([0, 1, 2], [0, 1])) == hash(rows([0, 1, 2], [0, 1]))
    assert rows([0, 1, 2], [0, 1]) != rows([0, 0, 2], [0, 1])
    assert rows([0, 1, 2], [0, 1]) != rows([0, 1, 2], [0, 0])
    assert rows([0], []) != "rows"


def test_rows_are_as_long_as_their_sizes(graph):
    assert len(graph.reach) == len(graph.vocabulary)
    assert graph.reach.sizes.tolist() == [len(graph.reach[i]) for i in range(len(graph.reach))]
    assert all((np.diff(graph.adjacency[i].astype(int)) > 0).all() for i in range(len(graph.adjacency)))


def test_repr_says_how_large_a_graph_is(graph):
    assert repr(graph) == f"TypoGraph(10,000 words, {graph.n_edges:,} edges, {EditOne()!r})"


@pytest.mark.parametrize("length", [3_000, 20_000])
def test_a_word_too_long_for_the_kernel_is_refused(length):
    script = f"""
import roben
try:
    roben.typo_graph(roben.Vocabulary(["a" * {length}, "b" * {length}], [2.0, 1.0]), roben.EditOne())
except ValueError:
    pass
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_was_pickled_cannot_be_changed(graph):
    clusters = pickle.loads(pickle.dumps(agglomerate(graph)))
    for array in (clusters.reachable.targets, pickle.loads(pickle.dumps(graph)).reach.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_progress_ends_at_1(graph, english):
    for build in (
        lambda tick: typo_graph(english, EditOne(), progress=tick),
        lambda tick: agglomerate(graph, progress=tick),
    ):
        shares = []
        build(shares.append)
        assert shares[-1:] == [1.0]
