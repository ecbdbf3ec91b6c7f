"""What the attacker may type: the balls, and that all ways to ask about one agree."""

import copy
import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roben import EditOne, Encoding, InternalPermutation, Surface, Vocabulary, _core, connected_components, typo_graph
from roben.surface import surface_from_config

LETTERS = "abcdefghijklmnopqrstuvwxyz"
EDITS = ("insert", "delete", "substitute", "swap")
EDIT_SUBSETS = [subset for n in range(5) for subset in itertools.combinations(EDITS, n)]


# -- oracles, straight from the definitions -----------------------------------------------------------------


def edit_ball(token, keep_first=1, keep_last=1, alphabet=LETTERS, edits=EDITS):
    """Every string that one edit makes of the token without touching or leaving what is kept; and the token."""
    n = len(token)
    if n <= 1:
        return {token}
    kept = {i for i in range(n) if i < keep_first or i >= n - keep_last}
    ball = {token}
    for gap in range(n + 1):
        if "insert" in edits and gap >= keep_first and n - gap >= keep_last:
            ball |= {token[:gap] + letter + token[gap:] for letter in alphabet}
    for i in set(range(n)) - kept:
        if "delete" in edits:
            ball.add(token[:i] + token[i + 1 :])
        if "substitute" in edits:
            ball |= {token[:i] + letter + token[i + 1 :] for letter in alphabet}
        if "swap" in edits and i + 1 < n and i + 1 not in kept:
            ball.add(token[:i] + token[i + 1] + token[i] + token[i + 2 :])
    return ball


def permutation_ball(token):
    """The interior in any order, between the first and the last character."""
    return {token[:1] + "".join(inside) + token[1:][-1:] for inside in itertools.permutations(token[1:-1])}


# -- strategies ---------------------------------------------------------------------------------------------

# What may be typed, and what tokens are made of: few characters, so that different edits often make the same typo.
SCRIPTS = {
    "latin": ("ab", "abc"),
    "one letter": ("a", "ab"),
    "no letters": ("", "ab"),
    "german": ("aouäöüß", "aoäöß"),
    "russian": ("абвеё", "аеё-"),
    "emoji": ("😀👍a", "😀👍🏽\u200da"),
    "combining marks": ("e\u0301\u0308", "e\u0301\u0308n"),
}


@st.composite
def options_and_tokens(draw, longest=8):
    """Options of an `EditOne`, and a token from the same script."""
    alphabet, characters = draw(st.sampled_from(list(SCRIPTS.values())))
    options = {
        "keep_first": draw(st.integers(0, 3)),
        "keep_last": draw(st.integers(0, 3)),
        "alphabet": alphabet,
        "edits": draw(st.sampled_from(EDIT_SUBSETS)),
    }
    return options, draw(st.text(characters, min_size=1, max_size=longest))


@st.composite
def strings_near(draw, token):
    """Strings at most two edits away from the token, at any place and with any letter: members and others."""
    for _ in range(draw(st.integers(0, 2))):
        neighbors = edit_ball(token, keep_first=0, keep_last=0, alphabet="".join({*token, "z"}))
        token = draw(st.sampled_from(sorted(neighbors)))
    return token


SHORT_TOKENS = st.one_of(*(st.text(characters, min_size=1, max_size=7) for _, characters in SCRIPTS.values()))


# -- one edit: worked examples ------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "size"), [("the", 78), ("movie", 182), ("was", 78), ("miserable", 390)])
def test_the_papers_words_have_the_papers_number_of_typos(word, size):
    surface = EditOne()
    assert surface.count(word) == size
    assert len(surface.typos(word)) == size
    assert len(edit_ball(word)) == size


def test_the_papers_sentence_has_the_papers_number_of_perturbations():
    assert math.prod(map(EditOne().count, ["the", "movie", "was", "miserable"])) == 431_842_320


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [
        ("thae mvie wjs misreable", [True, True, True, True]),
        ("th movie as miserable", [False, True, False, True]),
    ],
)
def test_a_text_is_a_perturbation_if_every_token_is_allowed(typed, allowed):
    words = ("the", "movie", "was", "miserable")
    assert list(map(EditOne().allows, words, typed.split())) == allowed


