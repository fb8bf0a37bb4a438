#include "record_text.hpp"

#include "guid.hpp"

#include <ci/names.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace ci = irpverbs::ci;
namespace saa = irpverbs::saa;

std::string value_text(const saa::record_type& type, const void* record, std::string_view field) {
    const saa::field& which = *saa::find_field(type, field);
    const std::uint64_t value = saa::get_element(which, record, 0);
    for (const saa::named_value& each : which.names)
        if (each.value == value) return each.name;
    std::string text;
    saa::append_value(which, record, text);
    return text;
}

std::string gid_text(const ib_gid_t& gid) {
    sa_path_record_t path{};
    path.DGID = gid;
    return value_text(path, "DGID");
}

std::string name_of(const sa_node_record_t& node) {
    const saa::field& description = *saa::find_field(saa::layout_of(&node), "NodeDescription");
    const std::string_view name = saa::text_of(description, &node);
    return name.empty() ? guid_text(node.NodeInfo.NodeGUID) : std::string(name);
}

// The codes of the extended speeds are shifted by eight bits. Source: IBA table 146.
std::string link_text(const sm_portinfo_t& port) {
    const unsigned extended = port.LinkSpeedExtActive;
    const unsigned others = port.LinkSpeedActive;
    const unsigned speed = extended != 0 ? extended << 8 : others;
    return fmt::format("{} {}", ci::name_of(static_cast<IB_LINK_WIDTH>(port.LinkWidthActive)),
                       ci::name_of(static_cast<IB_LINK_SPEED>(speed)));
}

} // namespace irpctl
