#include <engine/class_mapping.hpp>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint16_t attribute_sm_info = 0x0020;

constexpr method_set nothing{};
constexpr method_set get_set{MAD_METHOD_GET, MAD_METHOD_SET};
constexpr method_set send{MAD_METHOD_SEND};
constexpr method_set trap{MAD_METHOD_TRAP};
constexpr method_set report{MAD_METHOD_REPORT};
// Get, Set, GetTable, GetTraceTable, GetMulti, Delete. Source: IBA table 185.
constexpr method_set sa_requests{0x01, 0x02, 0x12, 0x13, 0x14, 0x15};

constexpr method_set all_requests() {
    method_set all;
    for (std::uint32_t& each : all.bits)
        each = 0xFFFF'FFFF;
    all.bits[0] &= ~(1u | 1u << MAD_METHOD_TRAP_REPRESS);
    return all;
}

constexpr client_mapping smp(const method_set& own) {
    return {{class_mapping{MAD_MGMT_CLASS_SUBN_LID_ROUTED, own, get_set},
             class_mapping{MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE, own, get_set}},
            true};
}

constexpr client_mapping one(int mgmt_class, const method_set& own, const method_set& shared = {}) {
    return {{class_mapping{static_cast<std::uint8_t>(mgmt_class), own, shared}}, true};
}

} // namespace

client_mapping client_mapping_of(ibmf_client_type_t type) {
    switch (type) {
    case SUBN_AGENT:
        return smp(nothing);
    case SUBN_MANAGER:
        return smp(trap);
    case SUBN_ADM_AGENT:
        return one(MAD_MGMT_CLASS_SUBN_ADM, sa_requests);
    case SUBN_ADM_MANAGER:
        return one(MAD_MGMT_CLASS_SUBN_ADM, report);
    case PERF_AGENT:
        return one(MAD_MGMT_CLASS_PERF, get_set);
    case PERF_MANAGER:
        return one(MAD_MGMT_CLASS_PERF, nothing);
    case BM_AGENT:
        return one(MAD_MGMT_CLASS_BM, get_set, send);
    case BM_MANAGER:
        return one(MAD_MGMT_CLASS_BM, trap, send);
    case DEV_MGT_AGENT:
        return one(MAD_MGMT_CLASS_DEV_MGT, get_set);
    case DEV_MGT_MANAGER:
        return one(MAD_MGMT_CLASS_DEV_MGT, trap);
    default:
        break;
    }
    const auto value = static_cast<std::uint32_t>(type);
    const std::uint32_t mgmt_class = value & 0xFFFF;
    const bool both = value >> 16 == 3 && mgmt_class >= MAD_MGMT_CLASS_COMM_MGT &&
                      mgmt_class <= MAD_MGMT_CLASS_VENDOR2_END;
    return both ? one(static_cast<int>(mgmt_class), all_requests()) : client_mapping{};
}

// SMInfo is exchanged between subnet managers. In the baseboard class bit 0 of the modifier selects
// the receiver.
ibmf_client_type_t receiver_of(const mad_view& received) {
    const mad_header& header = received.header();
    if (is_smp(header.mgmt_class))
        return header.attribute_id == attribute_sm_info ? SUBN_MANAGER : SUBN_AGENT;
    return (header.attribute_modifier & 1) != 0 ? BM_MANAGER : BM_AGENT;
}

std::uint8_t version_of(std::uint8_t mgmt_class) {
    return mgmt_class == MAD_MGMT_CLASS_SUBN_ADM || mgmt_class == MAD_MGMT_CLASS_COMM_MGT ? 2 : 1;
}

} // namespace irpverbs::ibmf
