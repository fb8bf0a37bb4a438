// The text form of partitions.
#include "partitions.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace irpverbs::subnet_manager {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, wrong] =
        std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || wrong != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// "both" gives a port two keys in OpenSM; here the stronger one holds.
std::optional<membership> membership_in(std::string_view text) {
    if (text == "full" || text == "both") return membership::full;
    if (text == "limited") return membership::limited;
    return std::nullopt;
}

struct word {
    std::string_view name;
    std::string_view value; // after '='
    bool has_value = false;
};

word split(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return {trimmed(text), {}, false};
    return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)), true};
}

class reader {
public:
    reader(std::string_view text, std::string_view file) : file_(file), text_(text) {
        bool in_comment = false;
        for (char& c : text_) { // comments become blanks, so that lines can still be counted
            in_comment = c != '\n' && (in_comment || c == '#');
            if (in_comment) c = ' ';
        }
    }

    bool read(std::vector<partition>& out) {
        std::string_view rest = text_;
        while (!trimmed(rest).empty()) {
            const std::size_t end = rest.find(';');
            if (end == rest.npos) return wrong(rest, "';' at the end of a partition");
            partition p;
            if (!read_partition(rest.substr(0, end), p)) return false;
            if (std::ranges::find(out, p.pkey, &partition::pkey) != out.end())
                return wrong(rest, "a P_Key that no partition above has");
            out.push_back(std::move(p));
            rest.remove_prefix(end + 1);
        }
        return true;
    }

    const std::string& error() const { return error_; }

private:
    bool wrong(std::string_view at, const std::string& expected) {
        const std::size_t blank = std::min(at.find_first_not_of(" \t\r\n"), at.size());
        const char* place = at.data() + blank;
        const auto line = 1 + std::count(static_cast<const char*>(text_.data()), place, '\n');
        error_ = std::string(file_) + ":" + std::to_string(line) + ": expected " + expected;
        return false;
    }

    template <class Each>
    bool for_each_word(std::string_view list, const Each& each) {
        while (!trimmed(list).empty()) {
            const std::size_t comma = std::min(list.find(','), list.size());
            if (!each(list.substr(0, comma))) return false;
            list.remove_prefix(std::min(comma + 1, list.size()));
        }
        return true;
    }

    bool read_partition(std::string_view text, partition& p) {
        const std::size_t colon = text.find(':');
        if (colon == text.npos) return wrong(text, "':' between a partition and its members");
        bool first = true;
        membership usual = membership::limited;
        const bool ok = for_each_word(text.substr(0, colon), [&](std::string_view item) {
            const bool is_key = std::exchange(first, false);
            return is_key ? read_key(item, p) : read_flag(item, p, usual);
        });
        if (first) return wrong(text, "Name=0xKEY");
        return ok && for_each_word(text.substr(colon + 1), [&](std::string_view item) {
                   return read_member(item, p, usual);
               });
    }

    bool read_key(std::string_view item, partition& p) {
        const auto [name, value, has_value] = split(item);
        const auto key = number_in(value);
        if (!key || *key > 0xffff || (*key & 0x7fff) == 0)
            return wrong(item, "Name=0xKEY with a P_Key of 1 to 0x7fff");
        p.name = name;
        p.pkey = static_cast<ib_pkey_t>(*key & 0x7fff);
        return true;
    }

    bool read_flag(std::string_view item, partition& p, membership& usual) {
        const auto [name, value, has_value] = split(item);
        if (name == "ipoib" && !has_value) {
            p.ipoib = true;
            return true;
        }
        if (name == "defmember") {
            const auto is = membership_in(value);
            if (!is) return wrong(item, "defmember=full, limited or both");
            usual = *is;
            return true;
        }
        std::uint8_t* target = name == "sl"     ? &p.sl
                               : name == "mtu"  ? &p.mtu
                               : name == "rate" ? &p.rate
                                                : nullptr;
        if (target == nullptr) return wrong(item, "ipoib, sl=, mtu=, rate= or defmember=");
        const auto number = number_in(value);
        const std::uint64_t most = name == "sl" ? 15 : name == "mtu" ? 5 : 22;
        if (!number || *number > most)
            return wrong(item, std::string(name) + "=0.." + std::to_string(most));
        *target = static_cast<std::uint8_t>(*number);
        return true;
    }

    bool read_member(std::string_view item, partition& p, membership usual) {
        const auto [name, value, has_value] = split(item);
        const auto is = has_value ? membership_in(value) : std::optional(usual);
        if (!is) return wrong(item, "full, limited or both");
        membership* group = name == "ALL"            ? &p.all
                            : name == "ALL_CAS"      ? &p.all_cas
                            : name == "ALL_SWITCHES" ? &p.all_switches
                            : name == "SELF"         ? &p.self
                                                     : nullptr;
        if (group != nullptr) {
            *group = std::max(*group, *is);
            return true;
        }
        const auto guid = number_in(name);
        if (!guid || *guid == 0)
            return wrong(item, "a port GUID, ALL, ALL_CAS, ALL_SWITCHES or SELF");
        membership& port = p.ports[*guid];
        port = std::max(port, *is);
        return true;
    }

    std::string_view file_;
    std::string text_;
    std::string error_;
};

} // namespace

std::optional<partition_table> parse_partitions(std::string_view text, std::string_view file,
                                                std::string& error) {
    std::vector<partition> partitions;
    reader source(text, file);
    if (!source.read(partitions)) {
        error = source.error();
        return std::nullopt;
    }
    const bool has_default =
        std::ranges::find(partitions, ib_pkey_t{0x7fff}, &partition::pkey) != partitions.end();
    // Without it nobody could reach the subnet manager.
    if (!has_default) partitions.insert(partitions.begin(), partition_table().partitions().front());
    return partition_table(std::move(partitions));
}

} // namespace irpverbs::subnet_manager
