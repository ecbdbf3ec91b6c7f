"""The typo corrector: it learns, it keeps what it learnt on disk, and believes no damaged folder."""

import copy
import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

import roben
from roben import data
from roben.baseline import Corrected, Corrector, CorrectorError, TypoCorrector, corrector
from roben.extras import MissingExtraError
from roben.kernel import native_kernel
from roben.typed import TypedText

EDITS, PERMUTATIONS = roben.EditOne(), roben.InternalPermutation()
MANIFEST, WEIGHTS = "roben-corrector.json", "weights.safetensors"
SMALL = {"n_words": 300, "hidden_size": 48, "batch_size": 100, "learning_rate": 0.02}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """A few hundred short sentences."""
    found = [line.strip() for text in data.reviews("train").texts[:400] for line in text.split(".")]
    return [line for line in found if 3 <= len(line.split()) <= 20][:600]


@pytest.fixture(scope="module")
def fitted(texts) -> TypoCorrector:
    return TypoCorrector(**SMALL, epochs=8).fit(texts, EDITS)


@pytest.fixture(scope="module")
def hasty(texts) -> TypoCorrector:
    """Knows little, but quickly."""
    return TypoCorrector(**SMALL, epochs=1).fit(texts[:50], EDITS)


@pytest.fixture
def folder(hasty, tmp_path) -> Path:
    hasty.save(tmp_path / "corrector")
    return tmp_path / "corrector"


def typed(text: str, rng: np.random.Generator) -> str:
    """Every token that has other members in its ball becomes one of them."""
    found = TypedText(text, "inner-words")
    changes = {}
    for i, token in enumerate(found.tokens):
        others = sorted(EDITS.typos(token) - {token})
        if others:
            changes[i] = others[rng.integers(len(others))]
    return found.replace(changes)


def tokens_of(text: str) -> list[str]:
    return native_kernel().tokenize(text, "inner-words")


# -- what it learns -----------------------------------------------------------------------------------------


def test_it_restores_most_typed_words_and_keeps_most_clean_ones(fitted, texts):
    rng = np.random.default_rng(1)
    attacked = [typed(text, rng) for text in texts]
    n_words = n_restored = n_kept = 0
    for text, mended, kept in zip(texts, fitted(attacked), fitted(texts), strict=True):
        for word, found, clean in zip(tokens_of(text), mended.split(), kept.split(), strict=True):
            if len(word) > 1 and word in fitted.words_:
                n_words += 1
                n_restored += found == word
                n_kept += clean == word
    assert n_words > 1000
    assert n_restored / n_words > 0.8  # naming the most frequent word every time gives less than a tenth
    assert n_kept / n_words > 0.9


def test_its_words_are_the_most_frequent_tokens(fitted, texts):
    words = roben.Vocabulary.from_texts(dict.fromkeys(texts)).words
    assert set(fitted.words_) <= set(words)
    assert len(fitted.words_) == 300
    assert fitted.words_[0] in words[:3]


def test_it_gives_its_words_and_no_others(fitted, texts):
    given = {word for text in fitted([*texts, "zzyzx quuxly", "!?"]) for word in text.split(" ")}
    assert given <= {*fitted.words_, "a"}


def test_what_is_unknown_becomes_another_word_if_asked(texts):
    unsure = TypoCorrector(2, hidden_size=8, epochs=2, unknown="[?]").fit(texts[:100], EDITS)
    given = {word for text in unsure(texts) for word in text.split(" ")}
    assert "[?]" in given
    assert len(given) <= 3


def test_a_text_comes_out_with_as_many_tokens_as_it_has(fitted, texts):
    for text, mended in zip(texts, fitted(texts), strict=True):
        assert len(mended.split(" ")) == len(tokens_of(text))


def test_order_inside_a_word_is_not_seen(fitted):
    assert fitted(["the moive was terrible"]) == fitted(["the mvoie was trebirle"])


def test_a_text_is_corrected_alike_in_any_company(fitted, texts):
    together = fitted(texts)
    assert [fitted([text])[0] for text in texts[:50]] == together[:50]
    assert fitted(texts[::-1]) == together[::-1]


def test_windows_and_batches_are_no_seams(fitted, texts, monkeypatch):
    expected = fitted(texts)
    for name, size in (("WINDOW", 7), ("BATCH_TEXTS", 3), ("BATCH_TOKENS", 5)):
        monkeypatch.setattr(corrector, name, size)
    assert fitted(texts) == expected


