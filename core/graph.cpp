#include "graph.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>

namespace roben {

namespace {

// ---------------------------------------------------------------------------------------------------------
// Pairs of words → rows

using Pair = std::uint64_t;  // row in the upper half, target in the lower

Pair make_pair_of(Id row, Id target) { return (static_cast<Pair>(row) << 32) | target; }

Rows rows_from_pairs(std::size_t n, const std::vector<std::vector<Pair>>& parts, bool both_ways) {
    std::vector<std::int64_t> ends(n + 1, 0);
    const auto for_each = [&](auto&& visit) {
        for (const auto& part : parts) {
            for (const Pair pair : part) {
                const Id row = static_cast<Id>(pair >> 32), target = static_cast<Id>(pair);
                visit(row, target);
                if (both_ways) visit(target, row);
            }
        }
    };
    for_each([&](Id row, Id) { ++ends[row + 1]; });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<Id> targets(static_cast<std::size_t>(ends[n]));
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    for_each([&](Id row, Id target) { targets[static_cast<std::size_t>(next[row]++)] = target; });

    Rows rows;
    rows.offsets.resize(n + 1, 0);
    auto out = targets.begin();
    for (std::size_t i = 0; i < n; ++i) {
        const auto begin = targets.begin() + ends[i], end = targets.begin() + ends[i + 1];
        std::sort(begin, end);
        out = std::copy(begin, std::unique(begin, end), out);
        rows.offsets[i + 1] = out - targets.begin();
    }
    targets.resize(static_cast<std::size_t>(out - targets.begin()));
    targets.shrink_to_fit();
    rows.targets = std::move(targets);
    return rows;
}

// ---------------------------------------------------------------------------------------------------------
// Blocks: words that share the characters which the attacker must keep. Only they can share typos.

struct Block {
    std::vector<Id> words;               // by length, then by frequency
    std::vector<char32_t> symbols;       // of the windows of its words, and the alphabet; sorted
    unsigned bits = 1;                   // per symbol
};

std::vector<Block> make_blocks(const Words& words, const EditOne& surface) {
    std::unordered_map<std::u32string, std::size_t> index;
    std::vector<Block> blocks;
    for (std::size_t w = 0; w < words.size(); ++w) {
        const std::u32string_view word = words[w];
        if (word.size() < surface.keep_first + surface.keep_last) continue;
        std::u32string kept(word.substr(0, surface.keep_first));
        kept.append(word.substr(word.size() - surface.keep_last));
        const auto [at, is_new] = index.emplace(std::move(kept), blocks.size());
        if (is_new) blocks.emplace_back();
        blocks[at->second].words.push_back(static_cast<Id>(w));
    }
    for (Block& block : blocks) {
        std::stable_sort(block.words.begin(), block.words.end(),
                         [&](Id a, Id b) { return words[a].size() < words[b].size(); });
        std::vector<char32_t>& symbols = block.symbols;
        symbols.assign(surface.alphabet.begin(), surface.alphabet.end());
        for (const Id w : block.words) {
            const std::u32string_view word = words[w];
            symbols.insert(symbols.end(), word.begin() + static_cast<std::ptrdiff_t>(surface.keep_first),
                           word.end() - static_cast<std::ptrdiff_t>(surface.keep_last));
            if (symbols.size() > 4096) {
                std::sort(symbols.begin(), symbols.end());
                symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
            }
        }
        std::sort(symbols.begin(), symbols.end());
        symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
        while ((std::size_t{1} << block.bits) < symbols.size()) ++block.bits;
    }
    return blocks;
}

// ---------------------------------------------------------------------------------------------------------
// Keys: the window of a typo of known length in a known block, packed exactly. No two typos share a key.

template <std::size_t N>
struct Key {
    std::array<std::uint64_t, N> parts{};

    bool operator==(const Key& other) const { return parts == other.parts; }
    std::uint64_t hash() const {
        std::uint64_t h = 0;
        for (const std::uint64_t part : parts) {
            h = (h ^ part) * 0x9E3779B97F4A7C15ull;
            h ^= h >> 32;
        }
        h *= 0xD6E8FEB86659FD93ull;
        return h ^ (h >> 32);
    }
};

// Puts a symbol where there is none, or takes it away again.
template <std::size_t N>
class Packer {
public:
    explicit Packer(unsigned bits) : bits_(bits), per_part_(64 / bits) {}
    static std::size_t capacity(unsigned bits) { return N * (64 / bits); }

