#include "encoder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace roben {

namespace {

std::uint64_t load8(const char* at) {
    std::uint64_t value;
    std::memcpy(&value, at, 8);
    return value;
}

std::uint64_t load4(const char* at) {
    std::uint32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

std::uint64_t load_tail(const char* at, std::size_t n) {  // 0 < n < 8; distinct tails of one length stay distinct
    if (n >= 4) return load4(at) | (load4(at + n - 4) << 32);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])); };
    return byte(0) | (byte(n / 2) << 8) | (byte(n - 1) << 16);
}

std::uint64_t hash_bytes(std::string_view bytes) {
    const char* at = bytes.data();
    std::size_t n = bytes.size();
    std::uint64_t h = n * 0x9E3779B97F4A7C15ull;
    for (; n >= 8; at += 8, n -= 8) {
        h = (h ^ load8(at)) * 0xD6E8FEB86659FD93ull;
        h ^= h >> 32;
    }
    if (n > 0) {
        h = (h ^ load_tail(at, n)) * 0xD6E8FEB86659FD93ull;
        h ^= h >> 32;
    }
    return h * 0x9E3779B97F4A7C15ull;
}

// A Bloom filter whose three bits lie in one word.
std::uint64_t filter_bits(std::uint64_t key) {
    const auto bit = [&](unsigned shift) { return std::uint64_t{1} << ((key >> shift) & 63); };
    return bit(32) | bit(38) | bit(44);
}

// Scratch for one token, per thread: no allocation on the hot path.
struct Scratch {
    std::u32string token;
    std::vector<std::uint64_t> keys;
};

Scratch& scratch() {
    thread_local Scratch instance;
    return instance;
}

}  // namespace

Encoder::Encoder(Words words, std::vector<Id> codes, Rows reachable, Surface surface, Split split,
                 std::string unknown, const CharClasses& classes)
    : words_(std::move(words)), codes_(std::move(codes)), reachable_(std::move(reachable)),
      surface_(std::move(surface)), split_(split), unknown_(std::move(unknown)), classes_(&classes) {
    build_table();
    build_index();
}

void Encoder::build_table() {
    byte_ends_.reserve(words_.size());
    for (std::size_t w = 0; w < words_.size(); ++w) {
        for (const char32_t c : words_[w]) append_utf8(bytes_, c);
        if (bytes_.size() > 0xFFFFFFFFu) throw std::length_error("the words together take more than 4 GiB");
        byte_ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    }
    std::size_t size = 16;
    while (size < words_.size() * 2) size *= 2;
    table_.resize(size);
    for (std::size_t w = 0; w < words_.size(); ++w) {
        const std::uint64_t hash = hash_bytes(spelling(static_cast<Id>(w)));
        std::size_t i = (hash >> 32) & (size - 1);
        while (table_[i].word != NONE) i = (i + 1) & (size - 1);
        table_[i] = {static_cast<std::uint32_t>(hash), static_cast<Id>(w)};
    }
}

void Encoder::build_index() {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint32_t> n_keys(words_.size());
    std::visit(
        [&](const auto& surface) {
            for (std::size_t w = 0; w < words_.size(); ++w) {
                const std::size_t before = keys.size();
                surface.keys(words_[w], keys);
                n_keys[w] = static_cast<std::uint32_t>(keys.size() - before);
            }
        },
        surface_);
    if (keys.size() > 0xFFFFFFFFu) throw std::length_error("the words have more than 2^32 deletions");
    std::size_t filter_size = 1;
    while (filter_size * 4 < keys.size()) filter_size *= 2;  // 16 bits or more for every key
    filter_.assign(filter_size, 0);
    for (const std::uint64_t key : keys) filter_[key & (filter_size - 1)] |= filter_bits(key);
    unsigned bits = 4;
    while ((std::size_t{1} << bits) < keys.size()) ++bits;
    bucket_shift_ = 64 - bits;
    buckets_.assign((std::size_t{1} << bits) + 1, 0);
    for (const std::uint64_t key : keys) ++buckets_[(key >> bucket_shift_) + 1];
    std::partial_sum(buckets_.begin(), buckets_.end(), buckets_.begin());
    std::vector<std::uint32_t> next(buckets_.begin(), buckets_.end() - 1);
    postings_.resize(keys.size());
    std::size_t k = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
        for (std::uint32_t i = 0; i < n_keys[w]; ++i, ++k) {
            postings_[next[keys[k] >> bucket_shift_]++] = {static_cast<std::uint32_t>(keys[k]), static_cast<Id>(w)};
        }
    }
}

