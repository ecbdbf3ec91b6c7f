// What the attacker may type instead of a token.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roben {

// One edit strictly inside a token: its first `keep_first` and last `keep_last` characters stay.
// A token of one character has only itself.
class EditOne {
public:
    std::size_t keep_first = 1;
    std::size_t keep_last = 1;
    std::u32string alphabet;  // sorted, no repeats
    bool inserts = true, deletes = true, substitutes = true, swaps = true;

    bool in_alphabet(char32_t c) const;

    // Is there room for any edit at all?
    bool has_window(std::size_t length) const { return length >= 2 && length >= keep_first + keep_last; }

    // |B(token)|, and whether that is 1
    std::uint64_t count(std::u32string_view token) const;
    bool is_fixed(std::u32string_view token) const;

    // May a typo of a token of this length be fixed, though the token is not? False only where it cannot.
    bool typos_can_be_fixed(std::size_t length) const;

    // typo ∈ B(token)
    bool allows(std::u32string_view token, std::u32string_view typo) const;

    // Every member of B(token) once: the token itself, then deletions, swaps, substitutions and insertions.
    // visit(typo) returns false to stop.
    template <class Visit>
    void for_each_typo(std::u32string_view token, Visit&& visit) const;

    // Hashes such that typo ∈ B(word) implies a common hash: the string itself and its interior deletions.
    void keys(std::u32string_view token, std::vector<std::uint64_t>& out) const;

    // Visits the typos of which a key passes, and says whether there are others. It is for_each_typo and keys in one: the
    // keys of substitutions and insertions differ in one term only, so that each takes one addition.
    template <class Passes, class Visit>
    bool for_each_passing(std::u32string_view token, Passes&& passes, Visit&& visit) const;

    // A token that is longer than a word by more than this shares no typo with it.
    static constexpr std::size_t reach_in_length = 2;
};

// Any order of the characters between the first and the last: a ball is an equivalence class.
class InternalPermutation {
public:
    static std::u32string normal_form(std::u32string_view token);
    bool is_fixed(std::u32string_view token) const;
    bool allows(std::u32string_view token, std::u32string_view typo) const;
    void keys(std::u32string_view token, std::vector<std::uint64_t>& out) const;
};

// The polynomial hash under the keys: Σ (s[i] + 1)·BASE^i. Equal hashes only make candidates: `allows` decides.
constexpr std::uint64_t BASE = 0x9E3779B97F4A7C15ull;

inline std::uint64_t mix(std::uint64_t h) {
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ull;
    h ^= h >> 32;
    return h;
}

// Sums over the parts of a token, with its characters where they are or moved by one.
class TokenSums {
public:
    explicit TokenSums(std::u32string_view token) {
        power.assign(1, 1);
        in_place.assign(1, 0);
        moved_up.assign(1, 0);
        moved_down.assign(1, 0);
        for (std::size_t i = 0; i < token.size(); ++i) {
            const std::uint64_t c = static_cast<std::uint64_t>(token[i]) + 1;
            moved_down.push_back(i == 0 ? 0 : moved_down[i] + c * power[i - 1]);  // the first has nowhere to go
            in_place.push_back(in_place[i] + c * power[i]);
            power.push_back(power[i] * BASE);
            moved_up.push_back(moved_up[i] + c * power[i + 1]);
        }
    }

    std::size_t size() const { return in_place.size() - 1; }
    std::uint64_t whole() const { return in_place.back(); }
    std::uint64_t without(std::size_t i) const { return in_place[i] + moved_down.back() - moved_down[i + 1]; }

    // Of the characters before place i.
    std::vector<std::uint64_t> power, in_place, moved_up, moved_down;
};