@pytest.mark.parametrize("typo", ["teh", "hte", "he", "th", "xthe", "thex", "tha", "the ", "t", "", "thhhe", "THE"])
def test_what_is_not_one_interior_edit_is_not_allowed(typo):
    assert not EditOne().allows("the", typo)
    assert not _core.allows(EditOne(), "the", typo)


def test_a_word_of_two_letters_has_room_for_insertions_only():
    assert EditOne().typos("at") == {"at"} | {f"a{letter}t" for letter in LETTERS}


# -- one edit: laws -----------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(options_and_tokens())
def test_typos_are_those_of_the_definition(example):
    options, token = example
    assert EditOne(**options).typos(token) == edit_ball(token, **options)


@settings(max_examples=500)
@given(options_and_tokens(longest=30))
def test_count_is_the_number_of_typos(example):
    options, token = example
    assert EditOne(**options).count(token) == len(edit_ball(token, **options))


@settings(max_examples=500)
@given(st.data(), options_and_tokens())
def test_allows_says_whether_a_string_is_a_typo(data, example):
    options, token = example
    string = data.draw(strings_near(token))
    assert EditOne(**options).allows(token, string) == (string in edit_ball(token, **options))


@pytest.mark.parametrize("edits", EDIT_SUBSETS, ids="+".join)
def test_allows_is_right_on_all_short_strings(edits):
    strings = ["".join(s) for n in range(1, 5) for s in itertools.product("ab", repeat=n)]
    for keep_first, keep_last in itertools.product(range(4), repeat=2):
        options = {"keep_first": keep_first, "keep_last": keep_last, "alphabet": "a", "edits": edits}
        surface = EditOne(**options)
        for token in strings:
            ball = edit_ball(token, **options).intersection(strings)
            assert {string for string in strings if surface.allows(token, string)} == ball
            assert {string for string in strings if _core.allows(surface, token, string)} == ball


@given(options_and_tokens())
def test_a_token_is_its_own_typo(example):
    options, token = example
    surface = EditOne(**options)
    assert token in surface.typos(token)
    assert surface.allows(token, token)


@given(options_and_tokens(longest=1))
def test_a_token_of_one_character_has_only_itself(example):
    options, token = example
    surface = EditOne(**options)
    assert surface.typos(token) == {token}
    assert surface.count(token) == 1
    assert _core.is_fixed(surface, token)


@given(options_and_tokens())
def test_no_typo_is_empty(example):
    options, token = example
    assert "" not in EditOne(**options).typos(token)


@given(options_and_tokens())
def test_a_typo_keeps_what_is_kept(example):
    options, token = example
    surface = EditOne(**options)
    assert {surface.kept(typo) for typo in surface.typos(token)} == {surface.kept(token)}


@given(options_and_tokens())
def test_a_token_and_its_typo_have_a_key_in_common(example):
    options, token = example
    surface = EditOne(**options)
    keys = set(surface.keys(token))
    assert all(keys & set(surface.keys(typo)) for typo in surface.typos(token))


@given(options_and_tokens(longest=12), st.integers(0, 10))
def test_a_token_far_from_all_words_has_typos_that_are_no_words_typos_and_can_be_changed(example, longest):
    options, token = example
    surface = EditOne(**options)
    if surface.has_no_word_near(token, longest):
        # A word's typos are at most one character longer than the word.
        assert all(len(typo) > longest + 1 and surface.count(typo) > 1 for typo in surface.typos(token))


@pytest.mark.parametrize("options", [{"keep_first": 4}, {"keep_last": 4}, {"keep_first": 2, "keep_last": 2}])
def test_a_token_that_is_kept_whole_has_only_itself_or_an_insertion_between(options):
    surface = EditOne(**options)
    assert surface.count("cat") == 1
    is_split = options == {"keep_first": 2, "keep_last": 2}
    assert surface.typos("cats") == ({"cats"} | {f"ca{c}ts" for c in LETTERS} if is_split else {"cats"})


def test_nothing_is_too_long_to_keep():
    surface = EditOne(keep_first=2**31 - 1, keep_last=2**31 - 1)
    assert surface.typos("word") == {"word"}
    assert _core.typos(surface, "word") == ["word"]


# -- permutations -------------------------------------------------------------------------------------------


