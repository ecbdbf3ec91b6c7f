// The binding, and the only file that knows Python: it converts, releases the GIL, and calls.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "clustering.hpp"
#include "encoder.hpp"
#include "graph.hpp"

namespace nb = nanobind;
using namespace roben;

namespace {

// ---------------------------------------------------------------------------------------------------------
// Arrays

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Out<T> to_array(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out<T>(kept->data(), {kept->size()}, owner);
}

nb::tuple to_arrays(Rows rows) {
    return nb::make_tuple(to_array(std::move(rows.offsets)), to_array(std::move(rows.targets)));
}

// Every index is checked here, so that no array from outside can lead the kernel astray.
RowsView rows_view(const In<std::int64_t>& offsets, const In<Id>& targets) {
    const std::size_t n = offsets.shape(0);
    if (n == 0 || offsets.data()[0] != 0 || offsets.data()[n - 1] != static_cast<std::int64_t>(targets.shape(0))) {
        throw nb::value_error("row offsets must run from 0 to the number of targets");
    }
    for (std::size_t i = 1; i < n; ++i) {
        if (offsets.data()[i] < offsets.data()[i - 1]) throw nb::value_error("row offsets must not fall");
    }
    for (std::size_t i = 0; i < targets.shape(0); ++i) {
        if (targets.data()[i] >= n - 1) throw nb::value_error("a row's target must be the number of a row");
    }
    for (std::size_t row = 0; row + 1 < n; ++row) {
        const Id* const begin = targets.data() + offsets.data()[row];
        const Id* const end = targets.data() + offsets.data()[row + 1];
        if (std::adjacent_find(begin, end, std::greater_equal<Id>()) != end) {
            throw nb::value_error("the targets of a row must rise");
        }
    }
    return {offsets.data(), targets.data(), n - 1};
}

std::vector<Id> checked_codes(const In<Id>& codes, std::size_t n) {
    if (codes.shape(0) != n) throw nb::value_error("there must be one code for every word");
    for (std::size_t i = 0; i < n; ++i) {
        if (codes.data()[i] >= n) throw nb::value_error("a code must be the number of a word");
    }
    return {codes.data(), codes.data() + n};
}

// ---------------------------------------------------------------------------------------------------------
// Strings

void append_characters(nb::handle text, std::u32string& out) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("expected a str");
    const int kind = PyUnicode_KIND(text.ptr());
    const void* data = PyUnicode_DATA(text.ptr());
    const Py_ssize_t n = PyUnicode_GET_LENGTH(text.ptr());
    for (Py_ssize_t i = 0; i < n; ++i) out.push_back(PyUnicode_READ(kind, data, i));
}

Words to_words(nb::sequence sequence) {
    Words words;
    std::u32string word;
    for (nb::handle item : sequence) {
        word.clear();
        append_characters(item, word);
        words.push_back(word);
    }
    return words;
}

// Appends the bytes of any str, lone surrogates as three bytes each.
void append_bytes(nb::handle text, std::string& out) {
    if (PyUnicode_IS_COMPACT_ASCII(text.ptr())) {
        out.append(static_cast<const char*>(PyUnicode_DATA(text.ptr())),
                   static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())));
        return;
    }
    nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    if (!encoded.is_valid()) nb::raise_python_error();
    out.append(PyBytes_AS_STRING(encoded.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr())));
}

bool is_ascii(std::string_view bytes) {
    unsigned char any = 0;
    for (const char c : bytes) any |= static_cast<unsigned char>(c);
    return any < 0x80;
}

PyObject* new_str(std::string_view bytes) {
    const auto n = static_cast<Py_ssize_t>(bytes.size());
    PyObject* text;
    if (is_ascii(bytes)) {
        text = PyUnicode_New(n, 127);
        if (text != nullptr && n > 0) std::memcpy(PyUnicode_DATA(text), bytes.data(), bytes.size());
    } else {
        text = PyUnicode_DecodeUTF8(bytes.data(), n, "surrogatepass");
    }
    if (text == nullptr) nb::raise_python_error();
    return text;
}

nb::str to_str(std::string_view bytes) { return nb::steal<nb::str>(new_str(bytes)); }

