// The records of nodes, links and their tables.
#include "attributes.hpp"

namespace irpverbs::saa {
namespace {

using namespace layout;

#define HOST sa_node_record_t
constexpr auto node_record =
    std::array{ROW(LID, at(0), 16, SA_NODEINFO_COMPMASK_NODELID, number, {}),
               ROW(Reserved, at(2), 16, SA_NODEINFO_COMPMASK_RESERVED, reserved, {})} +
    embedded(node_info, 4, offsetof(HOST, NodeInfo)) +
    embedded(node_description, 44, offsetof(HOST, NodeDescription));
#undef HOST

#define HOST sa_SLtoVLmapping_record_t
constexpr auto sl_to_vl_record =
    std::array{ROW(LID, at(0), 16, SA_SLTOVL_COMPMASK_PORTLID, number, {}),
               ROW(InputPortNum, at(2), 8, SA_SLTOVL_COMPMASK_INPUTPORTNUM, number, {}),
               ROW(OutputPortNum, at(3), 8, SA_SLTOVL_COMPMASK_OUTPUTPORTNUM, number, {}),
               ROW(Reserved, at(4), 32, SA_SLTOVL_COMPMASK_RESERVED, reserved, {})} +
    embedded(sl_to_vl_table, 8, offsetof(HOST, SLtoVLMappingTable));
#undef HOST

#define HOST sa_switchinfo_record_t
constexpr auto switch_info_record =
    std::array{ROW(LID, at(0), 16, SA_SWITCHINFO_COMPMASK_SWITCHLID, number, {}),
               ROW(Reserved, at(2), 16, SA_SWITCHINFO_COMPMASK_RESERVED, reserved, {})} +
    embedded(switch_info, 4, offsetof(HOST, SwitchInfo));
#undef HOST

#define HOST sa_linearft_record_t
constexpr auto linear_record =
    std::array{ROW(LID, at(0), 16, SA_LFT_COMPMASK_LFTLID, number, {}),
               ROW(BlockNum, at(2), 16, SA_LFT_COMPMASK_BLOCKNUM, number, {}),
               ROW(Reserved, at(4), 32, SA_LFT_COMPMASK_RESERVED, reserved, {})} +
    embedded(linear_table, 8, offsetof(HOST, LinearFT));
#undef HOST

#define HOST sa_randomft_record_t
constexpr auto random_record =
    std::array{ROW(LID, at(0), 16, SA_RFT_COMPMASK_RFTLID, number, {}),
               ROW(BlockNum, at(2), 16, SA_RFT_COMPMASK_BLOCKNUM, number, {}),
               ROW(Reserved, at(4), 32, SA_RFT_COMPMASK_RESERVED, reserved, {})} +
    embedded(random_table, 8, offsetof(HOST, RandomFT));
#undef HOST

#define HOST sa_multicastft_record_t
constexpr auto multicast_record =
    std::array{ROW(LID, at(0), 16, SA_MFT_COMPMASK_MFTLID, number, {}),
               ROW(Position, at(2), 4, SA_MFT_COMPMASK_POSITION, number, {}),
               ROW(Reserved, at(2, 4), 3, SA_MFT_COMPMASK_RESERVED, reserved, {}),
               ROW(BlockNum, at(2, 7), 9, SA_MFT_COMPMASK_BLOCKNUM, number, {}),
               ROW(Reserved2, at(4), 32, SA_MFT_COMPMASK_RESERVED2, reserved, {})} +
    embedded(multicast_table, 8, offsetof(HOST, MulticastFT));
#undef HOST

#define HOST sa_sminfo_record_t
constexpr auto sm_info_record =
    std::array{ROW(LID, at(0), 16, SA_SMINFO_COMPMASK_NODELID, number, {}),
               ROW(Reserved, at(2), 16, SA_SMINFO_COMPMASK_RESERVED, reserved, {})} +
    embedded(sm_info, 4, offsetof(HOST, SMInfo));
#undef HOST

#define HOST sa_guidinfo_record_t
constexpr auto guid_info_record =
    std::array{ROW(LID, at(0), 16, SA_GUIDINFO_COMPMASK_PORTLID, number, {}),
               ROW(BlockNum, at(2), 8, SA_GUIDINFO_COMPMASK_BLOCKNUM, number, {}),
               ROW(Reserved, at(3), 8, SA_GUIDINFO_COMPMASK_RESERVED, reserved, {}),
               ROW(Reserved2, at(4), 32, SA_GUIDINFO_COMPMASK_RESERVED2, reserved, {})} +
    embedded(guid_info, 8, offsetof(HOST, GUIDInfo));
#undef HOST

#define HOST sa_pkey_table_record_t
constexpr auto pkey_record =
    std::array{ROW(LID, at(0), 16, SA_PKEY_COMPMASK_PORTLID, number, {}),
               ROW(BlockNum, at(2), 16, SA_PKEY_COMPMASK_BLOCKNUM, number, {}),
               ROW(PortNum, at(4), 8, SA_PKEY_COMPMASK_PORTNUM, number, {}),
               ARRAY(Reserved, at(5), 8, 3, SA_PKEY_COMPMASK_RESERVED, reserved)} +
    embedded(pkey_table, 8, offsetof(HOST, P_KeyTable));
#undef HOST

#define HOST sa_VLarb_table_record_t
constexpr auto vl_arbitration_record =
    std::array{ROW(LID, at(0), 16, SA_VLARB_COMPMASK_NODELID, number, {}),
               ROW(OutputPortNum, at(2), 8, SA_VLARB_COMPMASK_OUTPUTPORTNUM, number, {}),
               ROW(BlockNum, at(3), 8, SA_VLARB_COMPMASK_BLOCKNUM, number, {}),
               ROW(Reserved, at(4), 32, SA_VLARB_COMPMASK_RESERVED, reserved, {})} +
    embedded(vl_arbitration_table, 8, offsetof(HOST, VLArbTable));
#undef HOST

#define HOST sa_link_record_t
constexpr std::array link_record{
    ROW(FromLID, at(0), 16, SA_LINKRECORD_COMPMASK_FROMLID, number, {}),
    ROW(FromPort, at(2), 8, SA_LINKRECORD_COMPMASK_FROMPORT, number, {}),
    ROW(ToPort, at(3), 8, SA_LINKRECORD_COMPMASK_TOPORT, number, {}),
    ROW(ToLID, at(4), 16, SA_LINKRECORD_COMPMASK_TOLID, number, {})};
#undef HOST

} // namespace

LAYOUT(sa_node_record_t, "NodeRecord", SA_NODERECORD_ATTRID, 108, 108, node_record)
LAYOUT(sa_SLtoVLmapping_record_t, "SLtoVLRecord", SA_SLTOVLRECORD_ATTRID, 16, 16, sl_to_vl_record)
LAYOUT(sa_switchinfo_record_t, "SwitchInfoRecord", SA_SWITCHINFORECORD_ATTRID, 24, 21,
       switch_info_record)
LAYOUT(sa_linearft_record_t, "LinearFDBRecord", SA_LINEARFDBRECORD_ATTRID, 72, 72, linear_record)
LAYOUT(sa_randomft_record_t, "RandomFDBRecord", SA_RANDOMFDBRECORD_ATTRID, 72, 72, random_record)
LAYOUT(sa_multicastft_record_t, "MulticastFDBRecord", SA_MULTICASTFDBRECORD_ATTRID, 72, 72,
       multicast_record)
LAYOUT(sa_sminfo_record_t, "SMInfoRecord", SA_SMINFORECORD_ATTRID, 25, 25, sm_info_record)
LAYOUT(sa_link_record_t, "LinkRecord", SA_LINKRECORD_ATTRID, 6, 6, link_record)
LAYOUT(sa_guidinfo_record_t, "GUIDInfoRecord", SA_GUIDINFORECORD_ATTRID, 72, 72, guid_info_record)
LAYOUT(sa_pkey_table_record_t, "P_KeyTableRecord", SA_PARTITIONRECORD_ATTRID, 72, 72, pkey_record)
LAYOUT(sa_VLarb_table_record_t, "VLArbitrationRecord", SA_VLARBRECORD_ATTRID, 72, 72,
       vl_arbitration_record)

} // namespace irpverbs::saa
