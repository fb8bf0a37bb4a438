// The fields of the attributes of performance management.
#include "attributes.hpp"

#include <array>

namespace irpctl {

namespace saa = irpverbs::saa;

namespace {

/// The position of a number on the wire, in bits, and its width.
struct place {
    const char* name;
    std::uint16_t bit;
    std::uint16_t width;
};

// Returns the fields of a host structure whose members have 64 bits each.
template <std::size_t N>
constexpr std::array<saa::field, N> fields_of(const std::array<place, N>& places) {
    std::array<saa::field, N> made{};
    for (std::size_t i = 0; i < N; ++i)
        made[i] = {places[i].name,
                   saa::field_kind::number,
                   1,
                   places[i].bit,
                   places[i].width,
                   places[i].width,
                   static_cast<std::uint16_t>(i * 8),
                   8,
                   8,
                   0,
                   0,
                   {}};
    return made;
}

constexpr auto counters = fields_of(std::to_array<place>({
    {"PortSelect", 8, 8},
    {"CounterSelect", 16, 16},
    {"SymbolErrorCounter", 32, 16},
    {"LinkErrorRecoveryCounter", 48, 8},
    {"LinkDownedCounter", 56, 8},
    {"PortRcvErrors", 64, 16},
    {"PortRcvRemotePhysicalErrors", 80, 16},
    {"PortRcvSwitchRelayErrors", 96, 16},
    {"PortXmitDiscards", 112, 16},
    {"PortXmitConstraintErrors", 128, 8},
    {"PortRcvConstraintErrors", 136, 8},
    {"CounterSelect2", 144, 8},
    {"LocalLinkIntegrityErrors", 152, 4},
    {"ExcessiveBufferOverrunErrors", 156, 4},
    {"VL15Dropped", 176, 16},
    {"PortXmitData", 192, 32},
    {"PortRcvData", 224, 32},
    {"PortXmitPkts", 256, 32},
    {"PortRcvPkts", 288, 32},
    {"PortXmitWait", 320, 32},
}));

constexpr auto extended_counters = fields_of(std::to_array<place>({
    {"PortSelect", 8, 8},
    {"CounterSelect", 16, 16},
    {"CounterSelect2", 32, 32},
    {"PortXmitData", 64, 64},
    {"PortRcvData", 128, 64},
    {"PortXmitPkts", 192, 64},
    {"PortRcvPkts", 256, 64},
    {"PortUnicastXmitPkts", 320, 64},
    {"PortUnicastRcvPkts", 384, 64},
    {"PortMulticastXmitPkts", 448, 64},
    {"PortMulticastRcvPkts", 512, 64},
}));

template <std::size_t N>
constexpr saa::record_type layout_of(const char* name, std::uint16_t wire_size,
                                     const std::array<saa::field, N>& fields) {
    return {name, 0, wire_size, wire_size, static_cast<std::uint16_t>(N * 8), fields};
}

} // namespace

constinit const saa::record_type port_counters = layout_of("PortCounters", 44, counters);
constinit const saa::record_type port_counters_extended =
    layout_of("PortCountersExtended", 72, extended_counters);

} // namespace irpctl
