// Attributes with tables, read and written in blocks.
#include "sma.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr std::size_t pkeys_per_block = 32;
constexpr std::size_t lids_per_block = 64;
constexpr std::size_t mlids_per_block = 32;
constexpr std::size_t sl_to_vl_bytes = sizeof(sl_to_vl_map);
constexpr std::size_t max_linear = 0xC000;
constexpr std::size_t max_multicast = 0x1000;

// Returns the port of a switch that the modifier selects; on other nodes the port at which the SMP
// arrived.
port* named_port(const attribute_access& with, std::size_t number) {
    if (!with.here.switches()) return &with.in;
    return number < with.here.ports.size() ? &with.here.ports[number] : nullptr;
}

} // namespace

// Source: IBA 14.2.5.7.
USHORT pkey_table(const attribute_access& with) {
    port* at = named_port(with, with.modifier >> 16);
    const std::size_t first = (with.modifier & 0xFFFF) * pkeys_per_block;
    if (at == nullptr || first >= at->pkeys.size()) return status_bad_field;
    const std::size_t count = std::min(pkeys_per_block, at->pkeys.size() - first);
    bool changed = false;
    for (std::size_t i = 0; with.set && i < count; ++i) {
        const ib_pkey_t wanted = load16(&with.data[2 * i]);
        changed |= std::exchange(at->pkeys[first + i], wanted) != wanted;
    }
    if (changed) with.where.raise(*at, IB_AE_PKEY_CHANGE);
    std::ranges::fill(with.data, UCHAR{0});
    for (std::size_t i = 0; i < count; ++i)
        store<2>(&with.data[2 * i], at->pkeys[first + i]);
    return status_ok;
}

// On a switch the modifier selects the input and output port. Source: IBA 14.2.5.8.
USHORT sl_to_vl_table(const attribute_access& with) {
    const ULONG ports = with.here.switches() ? with.modifier & 0xFFFF : with.in.number;
    const std::size_t count = with.here.ports.size();
    if ((with.modifier >> 16) != 0 || ports >> 8 >= count || (ports & 0xFF) >= count)
        return status_bad_field;
    auto& tables = with.here.sl_to_vl;
    const auto key = static_cast<USHORT>(ports);
    if (with.set) std::ranges::copy(with.data.first<sl_to_vl_bytes>(), tables[key].begin());
    const auto place = tables.find(key);
    const sl_to_vl_map& now = place == tables.end() ? default_sl_to_vl : place->second;
    std::ranges::fill(with.data, UCHAR{0});
    std::ranges::copy(now, with.data.begin());
    return status_ok;
}

// Blocks 1 and 2: low priority, 3 and 4: high. Source: IBA 14.2.5.9.
USHORT vl_arbitration_table(const attribute_access& with) {
    port* at = named_port(with, with.modifier & 0xFF);
    const std::size_t block = with.modifier >> 16;
    if (at == nullptr || block == 0 || block > vl_arbitration::blocks) return status_bad_field;
    if (at->arbitration == nullptr) at->arbitration = std::make_unique<vl_arbitration>();
    auto& now = at->arbitration->block[block - 1];
    if (with.set) std::ranges::copy(with.data, now.begin());
    std::ranges::copy(now, with.data.begin());
    return status_ok;
}

// Source: IBA 14.2.5.10.
USHORT linear_forwarding_table(const attribute_access& with) {
    if (!with.here.switches()) return status_bad_attribute;
    std::vector<UCHAR>& table = with.here.forwarding;
    const std::size_t first = std::size_t{with.modifier} * lids_per_block;
    if (first >= max_linear) return status_bad_field;
    if (with.set) {
        table.resize(std::max(table.size(), first + lids_per_block), node::no_port);
        std::ranges::copy(with.data, table.begin() + static_cast<std::ptrdiff_t>(first));
    }
    for (std::size_t i = 0; i < lids_per_block; ++i)
        with.data[i] = first + i < table.size() ? table[first + i] : node::no_port;
    return status_ok;
}

// The modifier selects a block of MLIDs and, in the highest bits, 16 ports. Source: IBA 14.2.5.12.
USHORT multicast_forwarding_table(const attribute_access& with) {
    if (!with.here.switches()) return status_bad_attribute;
    std::vector<USHORT>& table = with.here.multicasting;
    const std::size_t masks = with.here.masks();
    const std::size_t position = with.modifier >> 28;
    const std::size_t first = (with.modifier & 0x0FFFFFFF) * mlids_per_block;
    if (first >= max_multicast || position >= masks) return status_bad_field;
    if (with.set) table.resize(std::max(table.size(), (first + mlids_per_block) * masks));
    for (std::size_t i = 0; i < mlids_per_block; ++i) {
        const std::size_t place = (first + i) * masks + position;
        if (with.set) table[place] = load16(&with.data[2 * i]);
        store<2>(&with.data[2 * i], place < table.size() ? table[place] : 0);
    }
    return status_ok;
}

} // namespace irpverbs::hca_software
