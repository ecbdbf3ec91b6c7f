"""Words and their frequencies: their order, where they come from, and what is refused."""

import copy
import pickle
import re
from collections import Counter

import numpy as np
import pytest
import wordfreq
from hypothesis import given
from hypothesis import strategies as st

from roben import Vocabulary

COUNTS = st.dictionaries(st.text("abcäß'", min_size=1, max_size=4), st.integers(1, 9), max_size=12)


@pytest.fixture
def write(tmp_path):
    """Writes a file of words, and returns its path."""

    def write(content, name="words.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def counts_of(vocab):
    return dict(zip(vocab.words, vocab.counts.tolist(), strict=True))


# -- order and numbers --------------------------------------------------------------------------------------


@given(COUNTS)
def test_words_stand_by_falling_count_then_by_the_alphabet(counts):
    vocab = Vocabulary.from_counts(counts)
    assert list(vocab.words) == sorted(counts, key=lambda word: (-counts[word], word))
    assert counts_of(vocab) == counts


@given(st.data(), COUNTS)
def test_the_order_in_which_counts_come_makes_no_difference(data, counts):
    shuffled = data.draw(st.permutations(list(counts.items())))
    assert Vocabulary.from_counts(shuffled) == Vocabulary.from_counts(counts)
    assert Vocabulary.from_counts(dict(shuffled)) == Vocabulary.from_counts(counts)
    assert Vocabulary.from_counts(iter(shuffled)) == Vocabulary.from_counts(counts)


@given(COUNTS)
def test_ranks_are_the_places_of_the_words(counts):
    vocab = Vocabulary.from_counts(counts)
    assert [vocab.words[vocab.ranks[word]] for word in vocab.words] == list(vocab.words)
    assert len(vocab) == len(vocab.ranks) == len(counts)
    assert all(word in vocab for word in counts)
    assert "never" not in vocab
    assert 5 not in vocab


@given(COUNTS, st.integers(0, 15))
def test_size_keeps_the_most_frequent(counts, size):
    vocab = Vocabulary.from_counts(counts)
    assert Vocabulary.from_counts(counts, size=size).words == vocab.words[:size]
    assert Vocabulary.from_counts(counts, size=np.int64(size)).words == vocab.words[:size]
    assert Vocabulary.from_counts(counts, size=None) == vocab


def test_words_are_lower_cased_and_counts_of_equal_words_add_up():
    vocab = Vocabulary.from_counts({"The": 3, "the": 4, "THE": 1, "Äpfel": 2, "äpfel": 5, "x": 1})
    assert counts_of(vocab) == {"the": 8, "äpfel": 7, "x": 1}
    assert counts_of(Vocabulary.from_counts([("a", 1), ("b", 2), ("a", 3)])) == {"a": 4, "b": 2}


@pytest.mark.parametrize("keep", [lambda word: "a" in word, {"a", "ba", "zzz"}, ["a", "ba"], {"a": 0, "ba": 0}])
def test_keep_admits_by_a_function_or_from_a_container(keep):
    assert Vocabulary.from_counts({"a": 1, "BA": 2, "b": 3}, keep=keep).words == ("ba", "a")
    assert Vocabulary.from_counts({"a": 1, "BA": 2, "b": 3}, keep=keep, size=1).words == ("ba",)


def test_keep_can_leave_out_what_would_be_refused():
    counts = {"a": 1, "b c": 2, "": 3, "d\ud800": 4, "e" * 257: 5}
    assert Vocabulary.from_counts(counts, keep=lambda word: word == "a").words == ("a",)


@given(COUNTS.filter(bool))
def test_frequencies_are_counts_scaled_to_sum_to_1(counts):
    vocab = Vocabulary.from_counts(counts)
    total = sum(counts.values())
    assert vocab.frequencies.dtype == np.float64
    assert vocab.frequencies.tolist() == [counts[word] / total for word in vocab.words]
    assert float(vocab.frequencies.sum()) == pytest.approx(1, abs=1e-14)


@given(COUNTS)
def test_whole_counts_are_their_own_weights(counts):
    weights = Vocabulary.from_counts(counts).weights
    assert weights.dtype == np.int64
    assert weights.tolist() == Vocabulary.from_counts(counts).counts.tolist()


def test_large_whole_counts_stay_exact():
    assert Vocabulary.from_counts({"a": 2**51, "b": 2**51 - 1}).weights.tolist() == [2**51, 2**51 - 1]


@given(st.dictionaries(st.text("ab", min_size=1), st.floats(1e-9, 1e12), min_size=1, max_size=20))
def test_other_weights_are_parts_of_2_to_the_52(counts):
    counts["fraction"] = 0.5
    vocab = Vocabulary.from_counts(counts)
    weights = vocab.weights
    assert weights.min() >= 1
    assert (np.diff(weights) <= 0).all()
    assert int(weights.sum()) == pytest.approx(2**52, abs=len(vocab))
    assert (np.abs(weights / 2**52 - vocab.frequencies) <= 2.0**-51).all()


def test_whole_counts_too_large_to_add_up_exactly_are_scaled():
    assert Vocabulary.from_counts({"a": 3e300, "b": 1e300, "c": 1}).weights.tolist() == [3 * 2**50, 2**50, 1]


def test_an_empty_vocabulary_is_fine():
    vocab = Vocabulary.from_counts({})
    assert vocab.words == ()
    assert vocab.frequencies.tolist() == vocab.weights.tolist() == []
    assert len(vocab) == 0
    assert vocab == Vocabulary.from_texts([]) == Vocabulary.from_counts({"a": 1}, size=0)


# -- languages ----------------------------------------------------------------------------------------------


def test_english_is_the_same_every_time(english):
    assert len(english) == 10_000
    assert english.words[:3] == ("the", "to", "and")
    assert Vocabulary.english(10_000) == english == Vocabulary.language("en", 10_000)
    assert Vocabulary.english(100).words == english.words[:100]


def test_english_stands_in_order(english):
    pairs = list(zip(-english.counts, english.words, strict=True))
    assert pairs == sorted(pairs)
    assert float(english.frequencies.sum()) == pytest.approx(1, abs=1e-12)


def test_english_has_contractions(english):
    assert {"don't", "it's", "isn't"} <= set(english.words)


@pytest.mark.parametrize(("code", "word"), [("is", "það"), ("mk", "што")])
def test_other_languages_are_the_same_every_time(code, word):
    vocab = Vocabulary.language(code, 500)
    assert len(vocab) == 500
    assert word in vocab
    assert Vocabulary.language(code, 500) == vocab


def test_shapes_of_numbers_are_left_out(english):
    assert "0000" in wordfreq.get_frequency_dict("en", wordlist="best")
    assert not [word for word in english.words if re.match(r"\d[\d.,]", word)]
    assert "2" in english


def test_keep_applies_to_a_language_before_its_size():
    vocab = Vocabulary.english(50, keep=str.isalpha)
    assert len(vocab) == 50
    assert all(word.isalpha() for word in vocab.words)


def test_an_unknown_language_is_named_and_the_known_are_listed():
    with pytest.raises(ValueError, match=r"no words for the language 'xx'; it has .*de, .*ru, "):
        Vocabulary.language("xx")


# -- texts --------------------------------------------------------------------------------------------------


def test_words_of_texts_are_counted():
    vocab = Vocabulary.from_texts(["The cat isn't here.", "the DOG, the 'dog'"])
    assert counts_of(vocab) == {"the": 3, "dog": 2, "'": 2, "isn't": 1, "cat": 1, "here": 1, ".": 1, ",": 1}


def test_texts_can_be_split_at_spaces():
    vocab = Vocabulary.from_texts(["The cat isn't here.", "the\tDOG, the 'dog'"], tokens="spaces")
    assert counts_of(vocab) == {"the": 3, "cat": 1, "isn't": 1, "here.": 1, "dog,": 1, "'dog'": 1}


def test_texts_are_read_one_at_a_time():
    read = []

    def texts():
        for text in ("a b", "b c", "b"):
            read.append(text)
            yield text

    stream = texts()
    vocab = Vocabulary.from_texts(stream, size=2, keep=lambda word: word != "a")
    assert counts_of(vocab) == {"b": 3, "c": 1}
    assert read == ["a b", "b c", "b"]


def test_texts_can_be_an_open_file(write):
    with write("one two\r\ntwo drei\n").open(encoding="utf-8") as file:
        assert counts_of(Vocabulary.from_texts(file)) == {"two": 2, "one": 1, "drei": 1}


def test_what_cannot_be_a_word_is_left_out_of_a_corpus():
    assert counts_of(Vocabulary.from_texts(["a " + "x" * 257, "b\ud800 a"], tokens="spaces")) == {"a": 2}


def test_one_string_is_not_taken_for_many_texts():
    with pytest.raises(TypeError, match="texts is one string; pass an iterable"):
        Vocabulary.from_texts("the cat")


@pytest.mark.parametrize("text", [None, 5, b"the", ("a", "b")])
def test_a_text_that_is_no_string_is_named(text):
    with pytest.raises(TypeError, match=re.escape(f"found {text!r}")):
        Vocabulary.from_texts(["fine", text])


def test_an_unknown_split_is_named():
    with pytest.raises(ValueError, match="tokens is 'letters'; it may be 'words' or 'spaces'"):
        Vocabulary.from_texts(["a"], tokens="letters")


# -- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "the 53\ncat 7\nThe 1\n",
        "the\t53\ncat\t7\nthe\t1",
        "\ufeffthe 53\ncat 7\nthe 1\n",
        "the 53\r\ncat 7\r\nthe 1\r\n",
        "\n  \nthe   53  \n\n cat 7.0\nthe 1e0\n\n",
    ],
    ids=["space", "tab", "byte-order mark", "windows", "blanks"],
)
def test_a_file_may_have_counts(write, content):
    vocab = Vocabulary.from_file(write(content))
    assert counts_of(vocab) == {"the": 54, "cat": 7}
    assert Vocabulary.from_file(str(write(content)), size=1).words == ("the",)
    assert Vocabulary.from_file(write(content), keep={"cat"}).words == ("cat",)


