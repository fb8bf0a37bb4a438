// Query templates from text.
#include <dispatch/support/numbers.hpp>
#include <saa/records.hpp>

#include <arpa/inet.h>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace irpverbs::saa {
namespace {

std::string wrong(std::string_view name, const std::string& expected) {
    return std::string(name) + ": expected " + expected;
}

std::optional<std::uint64_t> value_of(const field& f, std::string_view text) {
    const auto named = std::ranges::find(f.names, text, &named_value::name);
    if (named != f.names.end()) return named->value;
    const auto value = dispatch::number_in(text);
    if (value && std::bit_width(*value) > f.wire_width) return std::nullopt;
    return value;
}

std::string expected_number(const field& f) {
    std::string text = "a number of " + std::to_string(f.wire_width) + " bits";
    for (const named_value& named : f.names)
        text += std::string(&named == f.names.data() ? " or one of " : ", ") + named.name;
    return text;
}

bool set_gid(const field& f, void* host, std::string_view text) {
    std::array<std::uint8_t, 16> bytes;
    if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return false;
    set_element(f, host, 0, boost::endian::load_big_u64(bytes.data()));
    set_element(f, host, 1, boost::endian::load_big_u64(bytes.data() + 8));
    return true;
}

// Parses "0x" and up to 32 hexadecimal digits.
bool set_key(const field& f, void* host, std::string_view text) {
    if (!text.starts_with("0x") || text.size() < 3 || text.size() > 34) return false;
    std::string digits(34 - text.size(), '0');
    digits += text.substr(2);
    const auto high = dispatch::number_in("0x" + digits.substr(0, 16));
    const auto low = dispatch::number_in("0x" + digits.substr(16));
    if (!high || !low) return false;
    set_element(f, host, 0, *high);
    set_element(f, host, 1, *low);
    return true;
}

bool set_text(const field& f, void* host, std::string_view text) {
    if (text.size() >= f.count) return false;
    char* member = static_cast<char*>(host) + f.host_offset;
    std::memset(member, 0, f.count);
    std::memcpy(member, text.data(), text.size());
    return true;
}

struct field_at {
    const field* found = nullptr;
    std::size_t index = 0;
    bool indexed = false;
};

field_at look_up(const record_type& type, std::string_view name) {
    field_at at;
    if (const std::size_t bracket = name.find('['); bracket != name.npos && name.ends_with(']')) {
        const auto index = dispatch::number_in(name.substr(bracket + 1, name.size() - bracket - 2));
        if (!index) return {};
        at.index = *index;
        at.indexed = true;
        name = name.substr(0, bracket);
    }
    at.found = find_field(type, name);
    return at;
}

std::string unknown_field(const record_type& type, std::string_view name) {
    std::string text = std::string(name) + ": no such field; " + type.name + " has";
    for (const field& f : type.fields)
        if (f.kind != field_kind::reserved && f.component != 0) (text += ' ') += f.name;
    return text;
}

} // namespace

std::string set_component(const record_type& type, void* host, std::uint64_t& mask,
                          std::string_view name, std::string_view value) {
    const auto [f, index, indexed] = look_up(type, name);
    if (f == nullptr || f->component == 0) return unknown_field(type, name);
    const bool items =
        f->count > 1 && static_cast<std::size_t>(std::popcount(f->component)) == f->count;
    if (indexed != items || index >= f->count)
        return wrong(name, items
                               ? std::string(f->name) + "[0.." + std::to_string(f->count - 1) + "]"
                               : "no index");
    switch (f->kind) {
    case field_kind::gid:
        if (!set_gid(*f, host, value)) return wrong(name, "a GID such as fe80::1");
        break;
    case field_kind::key128:
        if (!set_key(*f, host, value)) return wrong(name, "0x and up to 32 hexadecimal digits");
        break;
    case field_kind::text:
        if (!set_text(*f, host, value))
            return wrong(name, "at most " + std::to_string(f->count - 1) + " bytes");
        break;
    default:
        if (f->count > 1 && !items) return wrong(name, "another field: a table is no component");
        const auto number = value_of(*f, value);
        if (!number) return wrong(name, expected_number(*f));
        set_element(*f, host, index, *number);
    }
    mask |= component_of(*f, index);
    return {};
}

} // namespace irpverbs::saa
