#include "clustering.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace roben {

namespace {

Id find_root(std::vector<Id>& parent, Id x) {
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

// ---------------------------------------------------------------------------------------------------------
// Agglomeration of one connected component. Its words are numbered 0 … n−1 by frequency; a cluster has the number
// of its most frequent word.

class Component {
public:
    Component(const std::vector<Id>& members, const std::vector<std::int64_t>& weights, const RowsView& reach,
              const RowsView& neighbors, std::vector<Id>& local, double gamma, const Progress& progress)
        : members_(members), progress_(progress), gamma_(gamma), n_(members.size()) {
        for (std::size_t i = 0; i < n_; ++i) local[members[i]] = static_cast<Id>(i);
        clusters_.resize(n_);
        reached_by_.resize(n_);
        rows_.resize(n_);
        best_.resize(n_);
        changed_.resize(n_);
        std::iota(changed_.begin(), changed_.end(), std::uint64_t{0});
        clock_ = n_;
        alive_.assign(n_, true);
        absorbed_into_.assign(n_, NONE);
        shared_.assign(n_, 0);
        for (std::size_t i = 0; i < n_; ++i) {
            const double weight = static_cast<double>(weights[members[i]]);
            clusters_[i] = {weight, weight * weight};
        }
        group_by_reach(weights, reach, local);
        std::vector<Id> touched;
        for (std::size_t x = 0; x < n_; ++x) {
            if (progress_.cancelled()) return;
            touched.clear();
            for (const Id w : reached_by_[x]) {
                for (const Id y : reached_[w]) {
                    if (y == x) continue;
                    if (shared_[y] == 0) touched.push_back(y);
                    shared_[y] += weight_[w];
                }
            }
            const Id* neighbor = neighbors.begin(members[x]);
            const Id* const end = neighbors.end(members[x]);
            for (const Id* y = neighbor; y != end; ++y) {  // also those that no word reaches together: yet
                if (shared_[local[*y]] == 0) touched.push_back(local[*y]);
            }
            std::sort(touched.begin(), touched.end());
            rows_[x].reserve(touched.size());
            for (const Id y : touched) {
                while (neighbor != end && *neighbor < members[y]) ++neighbor;
                rows_[x].push_back({y, neighbor != end && *neighbor == members[y], shared_[y]});
                shared_[y] = 0;
            }
        }
    }

    void run(std::vector<Id>& codes, std::vector<Merge>& merges) {
        for (std::size_t x = 0; x < n_; ++x) rescan(static_cast<Id>(x));
        while (!queue_.empty()) {
            if (progress_.cancelled()) return;
            const Candidate top = queue_.top();
            queue_.pop();
            if (!alive_[top.holder] || best_[top.holder].version != top.version) continue;
            if (best_[top.holder].is_bound) {
                rescan(top.holder);
                continue;
            }
            merges.push_back({members_[top.low], members_[top.high]});
            merge(top.low, top.high);
        }
        // A cluster's number is that of its most frequent word, and absorption only goes to lower numbers.
        std::vector<Id> root(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            root[i] = alive_[i] ? static_cast<Id>(i) : root[absorbed_into_[i]];
            codes[members_[i]] = members_[root[i]];
        }
    }

private:
    struct Cluster {
        double mass = 0, square = 0;  // Σ weight and Σ weight² of its words
    };

    // What two clusters have in common. Kept for all pairs that some word reaches both of, adjacent or not: merging
    // can make them adjacent.
    struct Entry {
        Id other;
        bool is_adjacent;
        std::int64_t shared;  // Σ weight of the words that reach both
    };

    // The best merge of a cluster, among the pairs that belong to it.
    struct Best {
        double gain = 0;
        Id partner = NONE;
        std::uint32_t version = 0;
        bool is_bound = false;  // the partner has changed, and others gain no more: look again when it comes up
    };

    struct Candidate {
        double gain;
        Id low, high, holder;
        std::uint32_t version;

        bool operator<(const Candidate& other) const {  // the greatest gain on top, then the most frequent words
            if (gain != other.gain) return gain < other.gain;
            return low != other.low ? other.low < low : other.high < high;
        }
    };

    // Words that reach the same ones count as one with their weights together: in a clique, a single one is left.
    void group_by_reach(const std::vector<std::int64_t>& weights, const RowsView& reach, const std::vector<Id>& local) {
        const auto less = [&](Id a, Id b) {
            return std::lexicographical_compare(reach.begin(a), reach.end(a), reach.begin(b), reach.end(b));
        };
        std::vector<Id> order = members_;
        std::sort(order.begin(), order.end(), less);
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (i > 0 && !less(order[i - 1], order[i])) {
                weight_.back() += weights[order[i]];
                continue;
            }
            weight_.push_back(weights[order[i]]);
            reached_.emplace_back();
            for (const Id* r = reach.begin(order[i]); r != reach.end(order[i]); ++r) {
                reached_.back().push_back(local[*r]);
                reached_by_[local[*r]].push_back(static_cast<Id>(weight_.size() - 1));
            }
        }
    }

    // Φ after merging less Φ before, times the total weight. The cost of a cluster is P − S/P; the sum over two less
    // that of their union is written without a difference of close numbers, and rounds but once for small counts.
    double gain(Id x, const Entry& entry) const {
        const Cluster& a = clusters_[std::min(x, entry.other)];
        const Cluster& b = clusters_[std::max(x, entry.other)];
        const double lost = (a.square * b.mass * b.mass + b.square * a.mass * a.mass) /
                            (a.mass * b.mass * (a.mass + b.mass));
        return (1 - gamma_) * static_cast<double>(entry.shared) - gamma_ * lost;
    }

    void push(Id x) {
        const Best& best = best_[x];
        queue_.push({best.gain, std::min(x, best.partner), std::max(x, best.partner), x, best.version});
    }

    // Of equal gains the one whose pair comes first; x is on both sides, so the smaller partner.
    static bool is_better(double gain, Id partner, const Best& than) {
        return than.partner == NONE ? gain > 0 : gain > than.gain || (gain == than.gain && partner < than.partner);
    }

    // The best merge of x among its own pairs.
    void rescan(Id x) {
        Best best;
        for (const Entry& entry : rows_[x]) {
            if (entry.is_adjacent && changed_[entry.other] < changed_[x]) improve(best, gain(x, entry), entry.other);
        }
        settle(x, best);
    }

    static void improve(Best& best, double gain, Id partner) {
        if (!is_better(gain, partner, best)) return;
        best.gain = gain;
        best.partner = partner;
    }

    void settle(Id x, Best best) {
        best.version = best_[x].version + 1;
        best_[x] = best;
        if (best.partner != NONE) push(x);
    }

    static std::vector<Entry>::iterator position(std::vector<Entry>& row, Id other) {
        return std::lower_bound(row.begin(), row.end(), other,
                                [](const Entry& entry, Id id) { return entry.other < id; });
    }

    // Cluster b becomes part of a; a < b.
    void merge(Id a, Id b) {
        std::vector<Id> touched;
        for (const Id w : reached_by_[b]) {
            std::vector<Id>& reached = reached_[w];
            const auto at = std::find(reached.begin(), reached.end(), b);
            if (std::find(reached.begin(), reached.end(), a) == reached.end()) {
                *at = a;
                reached_by_[a].push_back(w);
                continue;
            }
            *at = reached.back();
            reached.pop_back();
            // w reached both: what it shares with a third cluster was counted twice.
            for (const Id d : reached) {
                if (d == a) continue;
                if (shared_[d] == 0) touched.push_back(d);
                shared_[d] += weight_[w];
            }
        }
        clusters_[a].mass += clusters_[b].mass;
        clusters_[a].square += clusters_[b].square;
        alive_[b] = false;
        absorbed_into_[b] = a;

        std::vector<Entry> merged;
        merged.reserve(rows_[a].size() + rows_[b].size());
        auto i = rows_[a].begin(), j = rows_[b].begin();
        const auto i_end = rows_[a].end(), j_end = rows_[b].end();
        while (i != i_end || j != j_end) {
            if (j == j_end || (i != i_end && i->other < j->other)) {
                if (i->other != b) merged.push_back(*i);
                ++i;
            } else if (i == i_end || j->other < i->other) {
                if (j->other != a) {
                    merged.push_back(*j);
                    move_entry(rows_[j->other], b, a);
                }
                ++j;
            } else {
                Entry both = *i;
                both.is_adjacent = both.is_adjacent || j->is_adjacent;
                both.shared += j->shared - shared_[both.other];
                merged.push_back(both);
                std::vector<Entry>& row = rows_[both.other];
                *position(row, a) = {a, both.is_adjacent, both.shared};
                row.erase(position(row, b));
                ++i, ++j;
            }
        }
        for (const Id d : touched) shared_[d] = 0;
        rows_[a] = std::move(merged);
        release(rows_[b]);
        release(reached_by_[b]);
        changed_[a] = ++clock_;
        for (const Entry& entry : rows_[a]) {
            Best& best = best_[entry.other];
            // Now a pair of a's. The entry in the queue stands, as an upper bound.
            if (best.partner == a || best.partner == b) best.is_bound = true;
        }
        rescan(a);
    }

    static void move_entry(std::vector<Entry>& row, Id from, Id to) {
        const auto source = position(row, from);
        const auto target = position(row, to);  // to < from
        Entry entry = *source;
        entry.other = to;
        std::move_backward(target, source, source + 1);
        *target = entry;
    }

    template <class T>
    static void release(std::vector<T>& items) {
        std::vector<T>().swap(items);
    }

    const std::vector<Id>& members_;
    const Progress& progress_;
    double gamma_;
    std::size_t n_;
    std::vector<Cluster> clusters_;
    std::vector<std::int64_t> weight_;         // of groups of words with one reach
    std::vector<std::vector<Id>> reached_;     // by group: the clusters that it reaches
    std::vector<std::vector<Id>> reached_by_;  // by cluster: the groups that reach it
    std::vector<std::vector<Entry>> rows_;     // by cluster, by number of the other
    // A pair belongs to the one of the two that changed last: it alone has to know what merging them gains.
    std::vector<std::uint64_t> changed_;
    std::uint64_t clock_;
    std::vector<Best> best_;
    std::vector<bool> alive_;
    std::vector<Id> absorbed_into_;
    std::vector<std::int64_t> shared_;  // scratch, all zero between uses
    std::priority_queue<Candidate> queue_;
};

}  // namespace