std::string_view Encoder::spelling(Id code) const {
    if (code == UNKNOWN) return unknown_;
    const std::uint32_t begin = code == 0 ? 0 : byte_ends_[code - 1];
    return std::string_view(bytes_).substr(begin, byte_ends_[code] - begin);
}

Id Encoder::find_word(std::string_view token) const {
    const std::uint64_t hash = hash_bytes(token);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = (hash >> 32) & mask; table_[i].word != NONE; i = (i + 1) & mask) {
        if (table_[i].tag == static_cast<std::uint32_t>(hash) && spelling(table_[i].word) == token) {
            return table_[i].word;
        }
    }
    return NONE;
}

bool Encoder::passes_filter(std::uint64_t key) const {
    const std::uint64_t bits = filter_bits(key);
    return (filter_[key & (filter_.size() - 1)] & bits) == bits;
}

// The most frequent word that the token, itself no word, is a typo of.
Id Encoder::find_owner(std::u32string_view token) const {
    std::vector<std::uint64_t>& keys = scratch().keys;
    return std::visit(
        [&](const auto& surface) {
            keys.clear();
            if (token.size() <= words_.longest() + 1) surface.keys(token, keys);
            const auto passes = [&](std::uint64_t key) { return passes_filter(key); };
            keys.erase(std::partition(keys.begin(), keys.end(), passes), keys.end());
#if defined(__GNUC__)
            for (const std::uint64_t key : keys) __builtin_prefetch(&buckets_[key >> bucket_shift_]);
            for (const std::uint64_t key : keys) {
                __builtin_prefetch(postings_.data() + buckets_[key >> bucket_shift_]);
            }
#endif
            Id owner = NONE;
            for (const std::uint64_t key : keys) {
                const std::size_t bucket = key >> bucket_shift_;
                for (std::uint32_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
                    const Posting posting = postings_[i];
                    if (posting.word >= owner) break;  // a bucket is in order of frequency
                    if (posting.tag != static_cast<std::uint32_t>(key)) continue;
                    if (surface.allows(words_[posting.word], token)) owner = posting.word;
                }
            }
            return owner;
        },
        surface_);
}

bool Encoder::is_fixed(std::u32string_view token) const {
    return std::visit([&](const auto& surface) { return surface.is_fixed(token); }, surface_);
}

Id Encoder::word(std::string_view token) const {
    const Id word = find_word(token);
    if (word != NONE) return word;
    std::u32string& decoded = scratch().token;
    decode(token, decoded);
    return find_owner(decoded);
}

Id Encoder::code(std::string_view token) const {
    const Id word = find_word(token);
    if (word != NONE) return codes_[word];
    std::u32string& decoded = scratch().token;
    decode(token, decoded);
    const Id owner = find_owner(decoded);
    if (owner != NONE) return codes_[owner];
    return is_fixed(decoded) ? ITSELF : UNKNOWN;
}

