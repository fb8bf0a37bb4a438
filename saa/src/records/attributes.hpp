// Fields of the attributes inside records. Their component bits are those of the record.
#pragma once

#include "layout.hpp"
#include "value_names.hpp"

namespace irpverbs::saa::layout {

#define HOST sm_nodedesc_t
inline constexpr std::array node_description{field{"NodeDescription",
                                                   text,
                                                   64,
                                                   at(0),
                                                   8,
                                                   8,
                                                   offsetof(HOST, NodeString),
                                                   1,
                                                   1,
                                                   0,
                                                   SA_NODEINFO_COMPMASK_NODEDESCRIPTION,
                                                   {}}};
#undef HOST

#define HOST sm_nodeinfo_t
inline constexpr std::array node_info{
    ROW(BaseVersion, at(0), 8, SA_NODEINFO_COMPMASK_BASEVERSION, number, {}),
    ROW(ClassVersion, at(1), 8, SA_NODEINFO_COMPMASK_CLASSVERSION, number, {}),
    ROW(NodeType, at(2), 8, SA_NODEINFO_COMPMASK_NODETYPE, number, node_types),
    ROW(NumPorts, at(3), 8, SA_NODEINFO_COMPMASK_NUMPORTS, number, {}),
    ROW(SystemImageGUID, at(4), 64, SA_NODEINFO_COMPMASK_SYSIMAGEGUID, guid, {}),
    ROW(NodeGUID, at(12), 64, SA_NODEINFO_COMPMASK_NODEGUID, guid, {}),
    ROW(PortGUID, at(20), 64, SA_NODEINFO_COMPMASK_PORTGUID, guid, {}),
    ROW(PartitionCap, at(28), 16, SA_NODEINFO_COMPMASK_PARTITIONCAP, number, {}),
    ROW(DeviceID, at(30), 16, SA_NODEINFO_COMPMASK_DEVICEID, hex, {}),
    ROW(Revision, at(32), 32, SA_NODEINFO_COMPMASK_REVISION, hex, {}),
    ROW(LocalPortNum, at(36), 8, SA_NODEINFO_COMPMASK_LOCALPORTNUM, number, {}),
    ROW(VendorID, at(37), 24, SA_NODEINFO_COMPMASK_VENDORID, hex, {})};
#undef HOST

#define HOST sm_switchinfo_t
inline constexpr std::array switch_info{
    ROW(LinearFDBCap, at(0), 16, SA_SWITCHINFO_COMPMASK_LINEARFDBCAP, number, {}),
    ROW(RandomFDBCap, at(2), 16, SA_SWITCHINFO_COMPMASK_RANDOMFDBCAP, number, {}),
    ROW(MulticastFDBCap, at(4), 16, SA_SWITCHINFO_COMPMASK_MCASTFDBCAP, number, {}),
    ROW(LinearFDBTop, at(6), 16, SA_SWITCHINFO_COMPMASK_LINEARFDBTOP, number, {}),
    ROW(DefaultPort, at(8), 8, SA_SWITCHINFO_COMPMASK_DEFAULTPORT, number, {}),
    ROW(DefaultMulticastPrimaryPort, at(9), 8, SA_SWITCHINFO_COMPMASK_DEFAULTMCASTPPORT, number,
        {}),
    ROW(DefaultMulticastNotPrimaryPort, at(10), 8, SA_SWITCHINFO_COMPMASK_DEFAULTMCASTNPPORT,
        number, {}),
    ROW(LifeTimeValue, at(11), 5, SA_SWITCHINFO_COMPMASK_LIFETIMEVALUE, number, {}),
    ROW(PortStateChange, at(11, 5), 1, SA_SWITCHINFO_COMPMASK_PORTSTATECHANGE, number, {}),
    ROW(OptimizedSLtoVL, at(11, 6), 2, SA_SWITCHINFO_COMPMASK_OPTIMIZEDSLTOVL, number, {}),
    ROW(LIDsPerPort, at(12), 16, SA_SWITCHINFO_COMPMASK_LIDSPERPORT, number, {}),
    ROW(PartitionEnforcementCap, at(14), 16, SA_SWITCHINFO_COMPMASK_PARTENFCAP, number, {}),
    BIT(InboundEnforcementCap, PartitionChecks, 3, at(16, 0), SA_SWITCHINFO_COMPMASK_INBOUNDENFCAP),
    BIT(OutboundEnforcementCap, PartitionChecks, 2, at(16, 1),
        SA_SWITCHINFO_COMPMASK_OUTBOUNDENFCAP),
    BIT(FilterRawInboundCap, PartitionChecks, 1, at(16, 2),
        SA_SWITCHINFO_COMPMASK_FILTERRAWPKTINCAP),
    BIT(FilterRawOutboundCap, PartitionChecks, 0, at(16, 3),
        SA_SWITCHINFO_COMPMASK_FILTERRAWPKTOUTCAP),
    ROW(EnhancedPort0, at(16, 4), 1, SA_SWITCHINFO_COMPMASK_ENHANCED_PORT_0, number, {}),
    ROW(Reserved2, at(16, 5), 3, SA_SWITCHINFO_COMPMASK_RESERVED3, reserved, {}),
    ROW(Reserved3, at(17), 8, SA_SWITCHINFO_COMPMASK_RESERVED4, reserved, {}),
    ROW(MulticastFDBTop, at(18), 16, SA_SWITCHINFO_COMPMASK_MCASTFDBTOP, hex, {})};
#undef HOST

#define HOST sm_guidinfo_t
inline constexpr std::array guid_info{
    ARRAY(GUIDBlocks, at(0), 64, 8, SA_GUIDINFO_COMPMASK_ALL_GUIDS, guid)};
#undef HOST

#define HOST sm_pkey_table_t
inline constexpr std::array pkey_table{
    ARRAY(P_KeyTableBlock, at(0), 16, 32, SA_PKEY_COMPMASK_PKEYTABLE, hex)};
#undef HOST

#define HOST sm_SLtoVL_mapping_table_t
inline constexpr std::array sl_to_vl_table{ARRAY(SLtoVL, at(0), 4, 16, 0, number)};
#undef HOST

#define HOST sm_VLarb_table_t
inline constexpr std::array vl_arbitration_table{
    STRIDED(VL, VLArb[0].VL, VLArb[1].VL, at(0), 8, 16, 32, number, SA_VLARB_COMPMASK_VLARBTABLE),
    STRIDED(Weight, VLArb[0].Weight, VLArb[1].Weight, at(1), 8, 16, 32, number,
            SA_VLARB_COMPMASK_VLARBTABLE)};
#undef HOST

#define HOST sm_linear_forwarding_table_t
inline constexpr std::array linear_table{
    ARRAY(PortBlock, at(0), 8, 64, SA_LFT_COMPMASK_LINEARFORWARDINGTABLE, number)};
#undef HOST

#define HOST sm_random_forwarding_table_t
#define RANDOM_ROW(name, member, bit, width)                                                       \
    STRIDED(name, LIDPortBlock[0].member, LIDPortBlock[1].member, bit, width, 32, 16, number,      \
            SA_RFT_COMPMASK_RANDOMFORWARDINGTABLE)
inline constexpr std::array random_table{
    RANDOM_ROW(EntryLID, LID, at(0), 16), RANDOM_ROW(Valid, Valid, at(2), 1),
    RANDOM_ROW(LMC, LMC, at(2, 1), 3), RANDOM_ROW(Port, Port, at(3), 8)};
#undef RANDOM_ROW
#undef HOST

#define HOST sm_multicast_forwarding_table_t
inline constexpr std::array multicast_table{
    ARRAY(PortMaskBlock, at(0), 16, 32, SA_MFT_COMPMASK_MULTICASTFORWARDINGTABLE, hex)};
#undef HOST

#define HOST sm_sminfo_t
inline constexpr std::array sm_info{
    ROW(GUID, at(0), 64, SA_SMINFO_COMPMASK_GUID, guid, {}),
    ROW(SM_Key, at(8), 64, SA_SMINFO_COMPMASK_SMKEY, hex, {}),
    ROW(ActCount, at(16), 32, SA_SMINFO_COMPMASK_ACTCOUNT, number, {}),
    ROW(Priority, at(20), 4, SA_SMINFO_COMPMASK_PRIORITY, number, {}),
    ROW(SMState, at(20, 4), 4, SA_SMINFO_COMPMASK_SMSTATE, number, sm_states)};
#undef HOST

#define HOST ib_mad_informinfo_t
inline constexpr std::array inform_info{
    PAIR(GID, GID, at(0), SA_INFORMINFO_COMPMASK_GID, gid),
    ROW(LIDRangeBegin, at(16), 16, SA_INFORMINFO_COMPMASK_LIDRANGEBEGIN, number, {}),
    ROW(LIDRangeEnd, at(18), 16, SA_INFORMINFO_COMPMASK_LIDRANGEEND, number, {}),
    ROW(Reserved, at(20), 16, SA_INFORMINFO_COMPMASK_RESERVED2, reserved, {}),
    ROW(IsGeneric, at(22), 8, SA_INFORMINFO_COMPMASK_ISGENERIC, number, {}),
    ROW(Subscribe, at(23), 8, SA_INFORMINFO_COMPMASK_SUBSCRIBE, number, {}),
    ROW(Type, at(24), 16, SA_INFORMINFO_COMPMASK_TYPE, number, {}),
    ROW(TrapNumber_DeviceID, at(26), 16, SA_INFORMINFO_COMPMASK_TRAPNUM_DEVID, number, {}),
    BIT_FIELD(QPN, 28, 8, at(28), 24, hex, SA_INFORMINFO_COMPMASK_QPN),
    BIT_FIELD(Reserved2, 28, 5, at(31), 3, reserved, SA_INFORMINFO_COMPMASK_RESERVED3),
    BIT_FIELD(RespTimeValue, 28, 0, at(31, 3), 5, number, SA_INFORMINFO_COMPMASK_RESPTIMEVALUE),
    BIT_FIELD(Reserved3, 32, 24, at(32), 8, reserved, SA_INFORMINFO_COMPMASK_RESERVED4),
    BIT_FIELD(ProducerType_VendorID, 32, 0, at(33), 24, hex,
              SA_INFORMINFO_COMPMASK_PRODTYPE_VENDID)};
static_assert(sizeof(HOST) == 40 && offsetof(HOST, TrapNumber_DeviceID) == 26);
#undef HOST

} // namespace irpverbs::saa::layout