def test_permutations_of_the_interior_are_allowed_and_others_are_not():
    surface = InternalPermutation()
    assert surface.allows("perturbation", "peabrurottin")
    assert not surface.allows("perturbation", "repturbation")
    # The design's example has other letters (two e, one r) than "perturbation" (one e, two r): it is no member.
    assert not surface.allows("perturbation", "peabreuottin")
    assert Counter("peabreuottin") != Counter("perturbation") == Counter("peabrurottin")


@given(SHORT_TOKENS)
def test_permuted_typos_are_those_of_the_definition(token):
    surface = InternalPermutation()
    assert surface.typos(token) == permutation_ball(token)
    assert surface.count(token) == len(permutation_ball(token))


@given(st.data(), SHORT_TOKENS)
def test_allows_says_whether_a_string_is_a_permutation(data, token):
    string = data.draw(st.one_of(strings_near(token), st.permutations(token).map("".join)))
    surface = InternalPermutation()
    assert surface.allows(token, string) == (string in permutation_ball(token))
    assert (surface.normal_form(token) == surface.normal_form(string)) == (string in permutation_ball(token))
    assert _core.allows(surface, token, string) == (string in permutation_ball(token))


@given(SHORT_TOKENS)
def test_a_permuted_ball_is_the_ball_of_each_of_its_members(token):
    surface = InternalPermutation()
    assert {surface.typos(typo) for typo in sorted(surface.typos(token))[:20]} == {surface.typos(token)}
    assert {tuple(surface.keys(typo)) for typo in surface.typos(token)} == {tuple(surface.keys(token))}


@given(st.text("abcde", min_size=2, max_size=300))
def test_the_number_of_permutations_is_the_multinomial(token):
    times = Counter(token[1:-1]).values()
    multinomial = math.factorial(sum(times)) // math.prod(map(math.factorial, times))
    assert InternalPermutation().count(token) == multinomial


@given(SHORT_TOKENS)
def test_a_token_is_fixed_if_it_has_one_permutation(token):
    assert _core.is_fixed(InternalPermutation(), token) == (len(permutation_ball(token)) == 1)


# -- long tokens --------------------------------------------------------------------------------------------


def test_count_is_exact_for_a_token_of_100_000_characters():
    # Each further "ab" adds the same number of typos.
    ten, eleven = (len(edit_ball("ab" * n)) for n in (10, 11))
    assert EditOne().count("ab" * 50_000) == ten + (50_000 - 10) * (eleven - ten)
    assert InternalPermutation().count("a" * 50_000 + "b" * 50_000) == math.comb(99_998, 49_999)


@pytest.mark.parametrize(
    ("surface", "token"),
    [(EditOne(), "ab" * 50_000), (InternalPermutation(), "ab" * 50_000), (InternalPermutation(), LETTERS)],
)
def test_a_ball_too_large_to_list_says_what_to_use_instead(surface, token):
    with pytest.raises(ValueError, match=r"too many to list.*Use count, allows or sample") as caught:
        surface.typos(token)
    assert f"{len(token):,} characters" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("surface", [EditOne(), InternalPermutation()], ids=["edit", "permutation"])
def test_long_tokens_can_be_sampled(surface):
    token = "ab" * 10_000
    draws = surface.sample(token, np.random.default_rng(0), k=20)
    assert len(set(draws)) == 20
    assert all(surface.allows(token, draw) for draw in draws)
    assert not surface.allows(token, draws[0] + "a")


# -- samples ------------------------------------------------------------------------------------------------


class Doubling(Surface):
    """Any one letter may be typed twice."""

    def typos(self, token):
        return frozenset([token, *(token[:i] + token[i] + token[i:] for i in range(len(token)))])


@given(options_and_tokens(), st.integers(0, 20), st.integers(0, 2**32))
def test_every_draw_is_a_typo(example, k, seed):
    options, token = example
    draws = EditOne(**options).sample(token, np.random.default_rng(seed), k=k)
    assert len(draws) == k
    assert set(draws) <= edit_ball(token, **options)


@given(SHORT_TOKENS, st.integers(0, 20), st.integers(0, 2**32))
def test_every_draw_is_a_permutation(token, k, seed):
    draws = InternalPermutation().sample(token, np.random.default_rng(seed), k=k)
    assert len(draws) == k
    assert set(draws) <= permutation_ball(token)


