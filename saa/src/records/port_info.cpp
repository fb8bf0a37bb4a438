// PortInfo, and the related records and attributes.
#include "attributes.hpp"

namespace irpverbs::saa {
namespace {

using namespace layout;

#define HOST sm_portinfo_t
constexpr std::array port_info{
    ROW(M_Key, at(0), 64, SA_PORTINFO_COMPMASK_MKEY, hex, {}),
    ROW(GidPrefix, at(8), 64, SA_PORTINFO_COMPMASK_GIDPREFIX, guid, {}),
    ROW(LID, at(16), 16, SA_PORTINFO_COMPMASK_LID, number, {}),
    ROW(MasterSMLID, at(18), 16, SA_PORTINFO_COMPMASK_MASTERSMLID, number, {}),
    ROW(CapabilityMask, at(20), 32, SA_PORTINFO_COMPMASK_CAPMASK, hex, {}),
    ROW(DiagCode, at(24), 16, SA_PORTINFO_COMPMASK_DIAGCODE, hex, {}),
    ROW(M_KeyLeasePeriod, at(26), 16, SA_PORTINFO_COMPMASK_MKEYLEASE, number, {}),
    ROW(LocalPortNum, at(28), 8, SA_PORTINFO_COMPMASK_LOCALPORTNUM, number, {}),
    ROW(LinkWidthEnabled, at(29), 8, SA_PORTINFO_COMPMASK_LINKWIDTHEN, number, {}),
    ROW(LinkWidthSupported, at(30), 8, SA_PORTINFO_COMPMASK_LINKWIDTHSUPP, number, {}),
    ROW(LinkWidthActive, at(31), 8, SA_PORTINFO_COMPMASK_LINKWIDTHACT, number, {}),
    ROW(LinkSpeedSupported, at(32), 4, SA_PORTINFO_COMPMASK_LINKSPEEDSUPP, number, {}),
    ROW(PortState, at(32, 4), 4, SA_PORTINFO_COMPMASK_PORTSTATE, number, port_states),
    ROW(PortPhysicalState, at(33), 4, SA_PORTINFO_COMPMASK_PORTPHYSICALSTATE, number,
        physical_states),
    ROW(LinkDownDefaultState, at(33, 4), 4, SA_PORTINFO_COMPMASK_LINKDOWNDEFSTATE, number,
        physical_states),
    ROW(M_KeyProtectBits, at(34), 2, SA_PORTINFO_COMPMASK_MKEYPROTBITS, number, {}),
    ROW(Reserved, at(34, 2), 3, SA_PORTINFO_COMPMASK_RESERVED2, reserved, {}),
    ROW(LMC, at(34, 5), 3, SA_PORTINFO_COMPMASK_LMC, number, {}),
    ROW(LinkSpeedActive, at(35), 4, SA_PORTINFO_COMPMASK_LINKSPEEDACT, number, {}),
    ROW(LinkSpeedEnabled, at(35, 4), 4, SA_PORTINFO_COMPMASK_LINKSPEEDEN, number, {}),
    ROW(NeighborMTU, at(36), 4, SA_PORTINFO_COMPMASK_NEIGHBORMTU, number, mtus),
    ROW(MasterSMSL, at(36, 4), 4, SA_PORTINFO_COMPMASK_MASTERSMSL, number, {}),
    ROW(VLCap, at(37), 4, SA_PORTINFO_COMPMASK_VLCAP, number, {}),
    ROW(InitType, at(37, 4), 4, SA_PORTINFO_COMPMASK_INITTYPE, number, {}),
    ROW(VLHighLimit, at(38), 8, SA_PORTINFO_COMPMASK_VLHIGHLIMIT, number, {}),
    ROW(VLArbitrationHighCap, at(39), 8, SA_PORTINFO_COMPMASK_VLARBHIGHCAP, number, {}),
    ROW(VLArbitrationLowCap, at(40), 8, SA_PORTINFO_COMPMASK_VLARBLOWCAP, number, {}),
    ROW(InitTypeReply, at(41), 4, SA_PORTINFO_COMPMASK_INITTYPEREPLY, number, {}),
    ROW(MTUCap, at(41, 4), 4, SA_PORTINFO_COMPMASK_MTUCAP, number, mtus),
    ROW(VLStallCount, at(42), 3, SA_PORTINFO_COMPMASK_VLSTALLCOUNT, number, {}),
    ROW(HOQLife, at(42, 3), 5, SA_PORTINFO_COMPMASK_HOQLIFE, number, {}),
    ROW(OperationalVLs, at(43), 4, SA_PORTINFO_COMPMASK_OPERATIONALVLS, number, {}),
    BIT(PartitionEnforcementInbound, PartitionChecks, 3, at(43, 4),
        SA_PORTINFO_COMPMASK_PARTENFINBOUND),
    BIT(PartitionEnforcementOutbound, PartitionChecks, 2, at(43, 5),
        SA_PORTINFO_COMPMASK_PARTENFOUTBOUND),
    BIT(FilterRawInbound, PartitionChecks, 1, at(43, 6), SA_PORTINFO_COMPMASK_FILTERRAWPKTIN),
    BIT(FilterRawOutbound, PartitionChecks, 0, at(43, 7), SA_PORTINFO_COMPMASK_FILTERRAWPKTOUT),
    ROW(M_KeyViolations, at(44), 16, SA_PORTINFO_COMPMASK_MKEYVIOLATIONS, number, {}),
    ROW(P_KeyViolations, at(46), 16, SA_PORTINFO_COMPMASK_PKEYVIOLATIONS, number, {}),
    ROW(Q_KeyViolations, at(48), 16, SA_PORTINFO_COMPMASK_QKEYVIOLATIONS, number, {}),
    ROW(GUIDCap, at(50), 8, SA_PORTINFO_COMPMASK_GUIDCAP, number, {}),
    ROW(ClientReregister, at(51), 1, SA_PORTINFO_COMPMASK_CLIENTREREGISTER, number, {}),
    ROW(MulticastPKeyTrapSuppression, at(51, 1), 2, SA_PORTINFO_COMPMASK_MCASTPKEYTRAPSUPP, number,
        {}),
    ROW(SubnetTimeOut, at(51, 3), 5, SA_PORTINFO_COMPMASK_SUBNETTIMEOUT, number, {}),
    ROW(Reserved3, at(52), 3, SA_PORTINFO_COMPMASK_RESERVED6, reserved, {}),
    ROW(RespTimeValue, at(52, 3), 5, SA_PORTINFO_COMPMASK_RESPTIMEVALUE, number, {}),
    ROW(LocalPhyErrors, at(53), 4, SA_PORTINFO_COMPMASK_LOCALPHYERRORS, number, {}),
    ROW(OverrunErrors, at(53, 4), 4, SA_PORTINFO_COMPMASK_OVERRUNERRORS, number, {}),
    ROW(MaxCreditHint, at(54), 16, SA_PORTINFO_COMPMASK_MAXCREDITHINT, number, {}),
    ROW(Reserved4, at(56), 8, SA_PORTINFO_COMPMASK_RESERVED7, reserved, {}),
    ROW(LinkRoundTripLatency, at(57), 24, SA_PORTINFO_COMPMASK_LINKROUNDTRIP, number, {}),
    ROW(CapabilityMask2, at(60), 16, SA_PORTINFO_COMPMASK_CAPMASK2, hex, {}),
    ROW(LinkSpeedExtActive, at(62), 4, SA_PORTINFO_COMPMASK_LINKSPEEDEXTACT, number, {}),
    ROW(LinkSpeedExtSupported, at(62, 4), 4, SA_PORTINFO_COMPMASK_LINKSPEEDEXTSUPP, number, {}),
    ROW(Reserved5, at(63), 3, SA_PORTINFO_COMPMASK_RESERVED8, reserved, {}),
    ROW(LinkSpeedExtEnabled, at(63, 3), 5, SA_PORTINFO_COMPMASK_LINKSPEEDEXTEN, number, {})};
#undef HOST

#define HOST sa_portinfo_record_t
constexpr auto port_info_record =
    std::array{ROW(EndportLID, at(0), 16, SA_PORTINFO_COMPMASK_PORTLID, number, {}),
               ROW(PortNum, at(2), 8, SA_PORTINFO_COMPMASK_PORTNUM, number, {}),
               ROW(Options, at(3), 8, SA_PORTINFO_COMPMASK_OPTIONS, number, {})} +
    embedded(port_info, 4, offsetof(HOST, PortInfo));
#undef HOST

constexpr auto bare_port_info = bare(port_info);

} // namespace

LAYOUT(sa_portinfo_record_t, "PortInfoRecord", SA_PORTINFORECORD_ATTRID, 68, 58, port_info_record)
LAYOUT(sm_portinfo_t, "PortInfo", 0, 64, 54, bare_port_info)

} // namespace irpverbs::saa
