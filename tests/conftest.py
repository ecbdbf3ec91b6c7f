"""What all tests share: deterministic property tests, and a vocabulary that is quick to build."""

import pytest
from hypothesis import HealthCheck, settings

import roben

settings.register_profile(
    "roben", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.load_profile("roben")


@pytest.fixture(scope="session")
def english() -> roben.Vocabulary:
    """The 10,000 most frequent English words."""
    return roben.Vocabulary.english(10_000)


@pytest.fixture(scope="session")
def graph(english: roben.Vocabulary) -> roben.TypoGraph:
    """Their typo graph."""
    return roben.typo_graph(english, roben.EditOne())


@pytest.fixture(scope="session")
def encoding(graph: roben.TypoGraph) -> roben.Encoding:
    """Their agglomerative encoding."""
    return roben.Encoding(roben.agglomerate(graph, gamma=0.3))