def test_close_calls_are_decided_alone(fitted, texts, monkeypatch):
    expected = [fitted([text])[0] for text in texts[:40]]
    states = corrector._states

    def noisy(network, seen, lengths):
        """A batch in which rounding has changed everything."""
        return states(network, seen, lengths) * (1 if len(lengths) == 1 else -1)

    monkeypatch.setattr(corrector, "_states", noisy)
    assert fitted(texts[:40]) != expected
    monkeypatch.setattr(corrector, "CLOSE", float("inf"))
    assert fitted(texts[:40]) == expected


@pytest.mark.parametrize("text", ["", " \n ", "a", "\u0301", "\ud800", "漢字", "x" * 100_000, "é" * 300, "a b\tc"])
def test_any_text_has_its_tokens_corrected(fitted, text):
    (mended,) = fitted([text])
    assert len(mended.split()) == len(tokens_of(text))
    assert fitted([text, "a film"])[0] == mended


def test_no_texts_give_none(fitted):
    assert fitted([]) == []
    assert fitted(["", ""]) == ["", ""]


def test_long_texts_are_learnt_from_in_pieces():
    text = " ".join(["word"] * 1000 + ["y" * 1000])
    learnt = TypoCorrector(hidden_size=8, epochs=3).fit([text, "word"], EDITS)
    assert learnt.words_ == ("word",)
    assert learnt([text])[0].split(" ")[:1000] == ["word"] * 1000


def test_both_sides_of_pairs_are_texts(texts):
    pairs = list(zip(texts[:20], texts[20:40], strict=True))
    of_pairs, of_sides = (
        TypoCorrector(**SMALL, epochs=1).fit(one, EDITS) for one in (pairs, [side for pair in pairs for side in pair])
    )
    assert same(of_pairs, of_sides)


def test_texts_that_are_equal_are_learnt_once(texts):
    once, thrice = (TypoCorrector(**SMALL, epochs=1).fit(one, EDITS) for one in (texts[:40], texts[:40] * 3))
    assert same(once, thrice)


def test_a_seed_fixes_what_is_learnt_and_another_changes_it(texts, hasty):
    assert same(TypoCorrector(**SMALL, epochs=1).fit(texts[:50], EDITS), hasty)
    assert not same(TypoCorrector(**SMALL, epochs=1, seed=1).fit(texts[:50], EDITS), hasty)


def test_training_leaves_chance_elsewhere_alone(texts):
    before = torch.random.get_rng_state()
    TypoCorrector(**SMALL, epochs=1).fit(texts[:10], EDITS)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_progress_rises_to_one(texts):
    shares = []
    TypoCorrector(**SMALL, epochs=2).fit(texts[:100], EDITS, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("surface", "tokens", "split"),
    [
        (PERMUTATIONS, "words", "inner-words"),
        (roben.EditOne(keep_first=0), "words", "words"),
        (EDITS, "spaces", "spaces"),
    ],
)
def test_texts_are_split_as_the_surface_needs(surface, tokens, split, texts):
    learnt = TypoCorrector(**SMALL, epochs=1, tokens=tokens).fit(texts[:20], surface)
    assert learnt.split_ == split
    assert len(learnt(["isn't 'it' well-made?"])[0].split()) == len(TypedText("isn't 'it' well-made?", split).tokens)


def same(first: TypoCorrector, second: TypoCorrector) -> bool:
    mine, other = first.network_.state_dict(), second.network_.state_dict()
    return first.words_ == second.words_ and all(torch.equal(mine[name], other[name]) for name in mine)


