#include "text.hpp"

#include <algorithm>

namespace roben {

// The input is what Python made of a str, so it is well formed; the checks only keep reads inside the text.
char32_t decode_one(const char*& at, const char* end) {
    const unsigned char lead = static_cast<unsigned char>(*at++);
    if (lead < 0x80) return lead;
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    char32_t c = lead & (0x3Fu >> more);
    while (more-- > 0 && at < end) c = (c << 6) | (static_cast<unsigned char>(*at++) & 0x3Fu);
    return c;
}

void decode(std::string_view bytes, std::u32string& out) {
    out.clear();
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at < end) out.push_back(decode_one(at, end));
}

void append_utf8(std::string& out, char32_t c) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

CharClasses::CharClasses() {
    for (unsigned c = 0; c < 0x80; ++c) {
        const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        ascii_[c] = is_space(c) ? CharClass::space
                    : is_word   ? CharClass::word
                    : c == '\'' ? CharClass::apostrophe
                                : CharClass::mark;
    }
}

CharClass CharClasses::of(char32_t c) const {
    if (c < 0x80) return ascii_[c];
    if (is_space(c)) return CharClass::space;
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                        [](char32_t value, const auto& range) { return value < range.first; });
    return after != ranges_.begin() && c <= std::prev(after)->second ? CharClass::word : CharClass::mark;
}

}  // namespace roben
