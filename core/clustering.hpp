// Words into clusters. A cluster is named by its most frequent word: codes[w] is that word's index.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "words.hpp"

namespace roben {

struct Merge {
    Id kept, absorbed;  // most frequent words of the two clusters
};

struct Agglomeration {
    std::vector<Id> codes;
    std::vector<Merge> merges;  // in order within each connected component
};

// The connected components of the graph: owners link all words that share a typo.
std::vector<Id> connected_components(const RowsView& reach);

// From singletons, merges the adjacent pair that raises gamma·Fid + (1 − gamma)·Stab most, until none does. Equal
// gains go to the pair with the most frequent words. Weights are exact integers of sum at most 2^53, proportional
// to frequency.
Agglomeration agglomerate(const std::vector<std::int64_t>& weights, const RowsView& reach, const RowsView& neighbors,
                          double gamma, unsigned threads, const Tick& tick);

// Row w: the codes of the owners that w reaches.
Rows reachable_codes(const RowsView& reach, const std::vector<Id>& codes);

}  // namespace roben