# -- what it refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_words": 0}, "n_words is 0"),
        ({"hidden_size": 1.5}, "hidden_size is 1.5"),
        ({"epochs": True}, "epochs is True"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"tokens": "letters"}, "tokens is 'letters'"),
        ({"unknown": None}, "unknown is None"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TypoCorrector(**options)


def test_texts_without_tokens_teach_nothing():
    for texts in ([], ["", " "]):
        with pytest.raises(ValueError, match="there is no token"):
            TypoCorrector().fit(texts, EDITS)


def test_a_failed_fit_leaves_the_corrector_as_it_was(hasty):
    kept = copy.deepcopy(hasty)
    with pytest.raises(ValueError, match="there is no token"):
        kept.fit([], EDITS)
    assert kept(["the flim"]) == hasty(["the flim"])


def test_it_says_that_it_has_learnt_nothing_yet(tmp_path):
    for ask in (lambda: TypoCorrector()(["a"]), lambda: TypoCorrector().save(tmp_path / "new")):
        with pytest.raises(CorrectorError, match="call fit"):
            ask()
    assert "not fitted" in repr(TypoCorrector())


def test_one_text_is_no_list_of_texts(hasty):
    with pytest.raises(TypeError, match="one text"):
        hasty("a film")


def test_a_device_that_is_not_there_is_named(texts, folder):
    for ask in (
        lambda: TypoCorrector(device="cuda:99").fit(texts, EDITS),
        lambda: TypoCorrector.load(folder, device="xpu:9"),
    ):
        with pytest.raises(ValueError, match="which this machine does not have"):
            ask()


def test_without_torch_the_extra_is_named(monkeypatch, folder):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    for ask in (lambda: TypoCorrector().fit(["a"], EDITS), lambda: TypoCorrector.load(folder)):
        with pytest.raises(MissingExtraError, match=r"torch: pip install 'roben\[transformers\]'"):
            ask()


def test_it_stands_in_front_of_a_model(hasty):
    class Words:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, texts):
            return np.array([[0.0, 1.0] if set(text.split()) <= {*hasty.words_, "a"} else [1.0, 0.0] for text in texts])

    assert isinstance(hasty, Corrector)
    assert Corrected(hasty, Words()).predict(["some thng or othr", "zzyzx"]).tolist() == ["yes", "yes"]


# -- on disk ------------------------------------------------------------------------------------------------


def test_a_corrector_comes_back_from_disk(hasty, folder, texts):
    loaded = TypoCorrector.load(folder)
    assert same(loaded, hasty)
    assert loaded(texts) == hasty(texts)
    assert (loaded.n_words, loaded.hidden_size, loaded.seed) == (300, 48, 0)
    assert repr(loaded) == repr(hasty)
    assert sorted(file.name for file in folder.iterdir()) == [MANIFEST, WEIGHTS]


def test_the_bytes_are_the_same_every_time(hasty, folder, tmp_path):
    hasty.save(tmp_path / "again")
    TypoCorrector.load(folder).save(tmp_path / "loaded")
    for name in (MANIFEST, WEIGHTS):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
        assert (folder / name).read_bytes() == (tmp_path / "loaded" / name).read_bytes()


def test_a_corrector_can_be_pickled_and_copied(hasty, texts):
    for other in (pickle.loads(pickle.dumps(hasty)), copy.deepcopy(hasty)):
        assert other(texts[:20]) == hasty(texts[:20])


def test_saving_replaces_a_corrector_and_nothing_else(hasty, fitted, folder, tmp_path):
    fitted.save(folder)
    assert same(TypoCorrector.load(folder), fitted)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["corrector"]
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis").write_text("years of work")
    with pytest.raises(CorrectorError, match="other things in it"):
        hasty.save(tmp_path / "papers")
    with pytest.raises(CorrectorError, match="is a file"):
        hasty.save(tmp_path / "papers" / "thesis")
    with pytest.raises(CorrectorError, match="current folder"):
        hasty.save(".")


def test_a_save_that_fails_leaves_the_old_corrector(hasty, folder, tmp_path, monkeypatch):
    before = (folder / MANIFEST).read_bytes()

    def fail(self, path):
        raise OSError("the disk is full")

    monkeypatch.setattr(TypoCorrector, "_write", fail)
    with pytest.raises(OSError, match="the disk is full"):
        hasty.save(folder)
    assert (folder / MANIFEST).read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["corrector"]


def test_what_was_learnt_from_odd_texts_comes_back(tmp_path):
    odd = TypoCorrector(hidden_size=4, epochs=1).fit(["\ud83d x \ude00 y\ud83d", "漢字 \U0001f600 naïve"], EDITS)
    odd.save(tmp_path / "odd")
    loaded = TypoCorrector.load(tmp_path / "odd")
    assert (loaded.words_, loaded.alphabet_.tolist()) == (odd.words_, odd.alphabet_.tolist())


