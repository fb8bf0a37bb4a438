// P_Key partitions: who is a member of what.
#pragma once

#include "topology.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::subnet_manager {

enum class membership : std::uint8_t { none, limited, full };

/// A multicast group that is there as long as the subnet manager is. MTU and rate are codes.
struct planned_group {
    ib_gid_t mgid{};
    ib_pkey_t pkey = 0; // bit 15 set
    ib_qkey_t qkey = 0;
    std::uint8_t mtu = 4;
    std::uint8_t rate = 3;
    std::uint8_t sl = 0;
    std::uint8_t tclass = 0;
    std::uint32_t flow_label = 0;
};

/// As many as there are MLIDs for.
inline constexpr std::size_t most_planned_groups = 1024;

struct partition {
    std::string name;
    ib_pkey_t pkey = 0; // low 15 bits
    std::uint8_t sl = 0;
    std::vector<planned_group> groups; // the broadcast group first, if it is for IPoIB
    membership all = membership::none; // every end port
    membership all_cas = membership::none;
    membership all_switches = membership::none;
    membership self = membership::none; // the subnet manager's port
    std::map<ib_guid_t, membership> ports;
};

class partition_table {
public:
    /// The default partition: all are limited members, the subnet manager is a full one.
    partition_table();
    explicit partition_table(std::vector<partition> partitions)
        : partitions_(std::move(partitions)) {}

    std::span<const partition> partitions() const { return partitions_; }
    const partition* find(ib_pkey_t pkey) const; // compares the low 15 bits

    membership of(const partition& p, ib_guid_t port_guid, std::uint8_t node_type,
                  ib_guid_t manager_guid) const;

    /// The P_Keys of a port, bit 15 set for full membership; the default partition's first.
    std::vector<ib_pkey_t> keys_of(ib_guid_t port_guid, std::uint8_t node_type,
                                   ib_guid_t manager_guid) const;

private:
    std::vector<partition> partitions_;
};

/// Entries 32 x block .. +31 of a port's keys, as a P_KeyTable holds them.
sm_pkey_table_t pkey_block(std::span<const ib_pkey_t> keys, std::uint16_t number);

/// A key that both hold and one of them as a full member; as the first holds it. Of several the
/// lowest, as OpenSM. Source: IBA 10.9.3.
std::optional<ib_pkey_t> shared_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b);
/// As a full or a limited member.
bool holds_key(std::span<const ib_pkey_t> keys, ib_pkey_t wanted);
bool share_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b, ib_pkey_t wanted);

/// Reads the format of OpenSM's partitions.conf: `Name=0xKEY [, flag[=value]]... : member[=full|
/// limited|both] [, member]... ;` with members ALL, ALL_CAS, ALL_SWITCHES, SELF or port GUIDs,
/// flags ipoib, defmember= and the clauses of the broadcast group that ipoib makes: rate=, mtu=,
/// sl= (of the partition's paths, too), scope= (one group each), Q_Key=, TClass=, FlowLabel=. A
/// line among the members `mgid=GID [, clause]...` makes another group; clauses that it lacks are
/// the partition's. # begins a comment. On a mistake nullopt, and `error` is "file:line: what was
/// expected".
std::optional<partition_table> parse_partitions(std::string_view text, std::string_view file,
                                                std::string& error);

} // namespace irpverbs::subnet_manager
