// P_Key partitions and their members.
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

/// A multicast group that exists as long as the subnet manager runs. MTU and rate are codes.
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

/// The number of MLIDs.
inline constexpr std::size_t max_planned_groups = 1024;

struct partition {
    std::string name;
    ib_pkey_t pkey = 0; // low 15 bits
    std::uint8_t sl = 0;
    std::vector<planned_group> groups; // for IPoIB the broadcast group is first
    membership all = membership::none; // every end port
    membership all_cas = membership::none;
    membership all_switches = membership::none;
    membership self = membership::none; // the subnet manager's port
    std::map<ib_guid_t, membership> ports;
};

class partition_table {
public:
    /// The default partition: all ports are limited members, the subnet manager's port is a full
    /// one.
    partition_table();
    explicit partition_table(std::vector<partition> partitions)
        : partitions_(std::move(partitions)) {}

    std::span<const partition> partitions() const { return partitions_; }
    const partition* find(ib_pkey_t pkey) const; // compares the low 15 bits

    membership of(const partition& p, ib_guid_t port_guid, std::uint8_t node_type,
                  ib_guid_t manager_guid) const;

    /// Returns the P_Keys of a port, with bit 15 for full membership; the default partition's is
    /// first.
    std::vector<ib_pkey_t> keys_of(ib_guid_t port_guid, std::uint8_t node_type,
                                   ib_guid_t manager_guid) const;

private:
    std::vector<partition> partitions_;
};

/// Returns entries 32 x block .. +31 of a port's keys, in the format of a P_KeyTable.
sm_pkey_table_t pkey_block(std::span<const ib_pkey_t> keys, std::uint16_t number);

/// Returns a key that both ports hold, one of them as a full member, in the form of the first port.
/// Selects the lowest of several keys, as OpenSM. Source: IBA 10.9.3.
std::optional<ib_pkey_t> shared_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b);
/// Whether the port holds the key, as a full or a limited member.
bool holds_key(std::span<const ib_pkey_t> keys, ib_pkey_t wanted);
bool share_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b, ib_pkey_t wanted);

/// Reads the format of OpenSM's partitions.conf: `Name=0xKEY [, flag[=value]]... : member[=full|
/// limited|both] [, member]... ;` with members ALL, ALL_CAS, ALL_SWITCHES, SELF or port GUIDs,
/// flags ipoib, defmember= and the clauses of ipoib's broadcast group: rate=, mtu=, sl= (of the
/// partition's paths, too), scope= (one group each), Q_Key=, TClass=, FlowLabel=. A line `mgid=GID
/// [, clause]...` among the members defines a further group, with the partition's values for
/// missing clauses. # begins a comment. Returns nullopt after an error, and `error` is "file:line:
/// what was expected".
std::optional<partition_table> parse_partitions(std::string_view text, std::string_view file,
                                                std::string& error);

} // namespace irpverbs::subnet_manager