@pytest.mark.parametrize(
    ("surface", "token"),
    [
        (EditOne(alphabet="ab"), "aabbca"),
        (EditOne(alphabet="ab", keep_first=0, keep_last=0), "aba"),
        (EditOne(alphabet="abc", edits=("insert", "swap")), "abcba"),
        (EditOne(alphabet="a", edits=("delete", "substitute"), keep_last=0), "aaabb"),
        (InternalPermutation(), "abbcda"),
        (Doubling(), "aabccc"),
    ],
    ids=repr,
)
def test_every_typo_is_drawn_as_often_as_any_other(surface, token):
    members, n = surface.typos(token), 20_000
    drawn = Counter(surface.sample(token, np.random.default_rng(7), k=n))
    assert set(drawn) == members
    expected, freedom = n / len(members), len(members) - 1
    chi_square = sum((times - expected) ** 2 / expected for times in drawn.values())
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)  # four standard deviations above its mean


@pytest.mark.parametrize("surface", [EditOne(), InternalPermutation(), Doubling()], ids=["edit", "permutation", "own"])
def test_draws_depend_on_the_generator_alone(surface):
    first, second = (surface.sample("miserable", np.random.default_rng(3), k=50) for _ in range(2))
    assert first == second
    assert first != surface.sample("miserable", np.random.default_rng(4), k=50)


# -- the kernel ---------------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(options_and_tokens())
def test_the_kernel_lists_every_typo_once(example):
    options, token = example
    listed = _core.typos(EditOne(**options), token)
    assert listed[0] == token
    assert Counter(listed) == Counter(edit_ball(token, **options))


@settings(max_examples=500)
@given(st.data(), options_and_tokens())
def test_the_kernel_allows_what_the_surface_allows(data, example):
    options, token = example
    string = data.draw(st.one_of(strings_near(token), st.text("ab", max_size=4)))
    surface = EditOne(**options)
    assert _core.allows(surface, token, string) == surface.allows(token, string)


@settings(max_examples=500)
@given(options_and_tokens())
def test_a_token_is_fixed_if_it_has_one_typo(example):
    options, token = example
    assert _core.is_fixed(EditOne(**options), token) == (len(edit_ball(token, **options)) == 1)


# -- values -------------------------------------------------------------------------------------------------

DIFFERENT_SURFACES = [
    EditOne(),
    EditOne(keep_first=2),
    EditOne(keep_last=0),
    EditOne(alphabet="äöü'"),
    EditOne(edits=("insert", "swap")),
    EditOne(edits=()),
    InternalPermutation(),
]


def test_surfaces_are_equal_if_their_options_are():
    for (i, a), (j, b) in itertools.product(enumerate(DIFFERENT_SURFACES), repeat=2):
        assert (a == b) == (i == j)
    assert len({*DIFFERENT_SURFACES, EditOne(), InternalPermutation()}) == len(DIFFERENT_SURFACES)


@pytest.mark.parametrize("surface", DIFFERENT_SURFACES, ids=repr)
def test_copies_of_a_surface_are_equal_to_it(surface):
    surface.count("used")  # what it may have cached since is no part of its value
    for same in (
        pickle.loads(pickle.dumps(surface)),
        copy.deepcopy(surface),
        copy.copy(surface),
        eval(repr(surface)),
        surface_from_config(surface.config()),
    ):
        assert same == surface
        assert hash(same) == hash(surface)
        assert same.count("miserable") == surface.count("miserable")


def test_the_order_and_repetition_of_letters_and_edits_make_no_difference():
    assert EditOne(alphabet="ba") == EditOne(alphabet="ab") == EditOne(alphabet="abba")
    assert hash(EditOne(alphabet="ba")) == hash(EditOne(alphabet="ab"))
    assert EditOne(edits=("swap", "insert")) == EditOne(edits=["insert", "swap", "swap"])
    assert EditOne(edits="swap") == EditOne(edits=("swap",))


def test_a_surface_cannot_be_changed():
    with pytest.raises(AttributeError):
        EditOne().keep_first = 0