void lower_ascii(char* begin, char* end) {
    for (; begin != end; ++begin) {
        *begin = static_cast<char>(*begin + (*begin >= 'A' && *begin <= 'Z' ? 'a' - 'A' : 0));
    }
}

// ---------------------------------------------------------------------------------------------------------
// Surfaces, as their Python attributes tell

EditOne to_edit_one(nb::handle surface) {
    EditOne edits;
    edits.keep_first = nb::cast<std::size_t>(surface.attr("keep_first"));
    edits.keep_last = nb::cast<std::size_t>(surface.attr("keep_last"));
    append_characters(surface.attr("alphabet"), edits.alphabet);
    std::sort(edits.alphabet.begin(), edits.alphabet.end());
    const auto has = [&](const char* name) { return nb::cast<bool>(surface.attr("edits").attr("__contains__")(name)); };
    edits.inserts = has("insert");
    edits.deletes = has("delete");
    edits.substitutes = has("substitute");
    edits.swaps = has("swap");
    return edits;
}

Surface to_surface(nb::handle surface) {
    const std::string kind = nb::cast<std::string>(surface.attr("kind"));
    if (kind == "edit-one") return to_edit_one(surface);
    if (kind == "internal-permutation") return InternalPermutation();
    throw nb::value_error("the compiled kernel does not know this surface");
}

Split to_split(const std::string& split) {
    if (split == "spaces") return Split::spaces;
    if (split == "words") return Split::words;
    if (split == "inner-words") return Split::inner_words;
    throw nb::value_error("a split is one of 'spaces', 'words', 'inner-words'");
}

// Lets Python handle signals and show progress while the workers run.
Tick to_tick(nb::object tick) {
    return [tick](double share) {
        const nb::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        if (!tick.is_none()) tick(share);
    };
}

// ---------------------------------------------------------------------------------------------------------
// Stages

nb::tuple py_typo_graph(nb::sequence words, nb::object surface, unsigned threads, nb::object tick) {
    const Words pool = to_words(words);
    const Surface kernel_surface = to_surface(surface);
    const Tick kernel_tick = to_tick(tick);
    TypoGraph graph;
    {
        const nb::gil_scoped_release release;
        graph = std::visit([&](const auto& s) { return typo_graph(pool, s, std::max(1u, threads), kernel_tick); },
                           kernel_surface);
    }
    return nb::make_tuple(
        to_array(std::move(graph.reach.offsets)), to_array(std::move(graph.reach.targets)),
        to_array(std::move(graph.neighbors.offsets)), to_array(std::move(graph.neighbors.targets)));
}

Out<Id> py_connected_components(In<std::int64_t> offsets, In<Id> targets) {
    const RowsView reach = rows_view(offsets, targets);
    std::vector<Id> codes;
    {
        const nb::gil_scoped_release release;
        codes = connected_components(reach);
    }
    return to_array(std::move(codes));
}

nb::tuple py_agglomerate(In<std::int64_t> weights, In<std::int64_t> reach_offsets, In<Id> reach_targets,
                         In<std::int64_t> neighbor_offsets, In<Id> neighbor_targets, double gamma, unsigned threads,
                         nb::object tick) {
    const RowsView reach = rows_view(reach_offsets, reach_targets);
    const RowsView neighbors = rows_view(neighbor_offsets, neighbor_targets);
    if (weights.shape(0) != reach.size || neighbors.size != reach.size) {
        throw nb::value_error("weights, reach and neighbors must have one row for every word");
    }
    const std::vector<std::int64_t> kernel_weights(weights.data(), weights.data() + weights.shape(0));
    const Tick kernel_tick = to_tick(tick);
    Agglomeration result;
    {
        const nb::gil_scoped_release release;
        result = agglomerate(kernel_weights, reach, neighbors, gamma, std::max(1u, threads), kernel_tick);
    }
    std::vector<Id> kept, absorbed;
    for (const Merge& merge : result.merges) {
        kept.push_back(merge.kept);
        absorbed.push_back(merge.absorbed);
    }
    return nb::make_tuple(to_array(std::move(result.codes)), to_array(std::move(kept)), to_array(std::move(absorbed)));
}