@pytest.mark.parametrize(
    "content", ["the\ncat\nfür\nx", "\ufeffthe\r\ncat\r\nfür\r\nx\r\n", "\n the\n\ncat \nFür\nThe\nx\ncat"]
)
def test_words_by_rank_get_counts_by_zipfs_law(write, content):
    assert counts_of(Vocabulary.from_file(write(content))) == {"the": 1, "cat": 1 / 2, "für": 1 / 3, "x": 1 / 4}


def test_of_a_word_that_stands_twice_the_better_rank_counts(write):
    assert Vocabulary.from_file(write("b\na\nc\nB\na\n")).words == ("b", "a", "c")


def test_size_and_keep_apply_to_words_by_rank(write):
    vocab = Vocabulary.from_file(write("the\ncat\nsat\ndown\n"), size=2, keep=lambda word: word != "cat")
    assert counts_of(vocab) == {"the": 1, "sat": 1 / 3}


def test_words_by_rank_get_counts_on_the_curve_of_another_vocabulary(write, english):
    path = write("\n".join(f"word{i}" for i in range(15_000)))
    vocab = Vocabulary.from_file(path, like=english)
    assert vocab.words == tuple(f"word{i}" for i in range(15_000))
    assert (np.diff(vocab.counts) < 0).all()  # the ranks of the file survive, though english has equal counts
    assert np.abs(np.log(vocab.counts[:10_000] / english.counts)).max() < 0.05
    # Beyond its end, Zipf's law goes on.
    assert vocab.counts[14_999] * 15_000 == pytest.approx(vocab.counts[9_999] * 10_000)


