#include "surface.hpp"

#include <algorithm>

namespace roben {

namespace {

// BASE * INVERSE == 1 modulo 2^64: dividing by the base moves a character down by one place.
constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;  // right in the lowest three bits, and twice as many with each step
    for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
    return x;
}
constexpr std::uint64_t INVERSE = inverse(BASE);
static_assert(BASE * INVERSE == 1);

std::size_t common_prefix(std::u32string_view a, std::u32string_view b) {
    const std::size_t n = std::min(a.size(), b.size());
    std::size_t i = 0;
    while (i < n && a[i] == b[i]) ++i;
    return i;
}

std::size_t common_suffix(std::u32string_view a, std::u32string_view b) {
    const std::size_t n = std::min(a.size(), b.size());
    std::size_t i = 0;
    while (i < n && a[a.size() - 1 - i] == b[b.size() - 1 - i]) ++i;
    return i;
}

std::size_t at_least_zero(std::size_t a, std::size_t b) { return a > b ? a - b : 0; }

}  // namespace

bool EditOne::in_alphabet(char32_t c) const { return std::binary_search(alphabet.begin(), alphabet.end(), c); }

std::uint64_t EditOne::count(std::u32string_view token) const {
    const std::size_t n = token.size();
    if (!has_window(n)) return 1;
    const std::u32string_view window = token.substr(keep_first, n - keep_first - keep_last);
    const std::uint64_t m = window.size(), letters = alphabet.size();
    std::uint64_t in_alphabet_already = 0, same_as_before = 0;
    for (std::size_t i = 0; i < m; ++i) {
        in_alphabet_already += in_alphabet(window[i]);
        same_as_before += i > 0 && window[i] == window[i - 1];
    }
    std::uint64_t total = 1;
    if (inserts) total += (m + 1) * letters - in_alphabet_already;
    if (deletes) total += m - same_as_before;
    if (substitutes) total += m * letters - in_alphabet_already;
    if (swaps && m > 0) total += m - 1 - same_as_before;
    return total;
}

bool EditOne::is_fixed(std::u32string_view token) const {
    const std::size_t n = token.size();
    if (!has_window(n)) return true;
    if (inserts && !alphabet.empty()) return false;
    const std::u32string_view window = token.substr(keep_first, n - keep_first - keep_last);
    if (deletes && !window.empty()) return false;
    if (substitutes) {
        for (const char32_t c : window) {
            if (alphabet.size() > 1 || (alphabet.size() == 1 && alphabet[0] != c)) return false;
        }
    }
    if (swaps) {
        for (std::size_t i = 1; i < window.size(); ++i) {
            if (window[i] != window[i - 1]) return false;
        }
    }
    return true;
}

bool EditOne::typos_can_be_fixed(std::size_t length) const {
    if (!has_window(length - 1)) return true;
    return !(inserts && !alphabet.empty()) && !(deletes && length - 1 > keep_first + keep_last);
}

bool EditOne::allows(std::u32string_view token, std::u32string_view typo) const {
    const std::size_t n = token.size(), m = typo.size();
    if (token == typo) return true;
    if (!has_window(n) || m < keep_first + keep_last || m == 0) return false;
    const std::size_t first = keep_first, last = n - keep_last;
    if (m == n + 1) {
        if (!inserts) return false;
        const std::size_t low = std::max(first, at_least_zero(n, common_suffix(token, typo)));
        const std::size_t high = std::min(last, common_prefix(token, typo));
        return low <= high && in_alphabet(typo[low]);
    }
    if (m + 1 == n) {
        if (!deletes || first == last) return false;
        const std::size_t low = std::max(first, at_least_zero(n - 1, common_suffix(token, typo)));
        const std::size_t high = std::min(last - 1, common_prefix(token, typo));
        return low <= high;
    }
    if (m != n) return false;
    const std::size_t i = common_prefix(token, typo);
    const std::size_t j = n - 1 - common_suffix(token, typo);  // first and last difference
    if (i < first || j >= last) return false;
    if (i == j) return substitutes && in_alphabet(typo[i]);
    return swaps && j == i + 1 && token[i] == typo[j] && token[j] == typo[i];
}

void EditOne::keys(std::u32string_view token, std::vector<std::uint64_t>& out) const {
    const std::size_t n = token.size();
    std::uint64_t tail = 0, power = 1;  // what lies after place i, one place lower
    thread_local std::vector<std::uint64_t> terms;
    terms.clear();
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t c = static_cast<std::uint64_t>(token[i]) + 1;
        terms.push_back(c * power);
        whole += c * power;
        power *= BASE;
    }
    out.push_back(mix(whole));
    if (n < keep_first + keep_last) return;
    std::uint64_t head = whole;
    for (std::size_t i = n; i-- > keep_first;) {
        head -= terms[i];
        if (i + keep_last < n) out.push_back(mix(head + tail));
        tail += terms[i] * INVERSE;
    }
}

std::u32string InternalPermutation::normal_form(std::u32string_view token) {
    std::u32string form(token);
    if (form.size() > 3) std::sort(form.begin() + 1, form.end() - 1);
    return form;
}

bool InternalPermutation::is_fixed(std::u32string_view token) const {
    for (std::size_t i = 2; i + 1 < token.size(); ++i) {
        if (token[i] != token[1]) return false;
    }
    return true;
}

bool InternalPermutation::allows(std::u32string_view token, std::u32string_view typo) const {
    return token.size() == typo.size() && normal_form(token) == normal_form(typo);
}

void InternalPermutation::keys(std::u32string_view token, std::vector<std::uint64_t>& out) const {
    std::uint64_t ends = 0, inside = 0;  // the interior enters as a sum: its order does not matter
    const std::size_t n = token.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t c = static_cast<std::uint64_t>(token[i]) + 1;
        if (i == 0 || i + 1 == n) {
            ends = ends * BASE + c;
        } else {
            inside += mix(c * BASE);
        }
    }
    out.push_back(mix(mix(ends + n) + inside));
}

}  // namespace roben