template <class Passes, class Visit>
bool EditOne::for_each_passing(std::u32string_view token, Passes&& passes, Visit&& visit) const {
    bool has_others = false;
    EditOne few = *this;  // the token itself, deletions and swaps: there are few
    few.inserts = few.substitutes = false;
    std::vector<std::uint64_t> found;
    few.for_each_typo(token, [&](std::u32string_view typo) {
        found.clear();
        keys(typo, found);
        if (std::any_of(found.begin(), found.end(), passes)) {
            visit(typo);
        } else {
            has_others = true;
        }
        return true;
    });
    if (!has_window(token.size())) return has_others;

    const TokenSums x(token);
    const std::size_t first = keep_first, last = token.size() - keep_last;
    std::u32string typo;
    // Of the deletions of a typo with letter c at place p: those before p, where c moves down, and after p, where it stays.
    std::vector<std::uint64_t> before, after;
    const auto try_letters = [&](std::size_t p, bool always, char32_t skipped) {
        for (const char32_t c : alphabet) {
            if (c == skipped) continue;
            const std::uint64_t stays = (static_cast<std::uint64_t>(c) + 1) * x.power[p];
            bool is_near = always;
            for (std::size_t k = 0; !is_near && k < after.size(); ++k) is_near = passes(mix(after[k] + stays));
            if (!is_near && !before.empty()) {
                const std::uint64_t moves = (static_cast<std::uint64_t>(c) + 1) * x.power[p - 1];
                for (std::size_t k = 0; !is_near && k < before.size(); ++k) is_near = passes(mix(before[k] + moves));
            }
            if (is_near) {
                typo[p] = c;
                visit(std::u32string_view(typo));
            } else {
                has_others = true;
            }
        }
    };
    if (substitutes) {
        for (std::size_t p = first; p < last; ++p) {
            const std::uint64_t c = static_cast<std::uint64_t>(token[p]) + 1;
            before.clear();
            after.assign(1, x.whole() - c * x.power[p]);  // not a deletion, but the typo itself
            for (std::size_t i = first; i < p; ++i) before.push_back(x.without(i) - c * x.power[p - 1]);
            for (std::size_t i = p + 1; i < last; ++i) after.push_back(x.without(i) - c * x.power[p]);
            typo.assign(token);
            try_letters(p, passes(mix(x.without(p))), token[p]);
        }
    }
    if (inserts) {
        for (std::size_t p = first; p <= last; ++p) {
            before.clear();
            const std::uint64_t tail = x.moved_up.back() - x.moved_up[p];
            after.assign(1, x.in_place[p] + tail);
            for (std::size_t i = first; i < p; ++i) {
                before.push_back(x.in_place[i] + x.moved_down[p] - x.moved_down[i + 1] + x.whole() - x.in_place[p]);
            }
            for (std::size_t i = p; i < last; ++i) {
                after.push_back(x.in_place[p] + x.moved_up[i] - x.moved_up[p] + x.whole() - x.in_place[i + 1]);
            }
            typo.assign(token.substr(0, p));
            typo.push_back(0);
            typo.append(token.substr(p));
            try_letters(p, passes(mix(x.whole())), p > first ? token[p - 1] : 0);
        }
    }
    return has_others;
}

template <class Visit>
void EditOne::for_each_typo(std::u32string_view token, Visit&& visit) const {
    if (!visit(token)) return;
    const std::size_t n = token.size();
    if (!has_window(n)) return;
    const std::size_t first = keep_first, last = n - keep_last;  // the window is [first, last)
    std::u32string typo;
    if (deletes) {
        for (std::size_t i = first; i < last; ++i) {
            if (i > first && token[i] == token[i - 1]) continue;
            typo.assign(token.substr(0, i));
            typo.append(token.substr(i + 1));
            if (!visit(std::u32string_view(typo))) return;
        }
    }
    if (swaps) {
        typo.assign(token);
        for (std::size_t i = first; i + 1 < last; ++i) {
            if (token[i] == token[i + 1]) continue;
            std::swap(typo[i], typo[i + 1]);
            if (!visit(std::u32string_view(typo))) return;
            std::swap(typo[i], typo[i + 1]);
        }
    }
    if (substitutes) {
        typo.assign(token);
        for (std::size_t i = first; i < last; ++i) {
            for (const char32_t c : alphabet) {
                if (c == token[i]) continue;
                typo[i] = c;
                if (!visit(std::u32string_view(typo))) return;
            }
            typo[i] = token[i];
        }
    }
    if (inserts) {
        for (std::size_t p = first; p <= last; ++p) {
            typo.assign(token.substr(0, p));
            typo.push_back(0);
            typo.append(token.substr(p));
            for (const char32_t c : alphabet) {
                if (p > first && token[p - 1] == c) continue;  // the same as an insertion one place earlier
                typo[p] = c;
                if (!visit(std::u32string_view(typo))) return;
            }
        }
    }
}

}  // namespace roben