def test_few_words_by_rank_get_the_first_counts_of_the_other(write):
    like = Vocabulary.from_counts({"a": 40, "b": 20, "c": 10})
    assert Vocabulary.from_file(write("x\ny\nz\n"), like=like).counts == pytest.approx([40, 20, 10])


def test_an_empty_vocabulary_has_no_curve(write):
    with pytest.raises(ValueError, match="like is an empty vocabulary"):
        Vocabulary.from_file(write("x\n"), like=Vocabulary.from_counts({}))


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("the 5\ncat x\n", 2, "'cat x'"),
        ("the 5\n\ncat\n", 3, "'cat'"),
        ("the 5\na b c\n", 2, "'a b c'"),
        ("the\ncat 5\n", 2, "'cat 5'"),
        ("\nthe cat 5\n", 2, "'the cat 5'"),
    ],
)
def test_a_malformed_line_is_named_with_its_file(write, content, line, found):
    path = write(content)
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {line}: found {found}, expected")):
        Vocabulary.from_file(path)


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "\ufeff"])
def test_a_file_without_words_is_named(write, content):
    path = write(content)
    with pytest.raises(ValueError, match=re.escape(f"{path} holds no words")):
        Vocabulary.from_file(path)


def test_a_file_that_is_not_utf_8_is_named(write):
    path = write("the\ncafé\n".encode("latin-1"))
    with pytest.raises(ValueError, match=re.escape(f"{path} is not UTF-8")):
        Vocabulary.from_file(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Vocabulary.from_file(tmp_path / "nowhere.txt")


# -- blends -------------------------------------------------------------------------------------------------


@given(COUNTS.filter(bool), COUNTS.filter(bool), st.floats(0.01, 100))
def test_a_blend_adds_the_others_share_of_the_same_total(mine, others, weight):
    blend = counts_of(Vocabulary.from_counts(mine).blend(Vocabulary.from_counts(others), weight))
    expected = Counter(mine)
    for word, count in others.items():
        expected[word] += weight * count / sum(others.values()) * sum(mine.values())
    assert blend == pytest.approx(dict(expected))


def test_a_blend_can_be_cut_to_size(english):
    vocab = Vocabulary.from_counts({"zyzzyva": 10, "the": 1}).blend(english, 0.05, size=3)
    assert vocab.words[0] == "zyzzyva"
    assert len(vocab) == 3


def test_a_blend_with_an_empty_vocabulary_keeps_the_words_of_the_other():
    some, none = Vocabulary.from_counts({"a": 2, "b": 1}), Vocabulary.from_counts({})
    assert some.blend(none, 0.5) == some
    assert none.blend(some, 0.5).words == some.words
    assert none.blend(none, 0.5) == none


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_bad_weight_is_named(weight):
    vocab = Vocabulary.from_counts({"a": 1})
    with pytest.raises(ValueError, match=f"weight is {weight}"):
        vocab.blend(vocab, weight)


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "count", [0, -1, -0.5, float("nan"), float("inf"), float("-inf"), 10**400, None, "many", 1j, [1], np.ones(2)]
)
def test_a_bad_count_is_named_with_its_word(count):
    with pytest.raises(ValueError, match=re.escape(f"the count of 'cat' is {count!r}")):
        Vocabulary.from_counts({"the": 5, "cat": count})