std::vector<Id> connected_components(const RowsView& reach) {
    std::vector<Id> parent(reach.size);
    std::iota(parent.begin(), parent.end(), Id{0});
    for (std::size_t w = 0; w < reach.size; ++w) {
        for (const Id* r = reach.begin(w); r != reach.end(w); ++r) {
            const Id a = find_root(parent, static_cast<Id>(w)), b = find_root(parent, *r);
            parent[std::max(a, b)] = std::min(a, b);  // the root is the most frequent word
        }
    }
    for (std::size_t w = 0; w < reach.size; ++w) parent[w] = find_root(parent, static_cast<Id>(w));
    return parent;
}

Agglomeration agglomerate(const std::vector<std::int64_t>& weights, const RowsView& reach, const RowsView& neighbors,
                          double gamma, unsigned threads, const Tick& tick) {
    const std::vector<Id> component_of = connected_components(reach);
    for (std::size_t w = 0; w < reach.size; ++w) {
        for (const Id* v = neighbors.begin(w); v != neighbors.end(w); ++v) {
            if (component_of[*v] != component_of[w]) {
                throw std::invalid_argument("words that share a typo must be connected by what they reach");
            }
        }
    }
    std::vector<std::vector<Id>> components;
    std::vector<Id> slot(reach.size, NONE);
    for (std::size_t w = 0; w < reach.size; ++w) {
        Id& s = slot[component_of[w]];
        if (s == NONE) {
            s = static_cast<Id>(components.size());
            components.emplace_back();
        }
        components[s].push_back(static_cast<Id>(w));
    }
    std::vector<std::size_t> order(components.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return components[a].size() > components[b].size();
    });

    Agglomeration result;
    result.codes.resize(reach.size);
    std::iota(result.codes.begin(), result.codes.end(), Id{0});
    std::vector<std::vector<Merge>> merges(components.size());
    std::vector<Id>& local = slot;  // no longer needed; every component writes its own members only
    Progress progress(static_cast<double>(reach.size));
    std::atomic<std::size_t> next{0};
    run_workers(threads, progress, tick, [&](unsigned) {
        for (std::size_t i = next++; i < order.size() && !progress.cancelled(); i = next++) {
            const std::vector<Id>& members = components[order[i]];
            if (members.size() > 1) {
                Component component(members, weights, reach, neighbors, local, gamma, progress);
                component.run(result.codes, merges[order[i]]);
            }
            progress.add(static_cast<double>(members.size()));
        }
    });
    tick(1.0);
    for (const auto& part : merges) result.merges.insert(result.merges.end(), part.begin(), part.end());
    return result;
}

Rows reachable_codes(const RowsView& reach, const std::vector<Id>& codes) {
    Rows rows;
    rows.offsets.reserve(reach.size + 1);
    rows.offsets.push_back(0);
    std::vector<Id> row;
    for (std::size_t w = 0; w < reach.size; ++w) {
        row.clear();
        for (const Id* r = reach.begin(w); r != reach.end(w); ++r) row.push_back(codes[*r]);
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        rows.targets.insert(rows.targets.end(), row.begin(), row.end());
        rows.offsets.push_back(static_cast<std::int64_t>(rows.targets.size()));
    }
    return rows;
}

}  // namespace roben