    void toggle(Key<N>& key, std::size_t slot, std::uint64_t symbol) const {
        if constexpr (N == 1) {
            key.parts[0] ^= symbol << (slot * bits_);
        } else {
            key.parts[slot / per_part_] ^= symbol << (slot % per_part_ * bits_);
        }
    }

private:
    unsigned bits_;
    std::size_t per_part_;
};

// ---------------------------------------------------------------------------------------------------------
// One task: all typos of one length in one block

struct Task {
    Id block = 0;
    std::size_t length = 0;
    std::size_t part = 0, parts = 1;  // a huge task is cut by hash, so that its table stays small
    std::size_t n_typos = 0;
};

// Of at most 21 bits a character, three to a part: what the widest key holds, and more than words have.
constexpr std::size_t LONGEST_WORD = 256;
static_assert(LONGEST_WORD <= 128 * 3);

constexpr std::size_t LARGEST_TABLE = std::size_t{1} << 20;

template <std::size_t N>
struct Slot {
    Key<N> key;
    Id owner = NONE;   // NONE: the slot is free
    Id others = NONE;  // head of the list of further words with this typo
};

// Open addressing, linear probing, sized so that it stays in the cache for nearly every task.
template <std::size_t N>
class Table {
public:
    void reset(std::size_t expected) {
        std::size_t size = 16;
        while (size < expected + expected / 2) size *= 2;
        slots_.assign(size, Slot<N>{});
        used_ = 0;
    }

    // The slot of the key, and whether it was made now, for this owner. Valid until the next insertion.
    std::pair<Slot<N>*, bool> find_or_insert(const Key<N>& key, std::uint64_t hash, Id owner) {
        Slot<N>* slot = find(key, hash);
        if (slot->owner != NONE) return {slot, false};
        if (used_ > slots_.size() / 8 * 7) {  // only when a cut by hash came out uneven
            grow();
            slot = find(key, hash);
        }
        slot->key = key;
        slot->owner = owner;
        ++used_;
        return {slot, true};
    }

private:
    Slot<N>* find(const Key<N>& key, std::uint64_t hash) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = static_cast<std::size_t>(hash) & mask;
        while (slots_[i].owner != NONE && !(slots_[i].key == key)) i = (i + 1) & mask;
        return &slots_[i];
    }

    void grow() {
        std::vector<Slot<N>> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot<N>& slot : old) {
            if (slot.owner != NONE) *find(slot.key, slot.key.hash()) = slot;
        }
    }

    std::vector<Slot<N>> slots_;
    std::size_t used_ = 0;
};

struct Output {
    std::vector<Pair> reach, edges;
};

class Worker {
public:
    Worker(const Words& words, const EditOne& surface, const std::vector<Block>& blocks, const Progress& progress)
        : words_(words), surface_(surface), blocks_(blocks), progress_(progress),
          seen_owner_(words.size(), NONE), seen_neighbor_(words.size(), NONE) {}

    void run(const Task& task) {
        const unsigned bits = blocks_[task.block].bits;
        const std::size_t window = task.length - surface_.keep_first - surface_.keep_last;
        if (window <= Packer<1>::capacity(bits)) return run_packed<1>(task);
        if (window <= Packer<2>::capacity(bits)) return run_packed<2>(task);
        if (window <= Packer<8>::capacity(bits)) return run_packed<8>(task);
        run_packed<128>(task);
    }

    Output output;

private:
    struct Link {
        Id word, next;
    };

    template <std::size_t N>
    void run_packed(const Task& task) {
        const Block& block = blocks_[task.block];
        const Packer<N> packer(block.bits);
        thread_local Table<N> table;
        table.reset(task.n_typos / task.parts);
        links_.clear();
        const auto is_mine = [&](std::uint64_t hash) {
            return task.parts == 1 || (hash >> 40) % task.parts == task.part;
        };

        const auto [first, last] = words_between(block, task.length - 1, task.length + 1);
        // Words own themselves, whatever is more frequent.
        for (std::size_t i = first; i < last; ++i) {
            const std::u32string_view word = words_[block.words[i]];
            if (word.size() != task.length) continue;
            read_window(block, word);
            const Key<N> key = pack(packer, 0, window_.size());
            const std::uint64_t hash = key.hash();
            if (!is_mine(hash)) continue;
            table.find_or_insert(key, hash, block.words[i]);
        }
        by_frequency_.assign(block.words.begin() + static_cast<std::ptrdiff_t>(first),
                             block.words.begin() + static_cast<std::ptrdiff_t>(last));
        std::sort(by_frequency_.begin(), by_frequency_.end());
        for (const Id w : by_frequency_) {
            if (progress_.cancelled()) return;
            const std::u32string_view word = words_[w];
            read_window(block, word);
            const auto visit = [&](const Key<N>& key, bool is_itself) {
                const std::uint64_t hash = key.hash();
                if (!is_mine(hash)) return;
                const auto [found, is_new] = table.find_or_insert(key, hash, w);
                Slot<N>& slot = *found;
                if (is_new) {
                    add_owner(w, w);
                    return;
                }
                add_owner(w, slot.owner);
                add_neighbor(w, slot.owner);
                for (Id at = slot.others; at != NONE; at = links_[at].next) add_neighbor(w, links_[at].word);
                if (is_itself) return;  // stands as the owner already
                links_.push_back({w, slot.others});
                slot.others = static_cast<Id>(links_.size() - 1);
            };
            visit_typos(packer, word.size(), task.length, visit);
        }
    }