@pytest.mark.parametrize("word", ["", " ", "a b", "a\n", "\ta", "a\u00a0b", "a\u2028b"])
def test_a_word_with_white_space_or_nothing_in_it_is_named(word):
    with pytest.raises(ValueError, match=re.escape(f"{word!r} is no word")):
        Vocabulary.from_counts({"the": 5, word: 1})


def test_a_lone_surrogate_is_named():
    with pytest.raises(ValueError, match=r"'a\\ud800' holds a lone surrogate"):
        Vocabulary.from_counts({"the": 5, "a\ud800": 1})


def test_a_word_may_have_256_characters_and_no_more():
    assert len(Vocabulary.from_counts({"a" * 256: 1})) == 1
    with pytest.raises(ValueError, match=r"'a{20}'… has 257 characters; a word may have 256"):
        Vocabulary.from_counts({"the": 5, "a" * 257: 1})


@pytest.mark.parametrize("word", [5, None, b"cat", ("a",)])
def test_a_word_that_is_no_string_is_named(word):
    with pytest.raises(TypeError, match=re.escape(f"found {word!r}")):
        Vocabulary.from_counts({"the": 5, word: 1})


@pytest.mark.parametrize("size", [-1, 1.5, "3", True])
def test_a_bad_size_is_named(size):
    with pytest.raises(ValueError, match=re.escape(f"size is {size!r}")):
        Vocabulary.from_counts({"a": 1}, size=size)