nb::tuple py_reachable_codes(In<std::int64_t> offsets, In<Id> targets, In<Id> codes) {
    const RowsView reach = rows_view(offsets, targets);
    const std::vector<Id> kernel_codes = checked_codes(codes, reach.size);
    Rows rows;
    {
        const nb::gil_scoped_release release;
        rows = reachable_codes(reach, kernel_codes);
    }
    return to_arrays(std::move(rows));
}

CharClasses& char_classes() {
    static CharClasses classes;
    return classes;
}

// Only text that is not ASCII needs to know all of Unicode's word characters: they are asked for when it comes.
void learn_word_ranges() {
    static bool is_done = false;  // read and written with the GIL held
    if (is_done) return;
    const nb::object ranges = nb::module_::import_("roben.kernel").attr("word_ranges")();
    const auto found = nb::cast<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(ranges);
    if (is_done) return;  // another thread was quicker while Python ran, and may read them already
    char_classes().set_word_ranges({found.begin(), found.end()});
    is_done = true;
}

// Python knows how to lower-case what is not ASCII; there, a typographic apostrophe is one.
nb::object lowered(nb::handle text, Split split) {
    learn_word_ranges();
    nb::object lower = text.attr("lower")();
    if (split != Split::spaces) lower = lower.attr("replace")("\u2019", "'");
    return lower;
}

void append_lower(nb::handle text, Split split, std::string& out) {
    const std::size_t begin = out.size();
    if (PyUnicode_IS_COMPACT_ASCII(text.ptr())) {
        append_bytes(text, out);
        lower_ascii(out.data() + begin, out.data() + out.size());
    } else {
        append_bytes(lowered(text, split), out);
    }
}

nb::list py_tokenize(nb::str text, const std::string& split) {
    const Split kernel_split = to_split(split);
    std::string bytes;
    append_lower(text, kernel_split, bytes);
    nb::list tokens;
    for_each_token(bytes, kernel_split, char_classes(), [&](std::string_view token) { tokens.append(to_str(token)); });
    return tokens;
}

class PyEncoder {
public:
    PyEncoder(nb::sequence words, In<Id> codes, In<std::int64_t> offsets, In<Id> targets, nb::object surface,
              const std::string& split, nb::str unknown)
        : split_(to_split(split)) {
        Words pool = to_words(words);
        const RowsView reachable = rows_view(offsets, targets);
        if (reachable.size != pool.size()) throw nb::value_error("there must be one reachable set for every word");
        Rows rows{{offsets.data(), offsets.data() + offsets.shape(0)}, {targets.data(), targets.data() + targets.shape(0)}};
        std::string unknown_bytes;
        append_bytes(unknown, unknown_bytes);
        std::vector<Id> kernel_codes = checked_codes(codes, pool.size());
        Surface kernel_surface = to_surface(surface);
        const nb::gil_scoped_release release;
        encoder_ = std::make_unique<Encoder>(std::move(pool), std::move(kernel_codes), std::move(rows),
                                             std::move(kernel_surface), split_, std::move(unknown_bytes),
                                             char_classes());
    }

    nb::str encode(nb::str text) const {
        std::string bytes, out;
        append_lower(text, split_, bytes);
        encoder_->encode(bytes, out);
        return to_str(out);
    }