    // The words of a block with low <= length <= high: a range of block.words.
    std::pair<std::size_t, std::size_t> words_between(const Block& block, std::size_t low, std::size_t high) const {
        const auto begin = std::partition_point(block.words.begin(), block.words.end(),
                                                [&](Id w) { return words_[w].size() < low; });
        const auto end = std::partition_point(begin, block.words.end(),
                                              [&](Id w) { return words_[w].size() <= high; });
        return {begin - block.words.begin(), end - block.words.begin()};
    }

    void read_window(const Block& block, std::u32string_view word) {
        window_.clear();
        for (std::size_t i = surface_.keep_first; i + surface_.keep_last < word.size(); ++i) {
            window_.push_back(symbol(block, word[i]));
        }
        if (alphabet_of_ != &block) {
            alphabet_.clear();
            for (const char32_t c : surface_.alphabet) alphabet_.push_back(symbol(block, c));
            alphabet_of_ = &block;
        }
    }

    static std::uint64_t symbol(const Block& block, char32_t c) {
        return static_cast<std::uint64_t>(
            std::lower_bound(block.symbols.begin(), block.symbols.end(), c) - block.symbols.begin());
    }

    template <std::size_t N>
    Key<N> pack(const Packer<N>& packer, std::size_t begin, std::size_t end) const {
        Key<N> key;
        for (std::size_t i = begin; i < end; ++i) packer.toggle(key, i - begin, window_[i]);
        return key;
    }

    // The typos of the given length of the word whose window was read: what EditOne::for_each_typo lists, packed.
    template <std::size_t N, class Visit>
    void visit_typos(const Packer<N>& packer, std::size_t word_length, std::size_t length, const Visit& visit) const {
        const std::size_t m = window_.size();
        if (length == word_length) {
            Key<N> key = pack(packer, 0, m);
            visit(key, true);
            if (!surface_.has_window(word_length)) return;
            if (surface_.substitutes) {
                for (std::size_t i = 0; i < m; ++i) {
                    packer.toggle(key, i, window_[i]);
                    for (const std::uint64_t c : alphabet_) {
                        if (c == window_[i]) continue;
                        Key<N> typo = key;
                        packer.toggle(typo, i, c);
                        visit(typo, false);
                    }
                    packer.toggle(key, i, window_[i]);
                }
            }
            if (surface_.swaps) {
                for (std::size_t i = 0; i + 1 < m; ++i) {
                    if (window_[i] == window_[i + 1]) continue;
                    Key<N> typo = key;
                    packer.toggle(typo, i, window_[i] ^ window_[i + 1]);
                    packer.toggle(typo, i + 1, window_[i] ^ window_[i + 1]);
                    visit(typo, false);
                }
            }
        } else if (!surface_.has_window(word_length)) {
            return;
        } else if (length == word_length + 1 && surface_.inserts) {
            Key<N> gapped;  // an empty slot at p
            for (std::size_t i = 0; i < m; ++i) packer.toggle(gapped, i + 1, window_[i]);
            for (std::size_t p = 0; p <= m; ++p) {
                for (const std::uint64_t c : alphabet_) {
                    if (p > 0 && window_[p - 1] == c) continue;
                    Key<N> typo = gapped;
                    packer.toggle(typo, p, c);
                    visit(typo, false);
                }
                if (p == m) break;
                packer.toggle(gapped, p + 1, window_[p]);
                packer.toggle(gapped, p, window_[p]);
            }
        } else if (length + 1 == word_length && surface_.deletes && m > 0) {
            Key<N> typo = pack(packer, 1, m);
            for (std::size_t i = 0; i < m; ++i) {
                if (i == 0 || window_[i] != window_[i - 1]) visit(typo, false);
                if (i + 1 < m) packer.toggle(typo, i, window_[i] ^ window_[i + 1]);
            }
        }
    }

    void add_owner(Id word, Id owner) {
        if (seen_owner_[owner] == word) return;
        seen_owner_[owner] = word;
        output.reach.push_back(make_pair_of(word, owner));
    }