def test_nowhere_is_no_corrector(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        TypoCorrector.load(tmp_path / "nowhere")
    with pytest.raises(CorrectorError, match="it is no corrector"):
        TypoCorrector.load(tmp_path)


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped", "noise"])
def test_a_damaged_file_is_no_corrector(folder, name, damage):
    file = folder / name
    content = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    else:
        content[len(content) // 2] ^= 4
        changed = {"empty": b"", "cut": content[:-7], "flipped": content, "noise": b"\xff\x00[[" * 50}[damage]
        file.write_bytes(changed)
    with pytest.raises(CorrectorError):
        TypoCorrector.load(folder)


def forge(folder: Path, **changes: object) -> None:
    """A manifest with other content, whose checksum is right."""
    manifest = {**json.loads((folder / MANIFEST).read_text()), **changes}
    del manifest["checksum"]
    manifest["checksum"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))


def options(folder: Path, **changes: object) -> dict[str, object]:
    return {**json.loads((folder / MANIFEST).read_text())["options"], **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "roben model"}, "is not that of a corrector"),
        ({"format": "1"}, "is not that of a corrector"),
        ({"format": 2}, "install a newer one"),
        ({"words": None}, "words is missing"),
        ({"words": ["a", "a"]}, "not all different"),
        ({"words": ["a b"]}, "among its words"),
        ({"words": [""]}, "among its words"),
        ({"words": [["a"]]}, "among its words"),
        ({"words": ["\ud800"]}, "among its words"),
        ({"words": ["x" * 1000]}, "among its words"),
        ({"words": [f"w{i}" for i in range(301)]}, "or over 300"),
        ({"words": ["a"]}, r"has words.bias as .*; expected"),
        ({"alphabet": [98, 97]}, "alphabet that is not one"),
        ({"alphabet": ["a"]}, "alphabet that is not one"),
        ({"alphabet": [True, 5]}, "alphabet that is not one"),
        ({"alphabet": [2**40]}, "alphabet that is not one"),
        ({"alphabet": [97]}, "has characters.weight as"),
        ({"split": "letters"}, "names the split 'letters'"),
        ({"weights": "0" * 64}, "its checksum is not the one"),
    ],
)
def test_a_forged_manifest_is_refused(folder, changes, message):
    forge(folder, **changes)
    with pytest.raises(CorrectorError, match=message):
        TypoCorrector.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 10**12}, "expected"),
        ({"hidden_size": "48"}, "hidden_size is '48'"),
        ({"learning_rate": None}, "learning_rate is None"),
        ({"device": "cpu"}, "multiple values"),
        ({"colour": "red"}, "unexpected keyword"),
    ],
)
def test_forged_options_are_refused(folder, changes, message):
    forge(folder, options=options(folder, **changes))
    with pytest.raises(CorrectorError, match=message):
        TypoCorrector.load(folder)


def test_an_edited_manifest_is_refused(folder):
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"epochs": 1', '"epochs": 7'))
    with pytest.raises(CorrectorError, match="its checksum does not match"):
        TypoCorrector.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000, "null", "[]", '{"kind": 1}'])
def test_json_that_is_no_manifest_is_refused(folder, text):
    (folder / MANIFEST).write_text(text)
    with pytest.raises(CorrectorError):
        TypoCorrector.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: {}, "expected"),
        (lambda arrays: {**arrays, "more": np.zeros(1, np.float32)}, r"has more as .*; expected None"),
        (lambda arrays: {**arrays, "words.bias": arrays["words.bias"].astype(np.float64)}, "float64"),
        (lambda arrays: {**arrays, "words.bias": arrays["words.bias"] * np.nan}, "not finite"),
    ],
)
def test_forged_weights_are_refused(folder, change, message):
    content = save(change(load((folder / WEIGHTS).read_bytes())))
    (folder / WEIGHTS).write_bytes(content)
    forge(folder, weights=hashlib.sha256(content).hexdigest())
    with pytest.raises(CorrectorError, match=message):
        TypoCorrector.load(folder)


def test_weights_that_are_none_are_refused(folder):
    (folder / WEIGHTS).write_bytes(b"\xff" * 1000)
    forge(folder, weights=hashlib.sha256(b"\xff" * 1000).hexdigest())
    with pytest.raises(CorrectorError, match="cannot be read: SafetensorError"):
        TypoCorrector.load(folder)