    nb::list encode_many(nb::sequence texts, unsigned threads, nb::object tick) const {
        const nb::object held = nb::steal(PySequence_Tuple(texts.ptr()));  // cannot change while the GIL is let go
        if (!held.is_valid()) nb::raise_python_error();
        const auto n = static_cast<std::size_t>(PyTuple_GET_SIZE(held.ptr()));
        nb::list result = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(n)));
        for (std::size_t i = 0; i < n; ++i) PyList_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(Py_None));
        std::vector<std::size_t> ends;  // of the chunks: of many short texts, or of few long ones
        Py_ssize_t length = 0;
        for (std::size_t i = 0; i < n; ++i) {
            PyObject* const text = PyTuple_GET_ITEM(held.ptr(), static_cast<Py_ssize_t>(i));
            if (!PyUnicode_Check(text)) throw nb::type_error("expected a sequence of str");
            length += PyUnicode_GET_LENGTH(text) + 16;
            if (length >= CHUNK || i + 1 == n) {
                ends.push_back(i + 1);
                length = 0;
            }
        }
        const std::size_t n_chunks = ends.size();
        const auto encode_one = [&](std::size_t c) {
            encode_chunk(held, c == 0 ? 0 : ends[c - 1], ends[c], result);
        };
        const unsigned workers = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, threads), n_chunks));
        const Tick kernel_tick = to_tick(tick);
        const nb::gil_scoped_release release;
        if (workers <= 1) {
            for (std::size_t c = 0; c < n_chunks; ++c) {
                encode_one(c);
                kernel_tick(static_cast<double>(c + 1) / static_cast<double>(n_chunks));
            }
            return result;
        }
        Progress progress(static_cast<double>(n_chunks));
        std::atomic<std::size_t> next{0};
        run_workers(workers, progress, kernel_tick, [&](unsigned) {
            for (std::size_t c = next++; c < n_chunks && !progress.cancelled(); c = next++) {
                encode_one(c);
                progress.add(1);
            }
        });
        kernel_tick(1.0);
        return result;
    }

    nb::object word(nb::str token) const {
        const Id word = encoder_->word(bytes_of(token));
        return word == NONE ? nb::none() : nb::object(nb::int_(word));
    }

    nb::str code(nb::str token) const {
        const std::string bytes = bytes_of(token);
        const Id code = encoder_->code(bytes);
        return code == ITSELF ? token : to_str(encoder_->spelling(code));
    }

    nb::object reachable(nb::str token) const {
        const std::string bytes = bytes_of(token);
        Encoder::Reach reach;
        {
            const nb::gil_scoped_release release;
            reach = encoder_->reachable(bytes);
        }
        nb::set codes;
        for (const Id code : reach.codes) {
            if (code != ITSELF) codes.add(to_str(encoder_->spelling(code)));
        }
        for (const std::string& own : reach.own) codes.add(to_str(own));
        return nb::steal(PyFrozenSet_New(codes.ptr()));
    }

    // Its codes, its own first, and the size of its ball.
    nb::tuple slot(nb::str token) const {
        const std::string bytes = bytes_of(token);
        const Encoder::Reach reach = encoder_->reachable(bytes);
        const Id own = encoder_->code(bytes);
        const std::string_view own_code = own == ITSELF ? std::string_view(bytes) : encoder_->spelling(own);
        nb::object codes;
        if (reach.codes.size() == 1 && reach.own.size() <= 1) {  // nearly always
            codes = nb::make_tuple(own == ITSELF ? nb::object(token) : nb::object(to_str(own_code)));
        } else {
            std::vector<std::string_view> others(reach.own.begin(), reach.own.end());
            for (const Id code : reach.codes) {
                if (code != ITSELF) others.push_back(encoder_->spelling(code));
            }
            std::sort(others.begin(), others.end());
            others.erase(std::unique(others.begin(), others.end()), others.end());
            others.erase(std::remove(others.begin(), others.end(), own_code), others.end());
            nb::list found;
            found.append(to_str(own_code));
            for (const std::string_view code : others) found.append(to_str(code));
            codes = nb::tuple(found);
        }
        nb::object n_typos = nb::none();  // more than a machine's whole number can hold
        if (const auto* edits = std::get_if<EditOne>(&encoder_->surface())) {
            std::u32string characters;
            append_characters(token, characters);
            n_typos = nb::int_(edits->count(characters));
        }
        return nb::make_tuple(codes, n_typos);
    }

    nb::object typo_with(nb::str token, nb::str code) const {
        std::string typo;
        const bool is_found = encoder_->typo_with(bytes_of(token), bytes_of(code), typo);
        return is_found ? nb::object(to_str(typo)) : nb::none();
    }

