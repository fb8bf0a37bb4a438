// Records as text, JSON and Markdown.
#include <dispatch/support/safe_text.hpp>
#include <saa/records.hpp>

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace irpverbs::saa {
namespace {

void append_number(std::string& out, std::uint64_t value, int base = 10) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
    out.append(digits.data(), end);
}

void append_hex(std::string& out, std::uint64_t value, unsigned digits) {
    std::array<char, 16> text;
    for (unsigned i = digits; i-- > 0; value >>= 4)
        text[i] = "0123456789abcdef"[value & 15];
    out.append(text.data(), digits);
}

// The first of the longest runs of at least two zero words, which "::" replaces.
struct zero_run {
    std::size_t at = 8, size = 1;
};

zero_run longest_run(const std::array<std::uint16_t, 8>& words) {
    zero_run best;
    std::size_t zeroes = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        zeroes = words[i] == 0 ? zeroes + 1 : 0;
        if (zeroes > best.size) best = {i + 1 - zeroes, zeroes};
    }
    return best;
}

// Formats as inet_ntop, which would take longer than the rest of a record.
void append_words(std::string& out, const std::array<std::uint16_t, 8>& words) {
    const zero_run left_out = longest_run(words);
    for (std::size_t i = 0; i < words.size();) {
        if (i == left_out.at) {
            out += "::";
            i += left_out.size;
            continue;
        }
        if (i != 0 && i != left_out.at + left_out.size) out += ':';
        append_number(out, words[i++], 16);
    }
}

void append_gid(std::string& out, std::uint64_t prefix, std::uint64_t guid) {
    std::array<std::uint16_t, 8> words;
    for (std::size_t i = 0; i < 4; ++i) {
        words[i] = static_cast<std::uint16_t>(prefix >> (48 - 16 * i));
        words[4 + i] = static_cast<std::uint16_t>(guid >> (48 - 16 * i));
    }
    if (prefix != 0) return append_words(out, words);
    for (std::uint16_t& word : words) // the text may be that of an IPv4 address
        word = htons(word);
    std::array<char, INET6_ADDRSTRLEN> text;
    out += inet_ntop(AF_INET6, words.data(), text.data(), text.size());
}

const char* name_of(const field& f, std::uint64_t value) {
    for (const named_value& named : f.names)
        if (named.value == value) return named.name;
    return nullptr;
}

bool is_one_value(const field& f) {
    return f.count == 1 || f.kind == field_kind::gid || f.kind == field_kind::key128 ||
           f.kind == field_kind::text || f.kind == field_kind::bytes;
}

void append_element(const field& f, const void* host, std::size_t index, std::string& out) {
    const std::uint64_t value = get_element(f, host, index);
    if (f.kind == field_kind::hex || f.kind == field_kind::guid) {
        out += "0x";
        append_hex(out, value, (f.wire_width + 3u) / 4);
        return;
    }
    append_number(out, value);
}

void append_plain(const field& f, const void* host, std::string& out) {
    switch (f.kind) {
    case field_kind::gid:
        append_gid(out, get_element(f, host, 0), get_element(f, host, 1));
        break;
    case field_kind::key128:
        out += "0x";
        append_hex(out, get_element(f, host, 0), 16);
        append_hex(out, get_element(f, host, 1), 16);
        break;
    case field_kind::bytes:
        for (std::size_t i = 0; i < f.count; ++i)
            append_hex(out, get_element(f, host, i), 2);
        break;
    default:
        append_element(f, host, 0, out);
    }
}

void append_json_element(const field& f, const void* host, std::size_t index, std::string& out) {
    const bool quoted = f.kind == field_kind::guid || f.wire_width > 32;
    if (f.kind == field_kind::hex && !quoted) {
        append_number(out, get_element(f, host, index));
        return;
    }
    if (quoted) out += '"';
    append_element(f, host, index, out);
    if (quoted) out += '"';
}

void append_json_value(const field& f, const void* host, std::string& out) {
    if (f.kind == field_kind::text) {
        dispatch::append_json_string(text_of(f, host), out);
    } else if (f.count == 1) {
        append_json_element(f, host, 0, out);
    } else if (is_one_value(f)) {
        out += '"';
        append_plain(f, host, out);
        out += '"';
    } else {
        for (std::size_t i = 0; i < f.count; ++i) {
            out += i == 0 ? '[' : ',';
            append_json_element(f, host, i, out);
        }
        out += ']';
    }
}

void append_components(const field& f, std::string& out) {
    if (f.component == 0) {
        out += '-';
        return;
    }
    const auto first = static_cast<unsigned>(std::countr_zero(f.component));
    const auto last = static_cast<unsigned>(63 - std::countl_zero(f.component));
    append_number(out, first);
    if (last == first) return;
    out += "..";
    append_number(out, last);
}

void append_reference(const field& f, std::string& out) {
    out += "| ";
    append_components(f, out);
    out += " | ";
    out += f.name;
    out += " | ";
    append_number(out, f.wire_bit / 8u);
    if (f.wire_bit % 8 != 0) {
        out += '.';
        append_number(out, f.wire_bit % 8u);
    }
    out += " | ";
    if (f.count > 1) {
        append_number(out, f.count);
        out += " x ";
    }
    append_number(out, f.wire_width);
    out += " |\n";
}

} // namespace

std::string_view text_of(const field& f, const void* host) noexcept {
    const char* const begin = static_cast<const char*>(host) + f.host_offset;
    return {begin, strnlen(begin, f.count)};
}

void append_value(const field& f, const void* host, std::string& out) {
    if (f.kind == field_kind::text) {
        dispatch::append_printable(text_of(f, host), out);
        return;
    }
    if (!is_one_value(f)) {
        for (std::size_t i = 0; i < f.count; ++i) {
            if (i != 0) out += ' ';
            append_element(f, host, i, out);
        }
        return;
    }
    append_plain(f, host, out);
    if (f.count != 1 || f.names.empty()) return;
    if (const char* name = name_of(f, get_element(f, host, 0))) {
        out += " (";
        out += name;
        out += ')';
    }
}

void append_text(const record_type& type, const void* host, std::string& out) {
    for (const field& f : type.fields) {
        if (f.kind == field_kind::reserved) continue;
        out += f.name;
        out += ": ";
        append_value(f, host, out);
        out += '\n';
    }
}

void append_json(const record_type& type, const void* host, std::string& out) {
    out += "{\"record\":\"";
    out += type.name;
    out += '"';
    for (const field& f : type.fields) {
        if (f.kind == field_kind::reserved) continue;
        out += ",\"";
        out += f.name;
        out += "\":";
        append_json_value(f, host, out);
    }
    out += '}';
}

std::string records_reference() {
    std::string out = "# SA records\n\nWritten by irpverbs from its table of fields. Offset: byte, "
                      "and bit from its top; width: bits.\n";
    for (const record_type& type : record_types()) {
        out += "\n## ";
        out += type.name;
        out += "\n\nAttribute 0x";
        append_hex(out, type.attribute_id, 4);
        out += ", ";
        append_number(out, type.wire_size);
        out += " bytes";
        if (type.old_wire_size != type.wire_size) {
            out += "; accepted from ";
            append_number(out, type.old_wire_size);
            out += " on";
        }
        out += ".\n\n| Component | Field | Offset | Width |\n| --- | --- | --- | --- |\n";
        for (const field& f : type.fields)
            append_reference(f, out);
    }
    return out;
}

} // namespace irpverbs::saa
