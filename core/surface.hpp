// What the attacker may type instead of a token.
#pragma once

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