@pytest.mark.parametrize(
    ("keep_first", "keep_last", "keeps"), [(1, 1, True), (2, 3, True), (0, 1, False), (1, 0, False)]
)
def test_both_ends_are_kept_if_something_is_kept_at_both(keep_first, keep_last, keeps):
    assert EditOne(keep_first=keep_first, keep_last=keep_last).keeps_ends == keeps
    assert InternalPermutation().keeps_ends


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"alphabet": "aB"}, "'B'"),
        ({"alphabet": "a b"}, "' '"),
        ({"alphabet": "a\u00a0"}, r"'\\xa0'"),
        ({"alphabet": "a\ud800"}, r"'\\ud800'"),
        ({"alphabet": "İ"}, "'İ'"),
        ({"edits": ("insert", "replace")}, "'replace'"),
        ({"edits": "inserts"}, "'inserts'"),
        ({"edits": [5]}, "5 is no edit"),
        ({"keep_first": -1}, "keep_first is -1"),
        ({"keep_last": -1}, "keep_last is -1"),
        ({"keep_first": 1.5}, "keep_first is 1.5"),
        ({"keep_last": "1"}, "keep_last is '1'"),
        ({"keep_first": True}, "keep_first is True"),
        ({"keep_first": 2**31}, "keep_first is 2147483648"),
    ],
)
def test_a_bad_option_is_named(options, found):
    with pytest.raises(ValueError, match=found):
        EditOne(**options)


@pytest.mark.parametrize("alphabet", [5, None, ["a", "b"], b"ab"])
def test_an_alphabet_that_is_no_string_is_named(alphabet):
    with pytest.raises(TypeError, match="alphabet is"):
        EditOne(alphabet=alphabet)


def test_options_go_by_name():
    with pytest.raises(TypeError):
        EditOne(1, 1)
    with pytest.raises(TypeError):
        EditOne(keep=1)


@pytest.mark.parametrize("config", [{}, {"kind": "keyboard"}])
def test_an_unknown_kind_of_surface_is_named(config):
    with pytest.raises(ValueError, match=f"unknown surface {config.get('kind')!r}.*edit-one"):
        surface_from_config(config)


# -- surfaces that users write ------------------------------------------------------------------------------


def test_a_class_with_typos_alone_gets_the_other_methods():
    surface = Doubling()
    assert surface.count("cat") == 4
    assert surface.allows("cat", "caat")
    assert not surface.allows("cat", "ct")
    assert set(surface.sample("cat", np.random.default_rng(0), k=100)) == {"cat", "ccat", "caat", "catt"}
    assert surface.sample("cat", np.random.default_rng(0), k=0) == []
    assert len(surface.sample("cat", np.random.default_rng(0))) == 1


def test_a_surface_without_typos_cannot_be_made():
    class Nothing(Surface):
        pass

    with pytest.raises(TypeError, match="typos"):
        Nothing()


def test_any_object_with_the_four_methods_is_a_surface():
    class Plain:
        def typos(self, token): ...
        def count(self, token): ...
        def allows(self, token, typo): ...
        def sample(self, token, rng, k=1): ...

    assert isinstance(Plain(), Surface)
    assert isinstance(Doubling(), Surface)
    assert isinstance(EditOne(), Surface)
    assert isinstance(InternalPermutation(), Surface)
    assert not isinstance("surface", Surface)


@pytest.mark.parametrize("edits", [5])
def test_edits_that_are_no_sequence_are_named(edits):
    with pytest.raises((TypeError, ValueError), match=f"{edits!r}"):
        EditOne(edits=edits)


class FirstLetter(EditOne):
    def typos(self, token):
        return super().typos(token) | ({"x" + token[1:]} if len(token) > 1 else set())


def test_an_inherited_shortcut_is_not_trusted_when_typos_are_overridden():
    surface = FirstLetter()
    graph = typo_graph(Vocabulary.from_counts({"cat": 3, "hat": 2}), surface)
    assert graph.n_edges == 1  # both may be typed "xat"
    encoding = Encoding(connected_components(graph))
    assert all(encoding.code(typo) in encoding.reachable("cat") for typo in surface.typos("cat"))


def test_an_inherited_count_is_not_trusted_when_typos_are_overridden():
    assert FirstLetter().count("cat") == len(FirstLetter().typos("cat"))
    assert FirstLetter().allows("cat", "xat")
