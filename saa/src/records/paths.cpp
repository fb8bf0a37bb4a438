// PathRecord, MultiPathRecord, MCMemberRecord, TraceRecord.
#include "attributes.hpp"

namespace irpverbs::saa {
namespace {

using namespace layout;

#define HOST sa_path_record_t
constexpr std::array path_record{
    ROW(ServiceID, at(0), 64, SA_PR_COMPMASK_SERVICEID, hex, {}),
    PAIR(DGID, DGID, at(8), SA_PR_COMPMASK_DGID, gid),
    PAIR(SGID, SGID, at(24), SA_PR_COMPMASK_SGID, gid),
    ROW(DLID, at(40), 16, SA_PR_COMPMASK_DLID, number, {}),
    ROW(SLID, at(42), 16, SA_PR_COMPMASK_SLID, number, {}),
    ROW(RawTraffic, at(44), 1, SA_PR_COMPMASK_RAWTRAFFIC, number, {}),
    ROW(Reserved3, at(44, 1), 3, SA_PR_COMPMASK_RESERVED3, reserved, {}),
    ROW(FlowLabel, at(44, 4), 20, SA_PR_COMPMASK_FLOWLABEL, hex, {}),
    ROW(HopLimit, at(47), 8, SA_PR_COMPMASK_HOPLIMIT, number, {}),
    ROW(TClass, at(48), 8, SA_PR_COMPMASK_TCLASS, number, {}),
    ROW(Reversible, at(49), 1, SA_PR_COMPMASK_REVERSIBLE, number, {}),
    ROW(NumbPath, at(49, 1), 7, SA_PR_COMPMASK_NUMBPATH, number, {}),
    ROW(P_Key, at(50), 16, SA_PR_COMPMASK_PKEY, hex, {}),
    ROW(QoSClass, at(52), 12, SA_PR_COMPMASK_QOSCLASS, number, {}),
    ROW(SL, at(53, 4), 4, SA_PR_COMPMASK_SL, number, {}),
    ROW(MtuSelector, at(54), 2, SA_PR_COMPMASK_MTUSELECTOR, number, selectors),
    ROW(Mtu, at(54, 2), 6, SA_PR_COMPMASK_MTU, number, mtus),
    ROW(RateSelector, at(55), 2, SA_PR_COMPMASK_RATESELECTOR, number, selectors),
    ROW(Rate, at(55, 2), 6, SA_PR_COMPMASK_RATE, number, rates),
    ROW(PacketLifeTimeSelector, at(56), 2, SA_PR_COMPMASK_PKTLTSELECTOR, number, selectors),
    ROW(PacketLifeTime, at(56, 2), 6, SA_PR_COMPMASK_PKTLT, number, {}),
    ROW(Preference, at(57), 8, SA_PR_COMPMASK_PREFERENCE, number, {})};
#undef HOST

#define HOST sa_multipath_record_t
constexpr std::array multipath_record{
    ROW(RawTraffic, at(0), 1, SA_MPR_COMPMASK_RAWTRAFFIC, number, {}),
    ROW(Reserved, at(0, 1), 3, SA_MPR_COMPMASK_RESERVED, reserved, {}),
    ROW(FlowLabel, at(0, 4), 20, SA_MPR_COMPMASK_FLOWLABEL, hex, {}),
    ROW(HopLimit, at(3), 8, SA_MPR_COMPMASK_HOPLIMIT, number, {}),
    ROW(TClass, at(4), 8, SA_MPR_COMPMASK_TCLASS, number, {}),
    ROW(Reversible, at(5), 1, SA_MPR_COMPMASK_REVERSIBLE, number, {}),
    ROW(NumbPath, at(5, 1), 7, SA_MPR_COMPMASK_NUMBPATH, number, {}),
    ROW(P_Key, at(6), 16, SA_MPR_COMPMASK_PKEY, hex, {}),
    ROW(QoSClass, at(8), 12, SA_MPR_COMPMASK_QOSCLASS, number, {}),
    ROW(SL, at(9, 4), 4, SA_MPR_COMPMASK_SL, number, {}),
    ROW(MtuSelector, at(10), 2, SA_MPR_COMPMASK_MTUSELECTOR, number, selectors),
    ROW(Mtu, at(10, 2), 6, SA_MPR_COMPMASK_MTU, number, mtus),
    ROW(RateSelector, at(11), 2, SA_MPR_COMPMASK_RATESELECTOR, number, selectors),
    ROW(Rate, at(11, 2), 6, SA_MPR_COMPMASK_RATE, number, rates),
    ROW(PacketLifeTimeSelector, at(12), 2, SA_MPR_COMPMASK_PKTLTSELECTOR, number, selectors),
    ROW(PacketLifeTime, at(12, 2), 6, SA_MPR_COMPMASK_PKTLT, number, {}),
    ROW(ServiceID_hi, at(13), 8, SA_MPR_COMPMASK_SERVICEID_HI, hex, {}),
    ROW(IndependenceSelector, at(14), 2, SA_MPR_COMPMASK_INDEPSEL, number, {}),
    ROW(Reserved4, at(14, 2), 6, SA_MPR_COMPMASK_RESERVED4, reserved, {}),
    ROW(SGIDCount, at(15), 8, SA_MPR_COMPMASK_SGIDCOUNT, number, {}),
    ROW(DGIDCount, at(16), 8, SA_MPR_COMPMASK_DGIDCOUNT, number, {}),
    ROW(ServiceID_lo, at(17), 56, SA_MPR_COMPMASK_SERVICEID_LO, hex, {})};
#undef HOST

#define HOST sa_mcmember_record_t
constexpr std::array mcmember_record{
    PAIR(MGID, MGID, at(0), SA_MC_COMPMASK_MGID, gid),
    PAIR(PortGID, PortGID, at(16), SA_MC_COMPMASK_PORTGID, gid),
    ROW(Q_Key, at(32), 32, SA_MC_COMPMASK_QKEY, hex, {}),
    ROW(MLID, at(36), 16, SA_MC_COMPMASK_MLID, hex, {}),
    ROW(MTUSelector, at(38), 2, SA_MC_COMPMASK_MTUSELECTOR, number, selectors),
    ROW(MTU, at(38, 2), 6, SA_MC_COMPMASK_MTU, number, mtus),
    ROW(TClass, at(39), 8, SA_MC_COMPMASK_TCLASS, number, {}),
    ROW(P_Key, at(40), 16, SA_MC_COMPMASK_PKEY, hex, {}),
    ROW(RateSelector, at(42), 2, SA_MC_COMPMASK_RATESELECTOR, number, selectors),
    ROW(Rate, at(42, 2), 6, SA_MC_COMPMASK_RATE, number, rates),
    ROW(PacketLifeTimeSelector, at(43), 2, SA_MC_COMPMASK_PKTLTSELECTOR, number, selectors),
    ROW(PacketLifeTime, at(43, 2), 6, SA_MC_COMPMASK_PKTLT, number, {}),
    ROW(SL, at(44), 4, SA_MC_COMPMASK_SL, number, {}),
    ROW(FlowLabel, at(44, 4), 20, SA_MC_COMPMASK_FLOWLABEL, hex, {}),
    ROW(HopLimit, at(47), 8, SA_MC_COMPMASK_HOPLIMIT, number, {}),
    ROW(Scope, at(48), 4, SA_MC_COMPMASK_SCOPE, number, {}),
    ROW(JoinState, at(48, 4), 4, SA_MC_COMPMASK_JOINSTATE, number, {}),
    ROW(ProxyJoin, at(49), 1, SA_MC_COMPMASK_PROXYJOIN, number, {}),
    ROW(Reserved, at(49, 1), 23, SA_MC_COMPMASK_RESERVED, reserved, {})};
#undef HOST

#define HOST sa_trace_record_t
constexpr std::array trace_record{
    ROW(GIDPrefix, at(0), 64, SA_TRACE_COMPMASK_GIDPREFIX, guid, {}),
    ROW(IOCGeneration, at(8), 16, SA_TRACE_COMPMASK_IOCGENERATION, number, {}),
    ROW(Reserved, at(10), 8, SA_TRACE_COMPMASK_RESERVED, reserved, {}),
    ROW(NodeType, at(11), 8, SA_TRACE_COMPMASK_NODETYPE, number, node_types),
    ROW(NodeID, at(12), 64, SA_TRACE_COMPMASK_NODEID, guid, {}),
    ROW(ChassisID, at(20), 64, SA_TRACE_COMPMASK_CHASSISID, guid, {}),
    ROW(EntryPortID, at(28), 64, SA_TRACE_COMPMASK_ENTRYPORTID, guid, {}),
    ROW(ExitPortID, at(36), 64, SA_TRACE_COMPMASK_EXITPORTID, guid, {}),
    ROW(EntryPort, at(44), 8, SA_TRACE_COMPMASK_ENTRYPORT, number, {}),
    ROW(ExitPort, at(45), 8, SA_TRACE_COMPMASK_EXITPORT, number, {})};
#undef HOST

} // namespace

LAYOUT(sa_path_record_t, "PathRecord", SA_PATHRECORD_ATTRID, 64, 64, path_record)
LAYOUT(sa_multipath_record_t, "MultiPathRecord", SA_MULTIPATHRECORD_ATTRID, 24, 24,
       multipath_record)
LAYOUT(sa_mcmember_record_t, "MCMemberRecord", SA_MCMEMBERRECORD_ATTRID, 52, 52, mcmember_record)
LAYOUT(sa_trace_record_t, "TraceRecord", SA_TRACERECORD_ATTRID, 46, 46, trace_record)

} // namespace irpverbs::saa
