"""Transformers: one numeric path, masks, pairs and truncation, shown with a BERT of two layers made on the spot."""

import json
import socket
from copy import deepcopy
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from sklearn.base import clone

import roben
from roben import cli, extras
from roben.certificate import certify
from roben.classifier import ModelError, RobustClassifier, TransformerClassifier
from roben.classifier.training import Training
from roben.extras import MissingExtraError
from roben.lattice import lattices

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
NEUTRAL = ("the", "a", "film", "plot", "was", "is", "and", "cast", "story", "scene")
NEAR = ("god", "gold", "goad", "bald", "bid", "bed", "fire", "five", "pour", "poor", "doll", "was", "flim", "scone")
WORDS = tuple(dict.fromkeys((*NEUTRAL, *GOOD, *BAD, *NEAR)))


@pytest.fixture(scope="module", autouse=True)
def offline():
    """Nothing is downloaded: whoever tries fails, and so does the test. One thread is enough."""

    def refuse(*args, **kwargs):
        raise AssertionError("something looks for the network")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        torch.set_num_threads(1)
        yield


def tiny_bert(folder: Path, mask: str = "[MASK]") -> str:
    """A BERT as it lies on disk, that has learnt nothing yet."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789'!?.,-"
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", mask)
    vocabulary = list(dict.fromkeys((*specials, *letters, *(f"##{letter}" for letter in letters), *WORDS)))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary))
    tokenizer = {"tokenizer_class": "BertTokenizer", "mask_token": mask, "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return str(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> str:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def words() -> roben.Encoding:
    """Of the few words of the task, each its own code."""
    counts = {word: len(WORDS) - i for i, word in enumerate(WORDS)}
    return roben.Encoding.build(roben.Vocabulary.from_counts(counts), gamma=1)


def sentences(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences of neutral words and of some that decide; now and then there is a word that nobody knows."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        label = int(rng.integers(2))
        tokens = list(rng.choice(NEUTRAL, size=rng.integers(2, 8)))
        for word in rng.choice((BAD, GOOD)[label], size=rng.integers(1, 3)):
            tokens.insert(int(rng.integers(len(tokens) + 1)), str(word))
        if rng.random() < 0.3:
            tokens.insert(int(rng.integers(len(tokens) + 1)), "xylograph")
        texts.append(" ".join(tokens))
        labels.append(("neg", "pos")[label])
    return texts, labels


def classifier_of(bert: str, **options) -> TransformerClassifier:
    usual = {"max_length": 24, "learning_rate": 3e-3, "batch_size": 16, "epochs": 4, "predict_batch_size": 64}
    return TransformerClassifier(bert, **{**usual, **options})


@pytest.fixture(scope="module")
def task() -> tuple[list[str], list[str]]:
    return sentences(300, 0)


@pytest.fixture(scope="module")
def trained(bert, words, task) -> RobustClassifier:
    return RobustClassifier(words, classifier_of(bert)).fit(*task)


@pytest.fixture(scope="module")
def trained_in_bf16(bert, words, task) -> RobustClassifier:
    return RobustClassifier(words, classifier_of(bert, precision="bf16")).fit(*task)


@pytest.fixture(params=["fp32", "bf16"])
def model(request, trained, trained_in_bf16) -> RobustClassifier:
    return trained if request.param == "fp32" else trained_in_bf16


# -- training and predicting --------------------------------------------------------------------------------


def test_what_it_was_taught_it_knows(model):
    texts, labels = sentences(200, 1)
    assert model.classes_.tolist() == ["neg", "pos"]
    assert model.score(texts, labels) > 0.95
    probabilities = model.predict_proba(texts)
    assert probabilities.shape == (200, 2)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(200))
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(texts)).all()
    assert model.predict([]).shape == (0,)
    assert model.classifier_.predict_proba([]).shape == (0, 2)


def test_training_twice_gives_the_same_weights(bert, words):
    texts, labels = sentences(40, 2)
    one, two, other = (classifier_of(bert, epochs=1, seed=seed).fit(words(texts), labels) for seed in (0, 0, 1))
    for name, weights in one.model_.state_dict().items():
        assert torch.equal(weights, two.model_.state_dict()[name]), name
    assert any(not torch.equal(w, other.model_.state_dict()[name]) for name, w in one.model_.state_dict().items())
    assert one.tolerance_ == two.tolerance_


@pytest.mark.parametrize("labels", [[3, 7, 7, 5], ["a", "c", "c", "b"]])
def test_there_may_be_more_classes_than_the_folder_has(bert, words, labels):
    model = RobustClassifier(words, classifier_of(bert, epochs=1)).fit(["good", "bad", "poor", "was"] * 4, labels * 4)
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict_proba(["a film"]).shape == (1, 3)
    assert set(model.predict(["good", "was"]).tolist()) <= set(labels)


def test_training_says_nothing_on_stdout(bert, words, capsys):
    classifier_of(bert, epochs=1).fit(*sentences(8, 0))
    assert capsys.readouterr().out == ""


def test_parameters_are_read_set_and_cloned(bert):
    classifier = TransformerClassifier(bert)
    defaults = {"learning_rate": 2e-5, "batch_size": 8, "epochs": 3, "max_length": 128}  # the paper's
    assert {name: classifier.get_params()[name] for name in defaults} == defaults
    model = clone(RobustClassifier("none", classifier)).set_params(classifier__epochs=1)
    assert model.classifier.epochs == 1
    assert classifier.epochs == 3
    assert repr(classifier) == f"TransformerClassifier({bert!r})"
    with pytest.raises(ValueError, match=r"no parameter 'epoch'; it has model, learning_rate, .*epochs"):
        classifier.set_params(epoch=1)


# -- one numeric path ---------------------------------------------------------------------------------------


def own_classes(model: RobustClassifier, texts) -> list:
    """By what each text is decided: its scores alone, unpadded, in fp32."""
    classifier = model.classifier_
    return [model.classes_[classifier._alone(text).argmax()] for text in model.encode(texts)]


def at_a_tie(model: RobustClassifier, texts) -> TransformerClassifier:
    """A copy of the classifier for which half of the texts are of one class, by next to nothing."""
    classifier = deepcopy(model.classifier_)
    with torch.no_grad():
        classifier.model_.classifier.weight *= 1e-4
        classifier.model_.classifier.bias.zero_()
        scores = np.array([classifier._alone(text) for text in model.encode(texts)])
        classifier.model_.classifier.bias[1] = float(np.median(scores[:, 0] - scores[:, 1]))
    classifier._ready()
    return classifier


@pytest.mark.parametrize("is_near", [False, True], ids=["clear", "near ties"])
def test_predictions_do_not_depend_on_the_company_of_a_text(model, is_near, monkeypatch):
    texts = sentences(150, 3)[0]
    if is_near:
        monkeypatch.setattr(model, "classifier_", at_a_tie(model, texts))
    expected = own_classes(model, texts)
    assert 10 < expected.count("pos") < 140
    order = np.random.default_rng(0).permutation(len(texts))
    for size in (1, 3, 64):
        monkeypatch.setattr(model.classifier_, "predict_batch_size", size)
        assert model.predict(texts).tolist() == expected
        assert model.predict([texts[i] for i in order]).tolist() == [expected[i] for i in order]
    monkeypatch.setattr(model.classifier_, "_batched", partial(model.classifier_._batched, width=40))
    assert model.predict(texts).tolist() == expected


def test_texts_near_a_tie_are_scored_alone(model, monkeypatch):
    texts, classifier = model.encode(sentences(30, 4)[0]), model.classifier_
    alone = np.array([classifier._alone(text) for text in texts])
    margins = np.abs(classifier._batched(texts) @ [1, -1])
    asked = []
    monkeypatch.setattr(classifier, "_alone", lambda text: asked.append(text) or alone[texts.index(text)])
    monkeypatch.setattr(classifier, "tolerance_", float(np.median(margins)))
    scores = classifier.scores(texts)
    near = margins < classifier.tolerance_
    assert asked == [text for text, is_near in zip(texts, near, strict=True) if is_near]
    assert (scores[near] == alone[near]).all()
    monkeypatch.setattr(classifier, "tolerance_", 1e9)
    assert (classifier.scores(texts) == alone).all()


def test_batches_move_scores_by_less_than_the_tolerance(model, trained, trained_in_bf16, monkeypatch):
    texts, classifier = model.encode(sentences(150, 5)[0]), model.classifier_
    alone = np.array([classifier._alone(text) for text in texts])
    for size in (1, 3, 64):
        monkeypatch.setattr(classifier, "predict_batch_size", size)
        assert np.abs(classifier._batched(texts) - alone).max() < classifier.tolerance_ / 2
    assert 0 < trained.classifier_.tolerance_ < 1e-3 < trained_in_bf16.classifier_.tolerance_ < 1


def test_a_text_is_decided_in_fp32_whatever_the_precision(model):
    for text in model.encode(sentences(10, 6)[0]):
        first = model.classifier_._alone(text)
        with torch.inference_mode():
            tokens = model.classifier_.tokenizer_([text], truncation=True, max_length=24, return_tensors="pt")
            logits = model.classifier_.model_(**tokens).logits
        assert logits.dtype == torch.float32
        assert (first == logits[0].double().numpy()).all()


# -- certificates -------------------------------------------------------------------------------------------


def typed_at_random(encoding: roben.Encoding, text: str, k: int, rng: np.random.Generator) -> list[str]:
    """`k` perturbations of a text: a random typo of every token, typed in its place."""
    typed = encoding.typed(text)
    drawn = [encoding.surface.sample(token, rng, k) for token in typed.tokens]
    return [typed.replace({i: typos[n] for i, typos in enumerate(drawn)}) for n in range(k)]


def test_whatever_is_typed_for_a_robust_example_is_classified_rightly(model, words, monkeypatch):
    texts, labels = sentences(60, 7)
    certificates = list(certify(model, texts, labels))
    robust = [c for c in certificates if c.verdict == "robust"]
    broken = [c for c in certificates if c.flips]
    assert len(robust) > 20
    assert sum(c.n_encodings > 1 for c in robust) > 10
    for c in broken:
        assert own_classes(model, [c.witness]) != [c.label]
    rng = np.random.default_rng(0)
    k = -(-4000 // len(robust))
    typed = [perturbation for c in robust for perturbation in typed_at_random(words, c.text, k, rng)]
    gold = [c.label for c in robust for _ in range(k)]
    assert len(set(typed)) > 3000
    assert (model.predict(typed) == gold).all()
    monkeypatch.setattr(model.classifier_, "predict_batch_size", 7)
    monkeypatch.setattr(model.classifier_, "_batched", partial(model.classifier_._batched, width=40))
    assert (model.predict(typed) == gold).all()


@pytest.mark.parametrize("text", ["so bad", "was good", "not a film"])
def test_of_short_texts_everything_that_can_be_typed_agrees_with_the_certificate(model, words, text):
    tokens = text.split()
    balls = [sorted(words.surface.typos(token)) for token in tokens]
    every = [(sum(map(str.__ne__, tokens, typos)), " ".join(typos)) for typos in product(*balls)]
    classes = model.predict([typed for _, typed in every]).tolist()
    for label in ("neg", "pos"):
        (c,) = certify(model, [text], [label])
        wrong = [n for (n, _), found in zip(every, classes, strict=True) if found != label]
        assert (c.verdict, c.flips) == ("broken" if wrong else "robust", min(wrong, default=None))
        assert (c.n_perturbations, c.n_encodings) == (len(every), len(set(words([typed for _, typed in every]))))


def test_near_ties_are_certified_as_they_are_predicted(model, words, monkeypatch):
    texts = sentences(60, 8)[0]
    monkeypatch.setattr(model, "classifier_", at_a_tie(model, texts))
    certificates = list(certify(model, texts, own_classes(model, texts)))
    robust = [c for c in certificates if c.verdict == "robust"]
    assert {c.verdict for c in certificates} == {"robust", "broken"}
    assert all(c.flips != 0 for c in certificates)
    rng = np.random.default_rng(1)
    typed = [perturbation for c in robust for perturbation in typed_at_random(words, c.text, 20, rng)]
    assert model.predict(typed).tolist() == [c.label for c in robust for _ in range(20)]


# -- masks, pairs and truncation ----------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["[MASK]", "<mask>"])
def test_what_is_unknown_reaches_the_model_as_the_mask_of_its_tokenizer(tmp_path, words, mask, monkeypatch):
    classifier = classifier_of(tiny_bert(tmp_path, mask), epochs=1)
    texts = ["good film", "the xylograph film , xylograph", "a [MASK] film", "Qwertzuiop"]
    model = RobustClassifier(words, classifier).fit(texts, [0, 1, 0, 1])
    assert words(texts[1]) == "the [MASK] film , [MASK]"
    shown = model.classifier_._columns(model.encode([texts[1]]))["input_ids"]
    vocabulary = model.classifier_.tokenizer_.get_vocab()
    expected = [vocabulary[token] for token in ("[CLS]", "the", mask, "film", ",", mask, "[SEP]")]
    assert shown == [expected]
    assert model.classifier_.tokenizer_.mask_token_id == vocabulary[mask]

    pairs = RobustClassifier(words, classifier).fit([(text, "xylograph") for text in texts], [0, 1, 0, 1])
    (tokens,) = pairs.classifier_._columns(pairs.encode([("a film", "xylograph")]))["input_ids"]
    assert tokens[-2] == vocabulary[mask]


@pytest.fixture(scope="module")
def of_pairs(bert, words) -> RobustClassifier:
    """Is the second good?"""
    texts, labels = sentences(300, 9)
    others = sentences(300, 10)[0]
    pairs = list(zip(others, texts, strict=True))
    return RobustClassifier(words, classifier_of(bert, max_length=40, epochs=6)).fit(pairs, labels)


def test_pairs_reach_the_model_as_pairs(of_pairs):
    classifier = of_pairs.classifier_
    (sides,) = classifier._columns([("good film", "bad plot was")])["token_type_ids"]
    assert sides == [0, 0, 0, 0, 1, 1, 1, 1]
    texts, labels = sentences(100, 11)
    pairs = list(zip(sentences(100, 12)[0], texts, strict=True))
    assert of_pairs.score(pairs, labels) > 0.9
    swapped = [(second, first) for first, second in pairs]
    assert (of_pairs.predict(swapped) != of_pairs.predict(pairs)).any()


def test_whatever_is_typed_for_a_robust_pair_is_classified_rightly(of_pairs, words):
    texts, labels = sentences(40, 13)
    pairs = list(zip(sentences(40, 14)[0], texts, strict=True))
    certificates = list(certify(of_pairs, pairs, labels))
    robust = [c for c in certificates if c.verdict == "robust"]
    assert len(robust) > 10
    rng = np.random.default_rng(0)
    for c in robust:
        typed = zip(*(typed_at_random(words, side, 50, rng) for side in c.text), strict=True)
        assert (of_pairs.predict(list(typed)) == c.label).all()
    for c in certificates:
        if c.flips:
            assert all(map(words.surface.allows, " ".join(c.text).split(), " ".join(c.witness).split()))
            assert of_pairs.predict([c.witness])[0] != c.label


def test_what_lies_beyond_the_longest_length_does_not_matter(model, words):
    rng = np.random.default_rng(0)
    for text, label in zip(*sentences(10, 15), strict=True):
        cut, tail = f"{text}{' .' * 24}", "good bad awful great bad"
        assert (model.classifier_._alone(words(cut)) == model.classifier_._alone(words(f"{cut} {tail}"))).all()
        short, long = (next(certify(model, [whole], [label])) for whole in (cut, f"{cut} {tail}"))
        (lattice,) = lattices(words, [tail])
        assert long.n_encodings == short.n_encodings * lattice.n_encodings()
        assert (long.verdict, long.flips) == (short.verdict, short.flips)
        if long.verdict == "robust":
            assert (model.predict(typed_at_random(words, long.text, 50, rng)) == label).all()


def test_of_a_long_pair_both_sides_are_cut(of_pairs, words):
    (sides,) = of_pairs.classifier_._columns(words([("the film " * 40, "a plot " * 40)]))["token_type_ids"]
    assert len(sides) == 40
    assert 15 < sum(sides) < 25


@pytest.mark.parametrize("text", ["", " ", "?", "\0", "\x7f", "👍🏽", "film " * 500, "x" * 5000])
def test_odd_texts_are_predicted_and_certified(model, text):
    (label,) = model.predict([text])
    assert np.isfinite(model.predict_proba([text])).all()
    (c,) = certify(model, [text], [label], limit=10)
    assert c.verdict in ("robust", "undecided", "broken")


# -- training on what an attacker could make of a text ------------------------------------------------------


@pytest.fixture
def shown(monkeypatch) -> list[list[str]]:
    """The texts that training shows, by epoch."""
    show, shown = Training.show, []

    def watched(self, columns, tokenizer):
        pieces = map(tokenizer.convert_ids_to_tokens, columns["input_ids"])
        shown.append([" ".join(tokens[1:-1]) for tokens in pieces])
        show(self, columns, tokenizer)

    monkeypatch.setattr(Training, "show", watched)
    return shown


@pytest.mark.parametrize("draws", ["random", "worst"])
def test_draws_are_shown_anew_in_every_epoch(bert, words, draws, shown):
    texts, labels = sentences(40, 16)
    model = RobustClassifier(words, classifier_of(bert, epochs=3)).fit(texts, labels, draws=draws, k=3, seed=1)
    assert len(shown) == 3
    assert shown[0] == words(texts)
    assert len({tuple(epoch) for epoch in shown}) == 3
    for epoch in shown:
        for text, encoded in zip(texts, epoch, strict=True):
            reachable = map(words.reachable, words.tokenize(text))
            assert all(code in codes for code, codes in zip(encoded.split(), reachable, strict=True))
    for c in certify(model, texts, labels):
        assert (c.flips == 0) == (c.prediction != c.label)


def test_training_on_draws_twice_gives_the_same_weights(bert, words):
    texts, labels = sentences(40, 17)
    models = [
        RobustClassifier(words, classifier_of(bert, epochs=2)).fit(texts, labels, draws="worst", k=2, seed=seed)
        for seed in (5, 5, 6)
    ]
    one, two, other = ([model.classifier_._alone(text).tolist() for text in texts] for model in models)
    assert one == two
    assert one != other


def test_of_k_draws_the_worst_is_the_one_the_model_is_least_sure_of(bert, words, shown, monkeypatch):
    texts, labels = sentences(30, 18)
    drawn = []
    batched = TransformerClassifier._batched

    def watched(self, asked):
        scores = batched(self, asked)
        if len(asked) == len(texts):
            drawn.append((list(asked), scores))
        return scores

    monkeypatch.setattr(TransformerClassifier, "_batched", watched)
    rng = np.random.default_rng(0)
    classifier_of(bert, epochs=2).fit_on_draws(lattices(words, texts), labels, draws="worst", k=4, rng=rng)
    assert (len(shown), len(drawn)) == (2, 4)
    for i, label in enumerate(labels):
        lead = [1, -1] if label == "neg" else [-1, 1]
        assert shown[1][i] == min((scores[i] @ lead, n, asked[i]) for n, (asked, scores) in enumerate(drawn))[2]


# -- on disk ------------------------------------------------------------------------------------------------


def test_a_loaded_model_is_the_saved_one(model, tmp_path):
    texts, labels = sentences(80, 19)
    model.save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.encoding_ == model.encoding_
    for text in model.encode(texts):
        assert (loaded.classifier_._alone(text) == model.classifier_._alone(text)).all()
    assert (loaded.predict(texts) == model.predict(texts)).all()
    once, again = (list(certify(m, texts, labels)) for m in (model, loaded))
    assert [(c.verdict, c.flips) for c in once] == [(c.verdict, c.flips) for c in again]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_transformer_is_loaded_at_any_precision(model, tmp_path, precision):
    texts = model.encode(sentences(40, 20)[0])
    model.classifier_.save_pretrained(tmp_path)
    loaded = TransformerClassifier.load(tmp_path, device="cpu", precision=precision)
    assert (loaded.precision, loaded.device) == (precision, "cpu")
    assert loaded.max_length == model.classifier_.max_length
    for text in texts:
        assert (loaded._alone(text) == model.classifier_._alone(text)).all()
    assert (loaded.predict(texts) == model.classifier_.predict(texts)).all()


def test_labels_come_back_as_they_were_given(bert, words, tmp_path):
    model = RobustClassifier(words, classifier_of(bert, epochs=1)).fit(["good", "bad"] * 3, [7, 3] * 3)
    model.save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == [3, 7]


def test_a_saved_transformer_may_be_trained_on(trained, words, tmp_path):
    trained.save(tmp_path / "model")
    texts, labels = sentences(20, 21)
    again = (
        clone(RobustClassifier.load(tmp_path / "model")).set_params(classifier__learning_rate=0.0).fit(texts, labels)
    )
    for text in words(texts):
        assert (again.classifier_._alone(text) == trained.classifier_._alone(text)).all()


def test_a_damaged_transformer_is_refused(trained, tmp_path):
    trained.save(tmp_path / "model")
    weights = tmp_path / "model" / "classifier" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelError, match=r"model\.safetensors was edited or damaged"):
        RobustClassifier.load(tmp_path / "model")


def test_a_transformers_folder_of_others_is_no_model(bert):
    with pytest.raises(ModelError, match=r"holds no roben-model\.json: it is no model"):
        RobustClassifier.load(bert)


def test_the_command_line_trains_one_and_uses_it(bert, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, labels = sentences(60, 22)
    rows = zip(texts, labels, strict=True)
    Path("task.tsv").write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    words.save("words")
    options = ("--learning-rate", "0.003", "--batch-size", "4", "--epochs", "3", "--max-length", "24", "--seed", "1")
    train = ["train", "model", "task.tsv", "-e", "words", "--transformer", bert, *options, "--device", "cpu", "--json"]
    assert cli.main(train) == 0
    assert json.loads(capsys.readouterr().out)["classifier"] == f"TransformerClassifier({bert!r})"
    model = RobustClassifier.load("model")
    chosen = {"learning_rate": 0.003, "batch_size": 4, "epochs": 3.0, "max_length": 24, "seed": 1}
    assert {name: model.classifier_.get_params()[name] for name in chosen} == chosen
    assert cli.main(["predict", "model", "task.tsv"]) == 0
    assert capsys.readouterr().out.split() == model.predict(texts).tolist()
    assert cli.main(["certify", "model", "task.tsv", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["verdict"] for row in rows] == [c.verdict for c in certify(model, texts, labels)]


# -- bad input ----------------------------------------------------------------------------------------------


def test_an_unknown_precision_is_refused(bert, words):
    with pytest.raises(ValueError, match="precision is 'fp16'; it may be 'fp32', 'bf16', or None"):
        RobustClassifier(words, classifier_of(bert, precision="fp16")).fit(["good", "bad"], [1, 0])


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_named_with_its_extra(bert, words, package, monkeypatch):
    find = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(MissingExtraError, match=rf"needs the package {package}: pip install 'roben\[transformers\]'"):
        RobustClassifier(words, classifier_of(bert)).fit(["good", "bad"], [1, 0])


def test_an_empty_folder_is_no_transformer(words, tmp_path):
    with pytest.raises((OSError, ValueError)):
        RobustClassifier(words, classifier_of(str(tmp_path))).fit(["good", "bad"], [1, 0])
