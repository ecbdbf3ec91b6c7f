"""Clusters: against a dense and slow Algorithm 1 in exact arithmetic, and the laws of stability and fidelity."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from roben import (
    Clustering,
    EditOne,
    InternalPermutation,
    Surface,
    Vocabulary,
    _core,
    _reference,
    agglomerate,
    connected_components,
    typo_graph,
)

GAMMAS = [Fraction(g) for g in ("0", "1/10", "1/4", "3/10", "1/2", "3/4", "9/10", "1")]


# -- oracle: section 2 of the design, word for word ---------------------------------------------------------


class Definition:
    """Words by rank, with exact frequencies; a cluster is a frozenset of ranks."""

    def __init__(self, vocab, surface):
        counts = [int(count) for count in vocab.counts]
        self.rho = [Fraction(count, sum(counts)) for count in counts]
        self.words = range(len(counts))
        balls = [surface.typos(word) for word in vocab.words]
        word_of = {}  # the word that a typo is taken for
        for rank, ball in enumerate(balls):
            for typo in ball:
                word_of.setdefault(typo, rank)
        word_of.update({word: rank for rank, word in enumerate(vocab.words)})
        self.reach = [{word_of[typo] for typo in ball} for ball in balls]
        self.edges = {(i, j) for i in self.words for j in self.words if i != j and balls[i] & balls[j]}

    def reachable(self, clusters):
        """B_π of every word."""
        code = {word: min(cluster) for cluster in clusters for word in cluster}
        return [{code[word] for word in row} for row in self.reach]

    def stability(self, clusters):
        return -sum(rho * len(codes) for rho, codes in zip(self.rho, self.reachable(clusters), strict=True))

    def fidelity(self, clusters):
        def indicator(word):
            return [Fraction(int(i == word)) for i in self.words]

        fidelity = Fraction(0)
        for cluster in clusters:
            mass = sum(self.rho[i] for i in cluster)
            columns = zip(*([self.rho[i] / mass * x for x in indicator(i)] for i in cluster), strict=True)
            mean = list(map(sum, columns))
            for i in cluster:
                fidelity -= self.rho[i] * sum((x - m) ** 2 for x, m in zip(indicator(i), mean, strict=True))
        return fidelity

    def objective(self, clusters, gamma):
        return gamma * self.fidelity(clusters) + (1 - gamma) * self.stability(clusters)

    def singletons(self):
        return {frozenset([word]) for word in self.words}

    def components(self):
        clusters = self.singletons()
        for i, j in self.edges:
            a, b = (next(cluster for cluster in clusters if word in cluster) for word in (i, j))
            clusters = clusters - {a, b} | {a | b}
        return clusters

    def greedy(self, gamma):
        """Algorithm 1: the merges, as pairs of the most frequent words of two clusters."""
        clusters, merges = self.singletons(), []
        while True:
            now = self.objective(clusters, gamma)
            candidates = []
            for a, b in itertools.combinations(sorted(clusters, key=min), 2):
                if any((i, j) in self.edges for i in a for j in b):
                    gain = self.objective(clusters - {a, b} | {a | b}, gamma) - now
                    candidates.append((-gain, (min(a), min(b)), a, b))
            candidates.sort(key=lambda candidate: candidate[:2])
            if 0 < gamma < 1:
                self._reject_what_rounding_decides(candidates)
            if not candidates or candidates[0][0] >= 0:
                return merges
            _, pair, a, b = candidates[0]
            merges.append(pair)
            clusters = clusters - {a, b} | {a | b}

    def _reject_what_rounding_decides(self, candidates):
        """Kernels add in floating point. Where that might turn a tie, the example says nothing.

        Merges of clusters with the same masses gain the same in floating point too: such ties are not rejected.
        """
        if not candidates:
            return
        best, _, *clusters = candidates[0]
        if abs(best) < 1e-9:
            reject()
        for loss, _, *others in candidates[1:]:
            if loss - best < 1e-9 and self._masses(clusters) != self._masses(others):
                reject()

    def _masses(self, clusters):
        return sorted(sorted(self.rho[i] for i in cluster) for cluster in clusters)

    def in_order_of_components(self, merges):
        """By the most frequent word of the component, else as they were."""
        component = {word: min(cluster) for cluster in self.components() for word in cluster}
        return sorted(merges, key=lambda merge: component[merge[0]])


def after(merges, n):
    """The code of each of n words."""
    codes = list(range(n))
    for kept, absorbed in merges:
        codes = [kept if code == absorbed else code for code in codes]
    return codes


def clusters_of(codes):
    return {frozenset(i for i, code in enumerate(codes) if code == own) for own in set(codes)}


def run(kernel, graph, gamma, threads=1, tick=None):
    """What a kernel makes of a graph: the codes, and the merges in order."""
    reach, adjacency = graph.reach, graph.adjacency
    codes, kept, absorbed = kernel.agglomerate(
        graph.vocabulary.weights,
        reach.offsets,
        reach.targets,
        adjacency.offsets,
        adjacency.targets,
        float(gamma),
        threads,
        tick,
    )
    return codes.tolist(), list(zip(kept.tolist(), absorbed.tolist(), strict=True))


# -- strategies ---------------------------------------------------------------------------------------------


@st.composite
def vocabularies(draw, longest=4, most=8):
    """Words with the same first and last character and few between, so that many balls meet; often equal counts."""
    insides = draw(st.lists(st.text("abc", max_size=longest), unique=True, min_size=1, max_size=most))
    highest = draw(st.sampled_from([1, 2, 5, 50, 1000]))
    return Vocabulary.from_counts({f"x{inside}y": draw(st.integers(1, highest)) for inside in insides})


SURFACES = st.one_of(
    st.builds(
        EditOne,
        alphabet=st.sampled_from(["", "a", "ab", "abc"]),
        edits=st.lists(st.sampled_from(["insert", "delete", "substitute", "swap"]), unique=True),
        keep_last=st.integers(0, 2),
    ),
    st.just(InternalPermutation()),
)


# -- Algorithm 1 --------------------------------------------------------------------------------------------


@settings(max_examples=400)
@given(vocabularies(), SURFACES, st.sampled_from(GAMMAS))
def test_merges_are_those_of_the_papers_algorithm(vocab, surface, gamma):
    definition = Definition(vocab, surface)
    merges = definition.greedy(gamma)
    for kernel in (_core, _reference):
        codes, merged = run(kernel, typo_graph(vocab, surface), gamma)
        assert codes == after(merges, len(vocab))
        assert merged == definition.in_order_of_components(merges)


@settings(max_examples=200)
@given(vocabularies(), SURFACES, st.sampled_from(GAMMAS))
def test_no_merge_lowers_the_objective(vocab, surface, gamma):
    definition = Definition(vocab, surface)
    _, merges = run(_core, typo_graph(vocab, surface), gamma)
    steps = [clusters_of(after(merges[:n], len(vocab))) for n in range(len(merges) + 1)]
    objectives = [definition.objective(clusters, gamma) for clusters in steps]
    assert objectives == sorted(objectives)


@settings(max_examples=200)
@given(vocabularies(), SURFACES, st.sampled_from(GAMMAS))
def test_every_merge_joins_adjacent_clusters_of_which_the_more_frequent_is_kept(vocab, surface, gamma):
    definition = Definition(vocab, surface)
    _, merges = run(_core, typo_graph(vocab, surface), gamma)
    for n, (kept, absorbed) in enumerate(merges):
        codes = after(merges[:n], len(vocab))
        assert kept < absorbed
        assert codes[kept] == kept
        assert codes[absorbed] == absorbed
        assert any((codes[i], codes[j]) == (kept, absorbed) for i, j in definition.edges)


def test_of_equal_gains_that_of_the_most_frequent_words_comes_first():
    # Any two of the four share typos, and all have the same count: only the alphabet ranks them.
    vocab = Vocabulary.from_counts(dict.fromkeys(["xay", "xby", "xcy", "xdy"], 1))
    for kernel in (_core, _reference):
        for gamma in (0, 0.3, 0.5):
            assert run(kernel, typo_graph(vocab, EditOne()), gamma)[1] == [(0, 1), (0, 2), (0, 3)]


def test_a_merge_that_gains_nothing_is_not_made():
    # Only "aunt" reaches both: the merge is worth (1 − γ)·2 in stability and costs γ·2 in fidelity.
    graph = typo_graph(Vocabulary.from_counts({"at": 2, "aunt": 2}), EditOne())
    for kernel in (_core, _reference):
        assert run(kernel, graph, 0.5)[1] == []
        assert run(kernel, graph, 0.499)[1] == [(0, 1)]


@pytest.mark.parametrize("gamma", [0, 0.3, 0.5, 0.9, 1])
def test_the_kernels_agree_on_english(english, gamma):
    graph = typo_graph(Vocabulary(english.words[:3_000], english.counts[:3_000]), EditOne())
    codes, merges = run(_core, graph, gamma)
    assert (codes, merges) == run(_reference, graph, gamma)
    assert codes == after(merges, len(codes))
    assert bool(merges) == (gamma < 1)


@pytest.mark.parametrize("gamma", [0, 0.3, 0.9])
def test_the_number_of_threads_makes_no_difference(graph, gamma):
    assert (
        run(_core, graph, gamma, threads=1)
        == run(_core, graph, gamma, threads=2)
        == run(_core, graph, gamma, threads=3)
    )
    assert agglomerate(graph, gamma, threads=1) == agglomerate(graph, gamma, threads=2) == agglomerate(graph, gamma)


def test_gamma_1_leaves_every_word_alone(graph):
    clusters = agglomerate(graph, gamma=1)
    assert clusters.representatives == graph.vocabulary.words
    assert clusters.n_clusters == len(graph.vocabulary)
    assert clusters.fidelity == 0
    assert clusters.reachable == graph.reach


@pytest.mark.parametrize("gamma", [0, 0.1, 0.3, 0.5, 0.9])
def test_clusters_are_worth_at_least_what_words_alone_are(graph, gamma):
    assert agglomerate(graph, gamma).objective() >= agglomerate(graph, 1).objective(gamma)


def test_gamma_has_a_default(graph):
    assert agglomerate(graph) == agglomerate(graph, 0.3) == agglomerate(graph, np.float64(0.3))
    assert agglomerate(graph).gamma == 0.3


@pytest.mark.parametrize("gamma", [-0.1, 1.1, math.nan, math.inf, "x", True, None])
def test_a_bad_gamma_is_named(graph, gamma):
    with pytest.raises(ValueError, match=f"gamma is {gamma!r}; it must be a number from 0"):
        agglomerate(graph, gamma)
    if gamma is not None:
        with pytest.raises(ValueError, match=f"gamma is {gamma!r}"):
            connected_components(graph).objective(gamma)


@pytest.mark.parametrize("threads", [0, True, 1.5])
def test_a_bad_number_of_threads_is_named(graph, threads):
    with pytest.raises(ValueError, match=f"threads is {threads!r}"):
        agglomerate(graph, threads=threads)


# -- connected components -----------------------------------------------------------------------------------


@given(vocabularies(longest=6), SURFACES)
def test_components_are_those_of_the_graph(vocab, surface):
    clusters = connected_components(typo_graph(vocab, surface))
    assert clusters_of(clusters.codes.tolist()) == Definition(vocab, surface).components()


@given(vocabularies(longest=6), SURFACES)
def test_components_are_what_gamma_0_gives(vocab, surface):
    graph = typo_graph(vocab, surface)
    assert connected_components(graph) == agglomerate(graph, 0)


def test_components_are_what_gamma_0_gives_for_english(graph):
    assert connected_components(graph) == agglomerate(graph, gamma=0)


@pytest.mark.parametrize("surface", [EditOne(), EditOne(keep_first=0), InternalPermutation()], ids=repr)
def test_no_typo_leaves_its_component(english, surface):
    clusters = connected_components(typo_graph(english, surface))
    assert set(clusters.reachable.sizes.tolist()) == {1}
    assert clusters.reachable.targets.tolist() == clusters.codes.tolist()
    assert clusters.stability == -1


def test_components_have_gamma_0(graph):
    clusters = connected_components(graph)
    assert clusters.gamma == 0
    assert clusters.objective() == clusters.stability == -1


# -- stability and fidelity ---------------------------------------------------------------------------------


@settings(max_examples=200)
@given(vocabularies(), SURFACES, st.sampled_from(GAMMAS), st.sampled_from(GAMMAS))
def test_stability_fidelity_and_objective_are_those_of_the_definition(vocab, surface, gamma, other):
    definition = Definition(vocab, surface)
    clustering = agglomerate(typo_graph(vocab, surface), float(gamma))
    clusters = clusters_of(clustering.codes.tolist())
    assert [set(row.tolist()) for row in map(clustering.reachable.__getitem__, range(len(vocab)))] == (
        definition.reachable(clusters)
    )
    assert clustering.stability == pytest.approx(float(definition.stability(clusters)), rel=1e-12)
    assert clustering.fidelity == pytest.approx(float(definition.fidelity(clusters)), rel=1e-12, abs=1e-15)
    for g in (gamma, other):
        expected = pytest.approx(float(definition.objective(clusters, g)), rel=1e-12, abs=1e-15)
        assert clustering.objective(float(g)) == expected
    assert clustering.objective() == clustering.objective(float(gamma))


@given(vocabularies(), SURFACES, st.sampled_from(GAMMAS))
def test_stability_is_at_most_minus_1_and_fidelity_at_most_0(vocab, surface, gamma):
    clusters = agglomerate(typo_graph(vocab, surface), float(gamma))
    assert clusters.stability <= -1
    assert -1 < clusters.fidelity <= 0


def test_a_worked_example():
    # "at" reaches the code of "abet" and of "aunt" through "aet" and "aut"; all three become one for gamma = 0.
    graph = typo_graph(Vocabulary.from_counts({"abet": 2, "aunt": 1, "at": 1}), EditOne())
    assert graph.vocabulary.words == ("abet", "at", "aunt")
    alone, together = agglomerate(graph, 1), agglomerate(graph, 0)
    assert alone.stability == -(2 * 1 + 1 * 2 + 1 * 3) / 4
    assert alone.fidelity == 0
    assert together.representatives == ("abet", "abet", "abet")
    assert together.stability == -1
    assert together.fidelity == pytest.approx(-(1 - 6 / 16))  # one cluster: mass 1, squares (4 + 1 + 1) / 16


# -- clusters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, 0.3, 0.9, 1])
def test_the_code_of_a_cluster_is_its_most_frequent_word(graph, gamma):
    clusters, ranks = agglomerate(graph, gamma), graph.vocabulary.ranks
    members = {}
    for word, code in zip(graph.vocabulary.words, clusters.representatives, strict=True):
        members.setdefault(code, []).append(word)
    assert all(code == min(words, key=ranks.__getitem__) for code, words in members.items())
    assert clusters.n_clusters == len(members)
    for word, code in zip(graph.vocabulary.words[::97], clusters.representatives[::97], strict=True):
        assert clusters.members(word) == clusters.members(code) == tuple(members[code])


@pytest.mark.parametrize("gamma", [0, 0.3])
def test_clusters_are_connected(graph, gamma):
    clusters = agglomerate(graph, gamma)
    components = connected_components(graph)
    for word in graph.vocabulary.words[:1_000]:
        members = set(clusters.members(word))
        assert members <= set(components.members(word))
        seen, todo = {word}, [word]
        while todo:
            new = (graph.neighbors(todo.pop()) & members) - seen
            seen |= new
            todo += new
        assert seen == members


def test_reachable_codes_are_the_codes_of_the_words_that_are_reached(graph):
    clusters = agglomerate(graph)
    for i in range(0, len(graph.vocabulary), 13):
        assert clusters.reachable[i].tolist() == sorted({int(clusters.codes[j]) for j in graph.reach[i]})


def test_a_word_that_is_not_there_has_no_cluster(graph):
    with pytest.raises(KeyError, match="xyzzy"):
        agglomerate(graph).members("xyzzy")


@pytest.mark.parametrize("surface", [EditOne(), InternalPermutation()], ids=["edit", "permutation"])
def test_an_empty_vocabulary_has_no_clusters(surface):
    graph = typo_graph(Vocabulary.from_counts({}), surface)
    for clusters in (connected_components(graph), agglomerate(graph), agglomerate(graph, 1, threads=2)):
        assert clusters.n_clusters == 0
        assert clusters.representatives == ()
        assert clusters.stability == clusters.fidelity == clusters.objective() == 0
        assert len(clusters.reachable) == 0


def test_one_word_is_one_cluster():
    clusters = agglomerate(typo_graph(Vocabulary.from_counts({"the": 3}), EditOne()))
    assert clusters.representatives == clusters.members("the") == ("the",)
    assert (clusters.stability, clusters.fidelity) == (-1, 0)


# -- progress -----------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def stop(share):
    raise Stop(share)


@pytest.fixture(scope="module")
def slow():
    """One component of 700 words that all share typos: long enough for the compiled kernel to report."""
    letters = "".join(chr(0x4E00 + i) for i in range(700))
    vocab = Vocabulary.from_counts({f"x{letter}y": 1 + i % 7 for i, letter in enumerate(letters)})
    return typo_graph(vocab, EditOne(alphabet=letters, edits=("substitute",)))


def test_an_exception_in_progress_stops_the_merging_and_reaches_the_caller(slow):
    for threads in (1, 2):
        with pytest.raises(Stop):
            agglomerate(slow, threads=threads, progress=stop)


def test_progress_rises_in_the_plain_kernel(graph):
    shares = []
    run(_reference, graph, 0.9, tick=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    with pytest.raises(Stop):
        run(_reference, graph, 0.9, tick=stop)


def test_progress_does_not_change_the_clusters(graph, slow):
    shares = []
    assert agglomerate(graph, progress=shares.append) == agglomerate(graph)
    assert agglomerate(slow, progress=shares.append) == agglomerate(slow)
    assert all(0 <= share <= 1 for share in shares)


# -- surfaces that users write ------------------------------------------------------------------------------


class Keyboard(Surface):
    """Any letter may become a neighbor of it on the keyboard."""

    ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

    def typos(self, token):
        beside = {c: row[max(0, i - 1) : i + 2] for row in self.ROWS for i, c in enumerate(row)}
        return frozenset(
            token[:i] + other + token[i + 1 :] for i, letter in enumerate(token) for other in beside.get(letter, letter)
        )


@settings(max_examples=100)
@given(
    st.dictionaries(st.text("qwer", min_size=2, max_size=3), st.integers(1, 50), min_size=1, max_size=8),
    st.sampled_from(GAMMAS),
)
def test_a_surface_of_a_users_own_is_clustered_like_any_other(counts, gamma):
    vocab = Vocabulary.from_counts(counts)
    definition = Definition(vocab, Keyboard())
    graph = typo_graph(vocab, Keyboard())
    codes = after(definition.greedy(gamma), len(vocab))
    assert agglomerate(graph, float(gamma)).codes.tolist() == codes
    assert clusters_of(connected_components(graph).codes.tolist()) == definition.components()


def test_a_surface_of_a_users_own_goes_through_all_stages(english):
    graph = typo_graph(Vocabulary(english.words[:500], english.counts[:500]), Keyboard())
    assert connected_components(graph) == agglomerate(graph, 0)
    assert connected_components(graph).stability == -1
    clusters = agglomerate(graph, 0.3)
    assert connected_components(graph).n_clusters <= clusters.n_clusters < 500
    assert clusters.surface is graph.surface


# -- values -------------------------------------------------------------------------------------------------


def test_clusterings_are_equal_if_they_put_the_same_words_together(graph):
    clusters = agglomerate(graph, 0.3)
    assert clusters == agglomerate(graph, 0.3)
    assert hash(clusters) == hash(agglomerate(graph, 0.3))
    assert clusters != agglomerate(graph, 0.31)
    assert clusters != agglomerate(graph, 0)
    assert clusters != agglomerate(typo_graph(graph.vocabulary, EditOne(alphabet="abc")), 0.3)
    assert clusters != "clusters"
    the, she = Vocabulary.from_counts({"the": 1}), Vocabulary.from_counts({"she": 1})
    assert agglomerate(typo_graph(the, EditOne())) != agglomerate(typo_graph(she, EditOne()))
    assert agglomerate(typo_graph(the, EditOne())) != agglomerate(typo_graph(the, InternalPermutation()))


def test_copies_of_a_clustering_are_equal_to_it(graph):
    clusters = agglomerate(graph)
    assert clusters.members("movie")  # what it has worked out since is no part of its value
    for same in (pickle.loads(pickle.dumps(clusters)), copy.deepcopy(clusters), copy.copy(clusters)):
        assert isinstance(same, Clustering)
        assert same == clusters
        assert hash(same) == hash(clusters)
        assert same.representatives == clusters.representatives
        assert (same.stability, same.fidelity) == (clusters.stability, clusters.fidelity)


def test_a_clustering_cannot_be_changed(graph):
    clusters = agglomerate(graph)
    with pytest.raises(AttributeError):
        clusters.gamma = 0.5
    with pytest.raises(ValueError, match="read-only"):
        clusters.reachable.targets[0] = 1


def test_repr_says_how_many_clusters_there_are(graph):
    clusters = agglomerate(graph, 0.3)
    assert repr(clusters) == f"Clustering(10,000 words in {clusters.n_clusters:,} clusters, gamma=0.3)"


def test_clusters_stay_adjacent_through_words_that_nothing_reaches_together():
    # Word ranks: xcx, xbbx, xcadx, xax, xbadx, xbdcx, xx. "xax" and "xbbx" share a typo, but no word reaches both;
    # a later merge gives their clusters a word that does.
    counts = {"xcx": 3, "xcadx": 2, "xbbx": 2, "xx": 1, "xax": 1, "xbadx": 1, "xbdcx": 1}
    graph = typo_graph(Vocabulary.from_counts(counts), EditOne())
    arrays = (graph.reach.offsets, graph.reach.targets, graph.adjacency.offsets, graph.adjacency.targets)
    for kernel in (_reference, _core):
        codes, kept, absorbed = kernel.agglomerate(graph.vocabulary.weights, *arrays, 0.7)
        assert list(zip(kept.tolist(), absorbed.tolist(), strict=True)) == [(3, 6), (0, 3), (0, 4), (0, 1)]
        assert codes.tolist() == [0, 0, 2, 0, 0, 5, 0]


def test_stability_of_words_that_reach_thousands_of_codes():
    letters = "".join(chr(0x4E00 + i) for i in range(2200))
    vocab = Vocabulary.from_counts({f"x{letter}y": 1.5 + i % 7 for i, letter in enumerate(letters)})
    graph = typo_graph(vocab, EditOne(alphabet=letters, edits=("substitute",)))
    assert agglomerate(graph, 1).stability == -2200


def test_codes_cannot_be_changed(graph):
    for clusters in (agglomerate(graph), connected_components(graph)):
        with pytest.raises(ValueError, match="read-only"):
            clusters.codes[0] = 1


def test_members_of_what_is_no_word_says_so_as_neighbors_does(graph):
    with pytest.raises(KeyError, match="'xyzzy' is not in the vocabulary of 10,000 words"):
        agglomerate(graph).members("xyzzy")