def test_there_is_one_count_for_every_word():
    with pytest.raises(ValueError, match="2 words with 1 counts"):
        Vocabulary(["a", "b"], [1.0])


# -- values -------------------------------------------------------------------------------------------------


def test_vocabularies_are_equal_if_their_words_and_counts_are():
    vocab = Vocabulary.from_counts({"a": 2, "b": 1})
    assert vocab == Vocabulary.from_counts({"B": 1, "A": 2})
    assert hash(vocab) == hash(Vocabulary.from_counts({"B": 1, "A": 2}))
    assert vocab != Vocabulary.from_counts({"a": 3, "b": 1})
    assert vocab != Vocabulary.from_counts({"a": 2, "c": 1})
    assert vocab != Vocabulary.from_counts({"a": 2})
    assert vocab != ("a", "b")


def test_copies_of_a_vocabulary_are_equal_to_it(english):
    for same in (pickle.loads(pickle.dumps(english)), copy.deepcopy(english), copy.copy(english)):
        assert same == english
        assert hash(same) == hash(english)
        assert same.weights.tolist() == english.weights.tolist()


def test_a_vocabulary_cannot_be_changed():
    vocab = Vocabulary.from_counts({"a": 2, "b": 1.5})
    for array in (vocab.counts, vocab.frequencies, vocab.weights, pickle.loads(pickle.dumps(vocab)).counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    with pytest.raises(AttributeError):
        vocab.words = ()


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({}, "Vocabulary(0 words)"),
        ({"a": 1}, "Vocabulary(1 word: 'a')"),
        ({"a": 3, "b": 2, "c": 1}, "Vocabulary(3 words: 'a', 'b', 'c')"),
        (dict.fromkeys("abcd", 1), "Vocabulary(4 words: 'a', 'b', 'c', …)"),
    ],
)
def test_repr_shows_the_most_frequent_words(counts, shown):
    assert repr(Vocabulary.from_counts(counts)) == shown


def test_repr_of_a_large_vocabulary_is_short(english):
    assert repr(english) == "Vocabulary(10,000 words: 'the', 'to', 'and', …)"


def test_shapes_of_numbers_within_words_are_left_out(english):
    assert not [word for word in english.words if re.search(r"\d[\d.,]", word)]  # 'a00', 'a000', 'm00'


@pytest.mark.parametrize("line", ["cat nan", "cat -1", "cat 0", "cat inf", "e" * 257 + " 3"])
def test_a_line_with_a_bad_count_or_word_is_named_with_its_file(tmp_path, line):
    path = tmp_path / "words.txt"
    path.write_text(f"the 5\n{line}\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 2")):
        Vocabulary.from_file(path)


@pytest.mark.parametrize("counts", [{"a": 1e308, "b": 1e308}, {"a": 1e308, "A": 1e308}])
def test_counts_that_add_up_to_infinity_raise_a_value_error_and_no_warning(counts):
    with pytest.raises(ValueError, match=r"infinity|finite"):
        Vocabulary.from_counts(counts)


def test_weights_of_tiny_counts():
    assert Vocabulary.from_counts({"a": 3e-310, "b": 1e-310}).weights.tolist() == pytest.approx([3 * 2**50, 2**50])
