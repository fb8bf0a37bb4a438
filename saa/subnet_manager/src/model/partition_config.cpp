// The parser of partitions.conf.
#include "partitions.hpp"

#include <dispatch/support/numbers.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <iterator>
#include <set>
#include <utility>

namespace irpverbs::subnet_manager {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// With "both", OpenSM gives a port two keys; this manager gives it the full one.
std::optional<membership> membership_in(std::string_view text) {
    if (text == "full" || text == "both") return membership::full;
    if (text == "limited") return membership::limited;
    return std::nullopt;
}

// The clauses of a group.
struct group_clauses {
    planned_group group;
    std::optional<ib_qkey_t> qkey;
    std::vector<std::uint8_t> scopes;
};

struct group_clause {
    std::string_view name;
    std::uint64_t least, most;
    void (*take)(group_clauses& into, std::uint64_t value);
};

constexpr char clause_names[] = "rate=, mtu=, sl=, scope=, Q_Key=, TClass= or FlowLabel=";
constexpr group_clause all_clauses[] = {
    {"rate", 2, 22, [](auto& to, auto n) { to.group.rate = static_cast<std::uint8_t>(n); }},
    {"mtu", 1, 5, [](auto& to, auto n) { to.group.mtu = static_cast<std::uint8_t>(n); }},
    {"sl", 0, 15, [](auto& to, auto n) { to.group.sl = static_cast<std::uint8_t>(n); }},
    {"scope", 0, 15, [](auto& to, auto n) { to.scopes.push_back(static_cast<std::uint8_t>(n)); }},
    {"Q_Key", 0, 0xffffffff, [](auto& to, auto n) { to.qkey = static_cast<ib_qkey_t>(n); }},
    {"TClass", 0, 255, [](auto& to, auto n) { to.group.tclass = static_cast<std::uint8_t>(n); }},
    {"FlowLabel", 0, 0xfffff,
     [](auto& to, auto n) { to.group.flow_label = static_cast<std::uint32_t>(n); }},
};

constexpr unsigned scope_shift = 48;
constexpr unsigned signature_shift = 32;
constexpr unsigned pkey_shift = 16;
constexpr std::uint16_t ipv4 = 0x401b, ipv6 = 0x601b;
constexpr ib_qkey_t ipoib_qkey = 0xb1b;

// Whether the group is IPoIB's. Source: RFC 4391, 4 (the multicast GID).
bool is_of_ip(const ib_gid_t& mgid) {
    const auto signature = static_cast<std::uint16_t>(mgid.gid_prefix >> signature_shift);
    return signature == ipv4 || signature == ipv6;
}

ib_gid_t with_scope(ib_gid_t mgid, std::uint8_t scope) {
    mgid.gid_prefix &= ~(std::uint64_t{0xf} << scope_shift);
    mgid.gid_prefix |= std::uint64_t{scope} << scope_shift;
    return mgid;
}

std::optional<ib_gid_t> multicast_gid_in(std::string_view text) {
    std::uint8_t raw[sizeof(ib_gid_t)];
    if (inet_pton(AF_INET6, std::string(text).c_str(), raw) != 1 || raw[0] != 0xff)
        return std::nullopt;
    return ib_gid_t{boost::endian::load_big_u64(&raw[0]), boost::endian::load_big_u64(&raw[8])};
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

// A partition during the parsing.
struct parsed_partition {
    partition made;
    membership default_membership = membership::limited;
    group_clauses broadcast;
    bool ipoib = false;

    ib_pkey_t key() const { return static_cast<ib_pkey_t>(made.pkey | 0x8000); }
};

class reader {
public:
    reader(std::string_view text, std::string_view file) : file_(file), text_(text) {
        bool in_comment = false;
        for (char& c : text_) { // comments become blanks, so that line numbers stay correct
            in_comment = c != '\n' && (in_comment || c == '#');
            if (in_comment) c = ' ';
        }
    }

    bool read(std::vector<partition>& out) {
        std::string_view rest = text_;
        while (!trimmed(rest).empty()) {
            const std::size_t end = rest.find(';');
            if (end == rest.npos) return wrong(rest, "';' at the end of a partition");
            parsed_partition parsed;
            if (!read_partition(rest.substr(0, end), parsed)) return false;
            if (std::ranges::find(out, parsed.made.pkey, &partition::pkey) != out.end())
                return wrong(rest, "a P_Key that no partition above has");
            out.push_back(std::move(parsed.made));
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
    bool for_each_part(std::string_view list, char separator, const Each& each) {
        while (!trimmed(list).empty()) {
            const std::size_t end = std::min(list.find(separator), list.size());
            if (!each(list.substr(0, end))) return false;
            list.remove_prefix(std::min(end + 1, list.size()));
        }
        return true;
    }

    bool read_partition(std::string_view text, parsed_partition& parsed) {
        const std::size_t colon = text.find(':');
        if (colon == text.npos) return wrong(text, "':' between a partition and its members");
        bool first = true;
        const bool ok = for_each_part(text.substr(0, colon), ',', [&](std::string_view item) {
            const bool is_key = std::exchange(first, false);
            return is_key ? read_key(item, parsed.made) : read_flag(item, parsed);
        });
        if (first) return wrong(text, "Name=0xKEY");
        if (!ok || (parsed.ipoib && !add_broadcast(text, parsed))) return false;
        parsed.made.sl = parsed.broadcast.group.sl;
        return for_each_part(text.substr(colon + 1), '\n', [&](std::string_view line) {
            return trimmed(line).starts_with("mgid") ? read_group(line, parsed)
                                                     : read_members(line, parsed);
        });
    }

    bool read_members(std::string_view line, parsed_partition& parsed) {
        return for_each_part(line, ',', [&](std::string_view item) {
            return trimmed(item).empty() ||
                   read_member(item, parsed.made, parsed.default_membership);
        });
    }

    bool add_broadcast(std::string_view at, parsed_partition& parsed) {
        parsed.broadcast.group.mgid = {std::uint64_t{0xff12} << scope_shift |
                                           std::uint64_t{ipv4} << signature_shift |
                                           std::uint64_t{parsed.key()} << pkey_shift,
                                       0xffffffff};
        return add_groups(at, parsed.broadcast, parsed);
    }

    // Reads a line `mgid=GID [, clause]...`. Missing clauses are those of the partition, except
    // TClass, as in OpenSM.
    bool read_group(std::string_view line, parsed_partition& parsed) {
        group_clauses clauses = parsed.broadcast;
        clauses.scopes.clear();
        clauses.group.tclass = 0;
        const std::size_t comma = std::min(line.find(','), line.size());
        const auto mgid = multicast_gid_in(split(line.substr(0, comma)).value);
        if (!mgid) return wrong(line, "mgid=ff..., a multicast GID");
        clauses.group.mgid = *mgid;
        const bool ok = for_each_part(
            line.substr(std::min(comma + 1, line.size())), ',',
            [&](std::string_view item) { return read_clause(item, clauses, clause_names); });
        if (clauses.scopes.empty()) clauses.scopes = parsed.broadcast.scopes;
        return ok && fits_ip(line, clauses.group, parsed) && add_groups(line, clauses, parsed);
    }

    // A group of IPoIB has the partition's P_Key in its GID, and the values of the broadcast group.
    bool fits_ip(std::string_view at, planned_group& group, const parsed_partition& parsed) {
        if (!is_of_ip(group.mgid)) return true;
        if (!parsed.ipoib) return wrong(at, "ipoib in a partition with a group of IPoIB");
        const auto key = static_cast<ib_pkey_t>(group.mgid.gid_prefix >> pkey_shift);
        if (key == 0) group.mgid.gid_prefix |= std::uint64_t{parsed.key()} << pkey_shift;
        if (key != 0 && key != parsed.key())
            return wrong(at, "the partition's P_Key, or 0, in the GID of a group of IPoIB");
        const planned_group& broadcast = parsed.broadcast.group;
        if (group.mtu != broadcast.mtu || group.rate != broadcast.rate)
            return wrong(at, "the MTU and the rate of the partition's broadcast group");
        return true;
    }

    // Adds one group per scope.
    bool add_groups(std::string_view at, const group_clauses& clauses, parsed_partition& parsed) {
        planned_group group = clauses.group;
        group.pkey = parsed.key();
        group.qkey = clauses.qkey.value_or(is_of_ip(group.mgid) ? ipoib_qkey : 0);
        if (clauses.scopes.empty()) return add_group(at, group, parsed);
        return std::ranges::all_of(clauses.scopes, [&](std::uint8_t scope) {
            group.mgid = with_scope(group.mgid, scope);
            return add_group(at, group, parsed);
        });
    }

    bool add_group(std::string_view at, const planned_group& group, parsed_partition& parsed) {
        if (!mgids_.emplace(group.mgid.gid_prefix, group.mgid.gid_guid).second)
            return wrong(at, "an MGID that no group above has");
        if (mgids_.size() > max_planned_groups)
            return wrong(at, "no more than " + std::to_string(max_planned_groups) + " groups");
        parsed.made.groups.push_back(group);
        return true;
    }

    bool read_clause(std::string_view item, group_clauses& into, const std::string& expected) {
        const auto [name, value, has_value] = split(item);
        const auto clause = std::ranges::find(all_clauses, name, &group_clause::name);
        if (clause == std::end(all_clauses)) return wrong(item, expected);
        const auto number = dispatch::number_in(value);
        if (!number || *number < clause->least || *number > clause->most)
            return wrong(item, std::string(name) + "=" + std::to_string(clause->least) + ".." +
                                   std::to_string(clause->most));
        clause->take(into, *number);
        return true;
    }

    bool read_key(std::string_view item, partition& p) {
        const auto [name, value, has_value] = split(item);
        const auto key = dispatch::number_in(value);
        if (!key || *key > 0xffff || (*key & 0x7fff) == 0)
            return wrong(item, "Name=0xKEY with a P_Key of 1 to 0x7fff");
        p.name = name;
        p.pkey = static_cast<ib_pkey_t>(*key & 0x7fff);
        return true;
    }

    bool read_flag(std::string_view item, parsed_partition& parsed) {
        const auto [name, value, has_value] = split(item);
        if (name == "ipoib" && !has_value) {
            parsed.ipoib = true;
            return true;
        }
        if (name == "defmember") {
            const auto is = membership_in(value);
            if (!is) return wrong(item, "defmember=full, limited or both");
            parsed.default_membership = *is;
            return true;
        }
        return read_clause(item, parsed.broadcast,
                           "ipoib, defmember=, " + std::string(clause_names));
    }

    bool read_member(std::string_view item, partition& p, membership default_membership) {
        const auto [name, value, has_value] = split(item);
        const auto is = has_value ? membership_in(value) : std::optional(default_membership);
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
        const auto guid = dispatch::number_in(name);
        if (!guid || *guid == 0)
            return wrong(item, "a port GUID, ALL, ALL_CAS, ALL_SWITCHES or SELF");
        membership& port = p.ports[*guid];
        port = std::max(port, *is);
        return true;
    }

    std::string_view file_;
    std::string text_;
    std::string error_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> mgids_;
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
    // Without the default partition no port could reach the subnet manager.
    if (!has_default) partitions.insert(partitions.begin(), partition_table().partitions().front());
    return partition_table(std::move(partitions));
}

} // namespace irpverbs::subnet_manager
