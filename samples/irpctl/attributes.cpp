#include "attributes.hpp"

#include <dispatch/support/numbers.hpp>
#include <ibmf/ib_mad.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace irpctl {

namespace saa = irpverbs::saa;

namespace {

struct named_number {
    const char* name;
    std::uint8_t value;
};

constexpr named_number classes[] = {
    {"smp", MAD_MGMT_CLASS_SUBN_LID_ROUTED}, {"directed", MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE},
    {"sa", MAD_MGMT_CLASS_SUBN_ADM},         {"perf", MAD_MGMT_CLASS_PERF},
    {"baseboard", MAD_MGMT_CLASS_BM},        {"device", MAD_MGMT_CLASS_DEV_MGT},
    {"cm", MAD_MGMT_CLASS_COMM_MGT},         {"snmp", MAD_MGMT_CLASS_SNMP},
};

// The SA has methods of its own. Source: IBA tables 102 and 185.
constexpr named_number methods[] = {
    {"Get", 0x01},          {"Set", 0x02},          {"Send", 0x03},       {"Trap", 0x05},
    {"Report", 0x06},       {"TrapRepress", 0x07},  {"GetTable", 0x12},   {"GetTraceTable", 0x13},
    {"GetMulti", 0x14},     {"Delete", 0x15},       {"GetResp", 0x81},    {"ReportResp", 0x86},
    {"GetTableResp", 0x92}, {"GetMultiResp", 0x94}, {"DeleteResp", 0x95},
};

template <class Host>
const saa::record_type* layout_for() {
    return &saa::layout_of(static_cast<const Host*>(nullptr));
}

std::span<const attribute> common_attributes() {
    static const std::array all = std::to_array<attribute>({
        {"ClassPortInfo", MAD_ATTR_ID_CLASSPORTINFO, layout_for<ib_mad_classportinfo_t>()},
        {"Notice", MAD_ATTR_ID_NOTICE, layout_for<ib_mad_notice_t>()},
        {"InformInfo", MAD_ATTR_ID_INFORMINFO, layout_for<ib_mad_informinfo_t>()},
    });
    return all;
}

// Source: IBA table 134.
std::span<const attribute> subnet_attributes() {
    static const std::array all = std::to_array<attribute>({
        {"NodeDescription", 0x10, layout_for<sm_nodedesc_t>()},
        {"NodeInfo", 0x11, layout_for<sm_nodeinfo_t>()},
        {"SwitchInfo", 0x12, layout_for<sm_switchinfo_t>()},
        {"GUIDInfo", 0x14, layout_for<sm_guidinfo_t>()},
        {"PortInfo", 0x15, layout_for<sm_portinfo_t>()},
        {"P_KeyTable", 0x16, layout_for<sm_pkey_table_t>()},
        {"SLtoVLMappingTable", 0x17, layout_for<sm_SLtoVL_mapping_table_t>()},
        {"VLArbitrationTable", 0x18, layout_for<sm_VLarb_table_t>()},
        {"LinearForwardingTable", 0x19, layout_for<sm_linear_forwarding_table_t>()},
        {"RandomForwardingTable", 0x1A, layout_for<sm_random_forwarding_table_t>()},
        {"MulticastForwardingTable", 0x1B, layout_for<sm_multicast_forwarding_table_t>()},
        {"SMInfo", 0x20, layout_for<sm_sminfo_t>()},
    });
    return all;
}

std::span<const attribute> performance_attributes() {
    static const std::array all = std::to_array<attribute>({
        {"PortSamplesControl", 0x10, nullptr},
        {"PortSamplesResult", 0x11, nullptr},
        {"PortCounters", 0x12, &port_counters},
        {"PortCountersExtended", 0x1D, &port_counters_extended},
    });
    return all;
}

std::span<const attribute> administration_attributes() {
    static const auto all = [] {
        std::vector<attribute> made;
        for (const saa::record_type& each : saa::record_types())
            if (each.attribute_id != 0) made.push_back({each.name, each.attribute_id, &each});
        return made;
    }();
    return all;
}

std::span<const attribute> own_attributes(std::uint8_t mgmt_class) {
    switch (mgmt_class) {
    case MAD_MGMT_CLASS_SUBN_LID_ROUTED:
    case MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE:
        return subnet_attributes();
    case MAD_MGMT_CLASS_SUBN_ADM:
        return administration_attributes();
    case MAD_MGMT_CLASS_PERF:
        return performance_attributes();
    default:
        return {};
    }
}

bool same_word(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, [](unsigned char one, unsigned char other) {
        return std::tolower(one) == std::tolower(other);
    });
}

