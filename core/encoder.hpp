// Tokens and texts to codes, and the codes that the attacker can reach.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "surface.hpp"
#include "text.hpp"
#include "words.hpp"

namespace roben {

using Surface = std::variant<EditOne, InternalPermutation>;

// A code is a word's index, or one of two more.
constexpr Id UNKNOWN = NONE;     // no word has the token as a typo
constexpr Id ITSELF = NONE - 1;  // nor has it, but the attacker cannot change the token: it stays

class Encoder {
public:
    // codes[w] < n is the code of word w; reachable, its B_π. All are checked by the caller.
    Encoder(Words words, std::vector<Id> codes, Rows reachable, Surface surface, Split split, std::string unknown,
            const CharClasses& classes);

    // The word that a token is, or is a typo of; NONE for neither.
    Id word(std::string_view token) const;
    Id code(std::string_view token) const;
    // What the attacker can make of the token: codes, ascending, ITSELF meaning each typo's own form (it then stands
    // for the strings in `own`).
    struct Reach {
        std::vector<Id> codes;
        std::vector<std::string> own;
    };
    Reach reachable(std::string_view token) const;
    // A typo of the token that has the code, into `typo`: the shortest, and of these the first in the alphabet; of a
    // class, the most frequent word. False if there is none.
    bool typo_with(std::string_view token, std::string_view code, std::string& typo) const;
    const Surface& surface() const { return surface_; }

    // The codes of a lower-case text's tokens, joined by blanks, are appended to out.
    void encode(std::string_view text, std::string& out) const;

    std::string_view spelling(Id code) const;  // of a word or UNKNOWN

private:
    Id find_word(std::string_view token) const;
    Id find_owner(std::u32string_view token) const;
    std::string_view coded(std::string_view token) const;
    bool passes_filter(std::uint64_t key) const;
    bool is_fixed(std::u32string_view token) const;
    template <class Visit>
    void for_each_classmate(const InternalPermutation& surface, std::u32string_view token, Visit&& visit) const;
    void build_table();
    void build_index();

    Words words_;
    std::vector<Id> codes_;
    Rows reachable_;
    Surface surface_;
    Split split_;
    std::string unknown_;
    const CharClasses* classes_;

    // Spellings in UTF-8, one after the other.
    std::string bytes_;
    std::vector<std::uint32_t> byte_ends_;

    // Spelling → word: open addressing.
    struct Slot {
        std::uint32_t tag = 0;
        Id word = NONE;
    };
    std::vector<Slot> table_;

    // Key hash → words that have it, in order of frequency: buckets by the hash's upper bits, told apart by others.
    struct Posting {
        std::uint32_t tag;
        Id word;
    };
    std::vector<std::uint32_t> buckets_;
    std::vector<Posting> postings_;
    unsigned bucket_shift_ = 0;
    // Three bits for every key: most keys of most tokens are of no word, and are seen off here.
    std::vector<std::uint64_t> filter_;
};

}  // namespace roben