private:
    static constexpr Py_ssize_t CHUNK = 1 << 16;  // characters that a worker takes at a time

    static std::string bytes_of(nb::handle text) {
        std::string bytes;
        append_bytes(text, bytes);
        return bytes;
    }

    // Copies texts out of Python and their encodings back with the GIL, and encodes without: while one worker does
    // the one, another does the other.
    void encode_chunk(const nb::object& texts, std::size_t begin, std::size_t end, nb::list& result) const {
        std::string input, output;
        std::vector<std::size_t> input_ends, output_ends;
        {
            const nb::gil_scoped_acquire lock;
            for (std::size_t i = begin; i < end; ++i) {
                const nb::handle text = PyTuple_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i));
                append_lower(text, split_, input);
                input_ends.push_back(input.size());
            }
        }
        std::size_t first = 0;
        for (const std::size_t last : input_ends) {
            encoder_->encode(std::string_view(input).substr(first, last - first), output);
            output_ends.push_back(output.size());
            first = last;
        }
        const nb::gil_scoped_acquire lock;
        first = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t last = output_ends[i - begin];
            PyObject* encoded = new_str(std::string_view(output).substr(first, last - first));
            PyList_SetItem(result.ptr(), static_cast<Py_ssize_t>(i), encoded);
            first = last;
        }
    }

    Split split_;
    std::unique_ptr<Encoder> encoder_;
};

// For comparison with the Python surfaces.
nb::object py_typos(nb::object surface, nb::str token) {
    const EditOne edits = to_edit_one(surface);
    std::u32string characters;
    append_characters(token, characters);
    nb::list typos;
    edits.for_each_typo(characters, [&](std::u32string_view typo) {
        std::string bytes;
        for (const char32_t c : typo) append_utf8(bytes, c);
        typos.append(to_str(bytes));
        return true;
    });
    return typos;
}

bool py_allows(nb::object surface, nb::str token, nb::str typo) {
    std::u32string a, b;
    append_characters(token, a);
    append_characters(typo, b);
    return std::visit([&](const auto& s) { return s.allows(a, b); }, to_surface(surface));
}

bool py_is_fixed(nb::object surface, nb::str token) {
    std::u32string characters;
    append_characters(token, characters);
    return std::visit([&](const auto& s) { return s.is_fixed(characters); }, to_surface(surface));
}

}  // namespace

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // an encoder that a daemon thread holds at exit is no leak
    m.doc() = "The compiled kernel. Its functions have the names and meanings of those in roben._reference.";
    m.def("typo_graph", &py_typo_graph, nb::arg("words"), nb::arg("surface"), nb::arg("threads") = 1,
          nb::arg("tick") = nb::none());
    m.def("connected_components", &py_connected_components, nb::arg("offsets"), nb::arg("targets"));
    m.def("agglomerate", &py_agglomerate, nb::arg("weights"), nb::arg("reach_offsets"), nb::arg("reach_targets"),
          nb::arg("neighbor_offsets"), nb::arg("neighbor_targets"), nb::arg("gamma"), nb::arg("threads") = 1,
          nb::arg("tick") = nb::none());
    m.def("reachable_codes", &py_reachable_codes, nb::arg("offsets"), nb::arg("targets"), nb::arg("codes"));
    m.def("tokenize", &py_tokenize, nb::arg("text"), nb::arg("split"));
    m.def("typos", &py_typos, nb::arg("surface"), nb::arg("token"));
    m.def("allows", &py_allows, nb::arg("surface"), nb::arg("token"), nb::arg("typo"));
    m.def("is_fixed", &py_is_fixed, nb::arg("surface"), nb::arg("token"));

    nb::class_<PyEncoder>(m, "Encoder")
        .def(nb::init<nb::sequence, In<Id>, In<std::int64_t>, In<Id>, nb::object, const std::string&, nb::str>(),
             nb::arg("words"), nb::arg("codes"), nb::arg("offsets"), nb::arg("targets"), nb::arg("surface"),
             nb::arg("split"), nb::arg("unknown"))
        .def("encode", &PyEncoder::encode, nb::arg("text"))
        .def("encode_many", &PyEncoder::encode_many, nb::arg("texts"), nb::arg("threads") = 1,
             nb::arg("tick") = nb::none())
        .def("word", &PyEncoder::word, nb::arg("token"))
        .def("code", &PyEncoder::code, nb::arg("token"))
        .def("reachable", &PyEncoder::reachable, nb::arg("token"))
        .def("slot", &PyEncoder::slot, nb::arg("token"))
        .def("typo_with", &PyEncoder::typo_with, nb::arg("token"), nb::arg("code"));
}
