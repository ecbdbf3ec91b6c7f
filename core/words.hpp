// A pool of words, as code points, in order of frequency: the index of a word is its rank.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace roben {

using Id = std::uint32_t;
constexpr Id NONE = 0xFFFFFFFFu;

class Words {
public:
    void reserve(std::size_t words, std::size_t characters) {
        ends_.reserve(words);
        characters_.reserve(characters);
    }

    void push_back(std::u32string_view word) {
        characters_.insert(characters_.end(), word.begin(), word.end());
        ends_.push_back(characters_.size());
        if (word.size() > longest_) longest_ = word.size();
    }

    std::size_t size() const { return ends_.size(); }
    std::size_t longest() const { return longest_; }

    std::u32string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return {characters_.data() + begin, ends_[i] - begin};
    }

private:
    std::vector<char32_t> characters_;
    std::vector<std::size_t> ends_;
    std::size_t longest_ = 0;
};

// One set of ids per word: row i is targets[offsets[i] .. offsets[i + 1]), ascending, without repeats.
struct Rows {
    std::vector<std::int64_t> offsets;
    std::vector<Id> targets;
};

// The same, lent by the caller.
struct RowsView {
    const std::int64_t* offsets;
    const Id* targets;
    std::size_t size;  // number of rows

    const Id* begin(std::size_t i) const { return targets + offsets[i]; }
    const Id* end(std::size_t i) const { return targets + offsets[i + 1]; }
    std::size_t length(std::size_t i) const { return static_cast<std::size_t>(offsets[i + 1] - offsets[i]); }
};

}  // namespace roben