    void add_neighbor(Id word, Id other) {
        if (other == word || seen_neighbor_[other] == word) return;
        seen_neighbor_[other] = word;
        output.edges.push_back(make_pair_of(word, other));
    }

    const Words& words_;
    const EditOne& surface_;
    const std::vector<Block>& blocks_;
    const Progress& progress_;
    std::vector<Id> seen_owner_, seen_neighbor_;  // the last word for which the pair was written
    std::vector<Link> links_;
    std::vector<Id> by_frequency_;
    std::vector<std::uint64_t> window_, alphabet_;
    const Block* alphabet_of_ = nullptr;
};

std::vector<Task> make_tasks(const Words& words, const EditOne& surface, const std::vector<Block>& blocks) {
    std::vector<Task> tasks;
    const std::size_t letters = surface.alphabet.size();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        std::unordered_map<std::size_t, std::size_t> typos_by_length;
        for (const Id w : blocks[b].words) {
            const std::size_t n = words[w].size();
            const std::size_t m = n - surface.keep_first - surface.keep_last;
            typos_by_length[n] += 1;
            if (!surface.has_window(n)) continue;
            if (surface.inserts && letters > 0) typos_by_length[n + 1] += (m + 1) * letters;
            if (surface.deletes && m > 0) typos_by_length[n - 1] += m;
            if (surface.substitutes) typos_by_length[n] += m * letters;
            if (surface.swaps) typos_by_length[n] += m;
        }
        for (const auto& [length, n_typos] : typos_by_length) {
            const std::size_t parts = n_typos / LARGEST_TABLE + 1;
            for (std::size_t part = 0; part < parts; ++part) {
                tasks.push_back({static_cast<Id>(b), length, part, parts, n_typos});
            }
        }
    }
    // The largest first, so that no thread is left alone with one at the end.
    std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
        const std::size_t x = a.n_typos / a.parts, y = b.n_typos / b.parts;
        return std::tie(y, a.block, a.length, a.part) < std::tie(x, b.block, b.length, b.part);
    });
    return tasks;
}

}  // namespace

TypoGraph typo_graph(const Words& words, const EditOne& surface, unsigned threads, const Tick& tick) {
    if (words.longest() > LONGEST_WORD) throw std::invalid_argument("a word has more than 256 characters");
    const std::vector<Block> blocks = make_blocks(words, surface);
    const std::vector<Task> tasks = make_tasks(words, surface, blocks);
    double total = 0;
    for (const Task& task : tasks) total += static_cast<double>(task.n_typos) / static_cast<double>(task.parts);

    Progress progress(total);
    std::atomic<std::size_t> next{0};
    std::vector<std::vector<Pair>> reach(threads + 1), edges(threads);
    run_workers(threads, progress, tick, [&](unsigned thread) {
        Worker worker(words, surface, blocks, progress);
        for (std::size_t i = next++; i < tasks.size() && !progress.cancelled(); i = next++) {
            worker.run(tasks[i]);
            progress.add(static_cast<double>(tasks[i].n_typos) / static_cast<double>(tasks[i].parts));
        }
        reach[thread] = std::move(worker.output.reach);
        edges[thread] = std::move(worker.output.edges);
    });
    tick(1.0);
    for (std::size_t w = 0; w < words.size(); ++w) {  // also those in no block
        reach[threads].push_back(make_pair_of(static_cast<Id>(w), static_cast<Id>(w)));
    }
    TypoGraph graph;
    graph.reach = rows_from_pairs(words.size(), reach, false);
    graph.neighbors = rows_from_pairs(words.size(), edges, true);
    return graph;
}

TypoGraph typo_graph(const Words& words, const InternalPermutation&, unsigned, const Tick& tick) {
    // Every ball is an equivalence class, so its words all reach each other.
    std::unordered_map<std::u32string, std::vector<Id>> classes;
    for (std::size_t w = 0; w < words.size(); ++w) {
        classes[InternalPermutation::normal_form(words[w])].push_back(static_cast<Id>(w));
        if (w % 4096 == 0) tick(static_cast<double>(w) / static_cast<double>(words.size()));
    }
    tick(1.0);
    std::vector<std::vector<Pair>> reach(1), edges(1);
    for (const auto& [form, members] : classes) {
        for (const Id a : members) {
            for (const Id b : members) {
                reach[0].push_back(make_pair_of(a, b));
                if (a < b) edges[0].push_back(make_pair_of(a, b));
            }
        }
    }
    TypoGraph graph;
    graph.reach = rows_from_pairs(words.size(), reach, false);
    graph.neighbors = rows_from_pairs(words.size(), edges, true);
    return graph;
}

}  // namespace roben