Encoder::Reach Encoder::reachable(std::string_view token) const {
    Reach reach;
    const Id word = find_word(token);
    if (word != NONE) {
        const auto begin = reachable_.targets.begin();
        reach.codes.assign(begin + reachable_.offsets[word], begin + reachable_.offsets[word + 1]);
        return reach;
    }
    std::u32string decoded;
    decode(token, decoded);
    if (is_fixed(decoded)) {
        const Id own = code(token);
        reach.codes.push_back(own);
        if (own == ITSELF) reach.own.emplace_back(token);
        return reach;
    }
    const auto add_code = [&](Id found) {
        if (std::find(reach.codes.begin(), reach.codes.end(), found) == reach.codes.end()) reach.codes.push_back(found);
    };
    std::string typo;
    const auto add = [&](std::u32string_view characters) {
        typo.clear();
        for (const char32_t c : characters) append_utf8(typo, c);
        const Id found = code(typo);
        if (found == ITSELF) reach.own.push_back(typo);
        add_code(found);
        return true;
    };
    if (const auto* edits = std::get_if<EditOne>(&surface_)) {
        const bool is_near = decoded.size() <= words_.longest() + EditOne::reach_in_length;
        if (!edits->typos_can_be_fixed(decoded.size())) {
            // Typos without a word become UNKNOWN; most are seen off by the filter.
            const auto passes = [&](std::uint64_t key) { return passes_filter(key); };
            if (!is_near || edits->for_each_passing(decoded, passes, add)) add_code(UNKNOWN);
        } else if (is_near) {
            edits->for_each_typo(decoded, add);
        } else {  // no typo of it is a typo of a word, and it would take long to find that of each
            add_code(UNKNOWN);  // the token's own: it can be changed
            edits->for_each_typo(decoded, [&](std::u32string_view characters) {
                return !is_fixed(characters) || add(characters);
            });
        }
    } else {
        // The ball is the token's class: its words, and other members, which are all owned by the first of them.
        for_each_classmate(std::get<InternalPermutation>(surface_), decoded, add);
        add(decoded);
    }
    std::sort(reach.codes.begin(), reach.codes.end());
    return reach;
}

template <class Visit>
void Encoder::for_each_classmate(const InternalPermutation& surface, std::u32string_view token, Visit&& visit) const {
    std::vector<std::uint64_t> keys;
    surface.keys(token, keys);
    const std::size_t bucket = keys[0] >> bucket_shift_;
    for (std::uint32_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
        const std::u32string_view word = words_[postings_[i].word];
        if (surface.allows(word, token) && !visit(word)) return;
    }
}

std::string_view Encoder::coded(std::string_view token) const {
    const Id found = code(token);
    return found == ITSELF ? token : spelling(found);
}

bool Encoder::typo_with(std::string_view token, std::string_view code, std::string& typo) const {
    typo = token;
    if (coded(typo) == code) return true;
    std::u32string best;
    bool is_found = false;
    const auto has_code = [&](std::u32string_view characters) {
        typo.clear();
        for (const char32_t c : characters) append_utf8(typo, c);
        return coded(typo) == code;
    };
    std::u32string decoded;
    decode(token, decoded);
    if (const auto* edits = std::get_if<EditOne>(&surface_)) {
        edits->for_each_typo(decoded, [&](std::u32string_view characters) {  // the shorter ones come first
            if (is_found && characters.size() > best.size() && characters != decoded) return false;
            if (has_code(characters) && (!is_found || characters < best)) {
                best = characters;
                is_found = true;
            }
            return true;
        });
    } else {  // the members of a class that are no words have the code of the token, or of its first word
        for_each_classmate(std::get<InternalPermutation>(surface_), decoded, [&](std::u32string_view word) {
            is_found = has_code(word);
            best = word;
            return !is_found;
        });
    }
    typo.clear();
    for (const char32_t c : best) append_utf8(typo, c);
    return is_found;
}

void Encoder::encode(std::string_view text, std::string& out) const {
    bool is_first = true;
    for_each_token(text, split_, *classes_, [&](std::string_view token) {
        if (!is_first) out.push_back(' ');
        is_first = false;
        out.append(coded(token));
    });
}

}  // namespace roben
