// Text as UTF-8 bytes (lone surrogates are let through, three bytes each), and how it falls into tokens.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roben {

char32_t decode_one(const char*& at, const char* end);
void decode(std::string_view bytes, std::u32string& out);
void append_utf8(std::string& out, char32_t c);

enum class CharClass : std::uint8_t { mark, word, apostrophe, space };

// Classes of all code points. ASCII is built in; above it spaces are, and the word characters are told once, as
// sorted ranges [first, last], by whoever knows the Unicode database.
class CharClasses {
public:
    CharClasses();
    void set_word_ranges(std::vector<std::pair<char32_t, char32_t>> ranges) { ranges_ = std::move(ranges); }

    CharClass of_ascii(char c) const { return ascii_[static_cast<unsigned char>(c)]; }
    CharClass of(char32_t c) const;

private:
    std::array<CharClass, 256> ascii_{};
    std::vector<std::pair<char32_t, char32_t>> ranges_;
};

bool is_space(char32_t c);  // what Python's str.split() splits at

enum class Split {
    spaces,        // runs without white space
    words,         // runs of letters, digits and apostrophes; every other mark is a token
    inner_words,   // the same, and apostrophes at the ends of a run are marks
};

// Visits the tokens of a lower-case text in order.
template <class Visit>
void for_each_token(std::string_view text, Split split, const CharClasses& classes, Visit&& visit) {
    const char* at = text.data();
    const char* const end = at + text.size();
    const char* run = nullptr;  // start of the run that is open

    const auto close = [&](const char* run_end) {
        if (run == nullptr) return;
        const char* begin = run;
        run = nullptr;
        if (split == Split::inner_words) {
            while (begin < run_end && *begin == '\'') visit(std::string_view(begin++, 1));
            const char* inner_end = run_end;
            while (inner_end > begin && inner_end[-1] == '\'') --inner_end;
            if (inner_end > begin) visit(std::string_view(begin, static_cast<std::size_t>(inner_end - begin)));
            begin = inner_end;
            while (begin < run_end) visit(std::string_view(begin++, 1));
            return;
        }
        visit(std::string_view(begin, static_cast<std::size_t>(run_end - begin)));
    };

    while (at < end) {
        const char* const start = at;
        CharClass kind;
        if (static_cast<unsigned char>(*at) < 0x80) {
            kind = classes.of_ascii(*at++);
        } else {
            kind = classes.of(decode_one(at, end));
        }
        if (kind == CharClass::space) {
            close(start);
        } else if (kind == CharClass::mark && split != Split::spaces) {
            close(start);
            visit(std::string_view(start, static_cast<std::size_t>(at - start)));
        } else if (run == nullptr) {
            run = start;
        }
    }
    close(end);
}

}  // namespace roben
