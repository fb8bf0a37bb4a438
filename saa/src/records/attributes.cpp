// The bare attributes of SMPs and InformInfo.
#include "attributes.hpp"

namespace irpverbs::saa {
namespace {

using namespace layout;

constexpr auto bare_description = bare(layout::node_description);
constexpr auto bare_node_info = bare(layout::node_info);
constexpr auto bare_switch_info = bare(layout::switch_info);
constexpr auto bare_guid_info = bare(layout::guid_info);
constexpr auto bare_pkey_table = bare(layout::pkey_table);
constexpr auto bare_vl_arbitration = bare(layout::vl_arbitration_table);
constexpr auto bare_linear_table = bare(layout::linear_table);
constexpr auto bare_random_table = bare(layout::random_table);
constexpr auto bare_multicast_table = bare(layout::multicast_table);
constexpr auto bare_sm_info = bare(layout::sm_info);
constexpr auto bare_inform_info = bare(layout::inform_info);

} // namespace

LAYOUT(sm_nodedesc_t, "NodeDescription", 0, 64, 64, bare_description)
LAYOUT(sm_nodeinfo_t, "NodeInfo", 0, 40, 40, bare_node_info)
LAYOUT(sm_switchinfo_t, "SwitchInfo", 0, 20, 17, bare_switch_info)
LAYOUT(sm_guidinfo_t, "GUIDInfo", 0, 64, 64, bare_guid_info)
LAYOUT(sm_pkey_table_t, "P_KeyTable", 0, 64, 64, bare_pkey_table)
LAYOUT(sm_SLtoVL_mapping_table_t, "SLtoVLMappingTable", 0, 8, 8, layout::sl_to_vl_table)
LAYOUT(sm_VLarb_table_t, "VLArbitrationTable", 0, 64, 64, bare_vl_arbitration)
LAYOUT(sm_linear_forwarding_table_t, "LinearForwardingTable", 0, 64, 64, bare_linear_table)
LAYOUT(sm_random_forwarding_table_t, "RandomForwardingTable", 0, 64, 64, bare_random_table)
LAYOUT(sm_multicast_forwarding_table_t, "MulticastForwardingTable", 0, 64, 64, bare_multicast_table)
LAYOUT(sm_sminfo_t, "SMInfo", 0, 21, 21, bare_sm_info)
LAYOUT(ib_mad_informinfo_t, "InformInfo", SA_INFORMINFO_ATTRID, 36, 36, bare_inform_info)

} // namespace irpverbs::saa
