#include "partitions.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

constexpr ib_pkey_t key_bits = 0x7fff;
constexpr ib_pkey_t full_bit = 0x8000;

bool may_talk(ib_pkey_t a, ib_pkey_t b) {
    return (a & key_bits) != 0 && (a & key_bits) == (b & key_bits) && ((a | b) & full_bit) != 0;
}

} // namespace

partition_table::partition_table() {
    partition standard;
    standard.name = "Default";
    standard.pkey = key_bits;
    standard.all = membership::limited;
    standard.self = membership::full;
    partitions_.push_back(std::move(standard));
}

const partition* partition_table::find(ib_pkey_t pkey) const {
    for (const partition& p : partitions_)
        if (((p.pkey ^ pkey) & key_bits) == 0) return &p;
    return nullptr;
}

membership partition_table::of(const partition& p, ib_guid_t port_guid, std::uint8_t node_type,
                               ib_guid_t manager_guid) const {
    membership is = p.all;
    if (node_type == SM_NODE_TYPE_CA) is = std::max(is, p.all_cas);
    if (node_type == SM_NODE_TYPE_SWITCH) is = std::max(is, p.all_switches);
    if (port_guid == manager_guid) is = std::max(is, p.self);
    if (const auto named = p.ports.find(port_guid); named != p.ports.end())
        is = std::max(is, named->second);
    return is;
}

std::vector<ib_pkey_t> partition_table::keys_of(ib_guid_t port_guid, std::uint8_t node_type,
                                                ib_guid_t manager_guid) const {
    std::vector<ib_pkey_t> keys;
    for (const partition& p : partitions_) {
        const membership is = of(p, port_guid, node_type, manager_guid);
        if (is == membership::none) continue;
        const auto key =
            static_cast<ib_pkey_t>((p.pkey & key_bits) | (is == membership::full ? full_bit : 0));
        keys.insert((p.pkey & key_bits) == key_bits ? keys.begin() : keys.end(), key);
    }
    return keys;
}

sm_pkey_table_t pkey_block(std::span<const ib_pkey_t> keys, std::uint16_t number) {
    sm_pkey_table_t block{};
    const std::size_t first = std::size_t{number} * 32;
    for (std::size_t i = 0; i < 32 && first + i < keys.size(); ++i)
        block.P_KeyTableBlock[i] = keys[first + i];
    return block;
}

std::optional<ib_pkey_t> shared_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b) {
    std::optional<ib_pkey_t> lowest;
    for (const ib_pkey_t mine : a)
        for (const ib_pkey_t theirs : b)
            if (may_talk(mine, theirs) && (!lowest || (mine & key_bits) < (*lowest & key_bits)))
                lowest = mine;
    return lowest;
}

bool holds_key(std::span<const ib_pkey_t> keys, ib_pkey_t wanted) {
    return std::ranges::any_of(keys, [&](ib_pkey_t key) {
        return (key & key_bits) != 0 && ((key ^ wanted) & key_bits) == 0;
    });
}

bool share_key(std::span<const ib_pkey_t> a, std::span<const ib_pkey_t> b, ib_pkey_t wanted) {
    for (const ib_pkey_t mine : a)
        for (const ib_pkey_t theirs : b)
            if (may_talk(mine, theirs) && ((mine ^ wanted) & key_bits) == 0) return true;
    return false;
}

} // namespace irpverbs::subnet_manager
