// Which words share a typo, and which words a word's typos are taken for.
#pragma once

#include "parallel.hpp"
#include "surface.hpp"
#include "words.hpp"

namespace roben {

struct TypoGraph {
    Rows reach;      // row w: the owners of w's typos, w among them
    Rows neighbors;  // row w: the other words whose ball meets that of w
};

// A typo is owned by itself if it is a word, else by the most frequent word whose ball holds it.
TypoGraph typo_graph(const Words& words, const EditOne& surface, unsigned threads, const Tick& tick);
TypoGraph typo_graph(const Words& words, const InternalPermutation& surface, unsigned threads, const Tick& tick);

}  // namespace roben