template <std::size_t N>
std::optional<std::uint8_t> value_of(const named_number (&names)[N], std::string_view text) {
    for (const named_number& each : names)
        if (same_word(text, each.name)) return each.value;
    const std::optional<std::uint64_t> number = irpverbs::dispatch::number_in(text, 0xFF);
    return number ? std::optional(static_cast<std::uint8_t>(*number)) : std::nullopt;
}

template <std::size_t N>
std::string name_in(const named_number (&names)[N], std::uint8_t value) {
    for (const named_number& each : names)
        if (each.value == value) return each.name;
    return fmt::format("0x{:02x}", value);
}

template <class Which>
std::optional<attribute> find_attribute(std::uint8_t mgmt_class, Which which) {
    for (const auto attributes : {own_attributes(mgmt_class), common_attributes()})
        for (const attribute& each : attributes)
            if (which(each)) return each;
    return std::nullopt;
}

// Bits 2 to 4. Source: IBA table 103.
const char* common_status(std::uint16_t status) {
    switch (status & 0x1C) {
    case MAD_STATUS_BAD_VERSION:
        return "the class or its version is not supported";
    case MAD_STATUS_UNSUPP_METHOD:
        return "the method is not supported";
    case MAD_STATUS_UNSUPP_METHOD_ATTR:
        return "the method is not supported for this attribute";
    case MAD_STATUS_INVALID_FIELD:
        return "a field of attribute or modifier has an invalid value";
    default:
        return "a reserved code";
    }
}

// The high byte. Source: IBA table 188.
const char* administration_status(std::uint16_t status) {
    constexpr const char* texts[] = {"",
                                     "no resources",
                                     "the request is invalid",
                                     "no records match",
                                     "too many records match",
                                     "a GID is not known",
                                     "components are missing",
                                     "the request was denied",
                                     "the priority was not granted"};
    const std::size_t code = status >> 8;
    return code < std::size(texts) ? texts[code] : "a code of the class";
}

} // namespace

std::optional<std::uint8_t> class_from(std::string_view text) { return value_of(classes, text); }

std::optional<std::uint8_t> method_from(std::string_view text) { return value_of(methods, text); }

std::optional<attribute> attribute_from(std::uint8_t mgmt_class, std::string_view text) {
    const auto named = [&](const attribute& each) { return same_word(each.name, text); };
    if (const std::optional<attribute> found = find_attribute(mgmt_class, named)) return found;
    const std::optional<std::uint64_t> id = irpverbs::dispatch::number_in(text, 0xFFFF);
    if (!id) return std::nullopt;
    return attribute_of(mgmt_class, static_cast<std::uint16_t>(*id));
}

std::string class_text(std::uint8_t mgmt_class) { return name_in(classes, mgmt_class); }

std::string method_text(std::uint8_t method) { return name_in(methods, method); }

attribute attribute_of(std::uint8_t mgmt_class, std::uint16_t id) {
    const auto same = [&](const attribute& each) { return each.id == id; };
    return find_attribute(mgmt_class, same).value_or(attribute{"", id, nullptr});
}

std::string status_text(std::uint8_t mgmt_class, std::uint16_t status) {
    if (mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE) status &= 0x7FFF; // bit 15 is the direction
    if (status == 0) return "good";
    if ((status & MAD_STATUS_BUSY) != 0) return "busy";
    if ((status & MAD_STATUS_REDIRECT_REQUIRED) != 0) return "another port serves the class";
    if ((status & 0x1C) != 0) return common_status(status);
    if (mgmt_class == MAD_MGMT_CLASS_SUBN_ADM) return administration_status(status);
    return "a code of the class";
}

} // namespace irpctl
