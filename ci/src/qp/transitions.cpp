// Source: IBA 11.2.5.2, tables 91 and 92; annex A14 for XRC.
#include "transitions.hpp"

namespace irpverbs::ci {

namespace qp_transitions {

namespace {

struct row {
    ULONG from; // states
    ib_qp_state_t to;
    ULONG types; // bits by number
    qp_transition attributes;
};

constexpr ULONG bit(ib_qp_type_t type) { return 1u << type; }

constexpr ULONG ud = bit(IB_QPT_UNRELIABLE_DGRM);
constexpr ULONG uc = bit(IB_QPT_UNRELIABLE_CONN);
constexpr ULONG rc = bit(IB_QPT_RELIABLE_CONN);
constexpr ULONG xrc_ini = bit(IB_QPT_XRC_INI);
constexpr ULONG xrc_tgt = bit(IB_QPT_XRC_TGT);
constexpr ULONG special = bit(IB_QPT_QP0) | bit(IB_QPT_QP1);
constexpr ULONG raw = bit(IB_QPT_RAW_ETHER);
constexpr ULONG connected = uc | rc | xrc_ini | xrc_tgt;
constexpr ULONG all_types = ud | connected | special | raw;
constexpr ULONG all_but_raw = all_types & ~raw;

constexpr ULONG pkey = IB_MOD_QP_PKEY;
constexpr ULONG port = IB_MOD_QP_PRIMARY_PORT;
constexpr ULONG qkey = IB_MOD_QP_QKEY;
constexpr ULONG access = IB_MOD_QP_ACCESS_CTRL;
constexpr ULONG av = IB_MOD_QP_PRIMARY_AV;
constexpr ULONG mtu = IB_MOD_QP_PATH_MTU;
constexpr ULONG dest_qp = IB_MOD_QP_DEST_QP;
constexpr ULONG rq_psn = IB_MOD_QP_RQ_PSN;
constexpr ULONG sq_psn = IB_MOD_QP_SQ_PSN;
constexpr ULONG resp_res = IB_MOD_QP_RESP_RES;
constexpr ULONG init_depth = IB_MOD_QP_INIT_DEPTH;
constexpr ULONG rnr_nak = IB_MOD_QP_RNR_NAK_TIMEOUT;
constexpr ULONG timeout = IB_MOD_QP_LOCAL_ACK_TIMEOUT;
constexpr ULONG retry = IB_MOD_QP_RETRY_CNT;
constexpr ULONG rnr_retry = IB_MOD_QP_RNR_RETRY_CNT;
constexpr ULONG alternate = IB_MOD_QP_ALTERNATE_AV;
constexpr ULONG apm = IB_MOD_QP_APM_STATE;
constexpr ULONG current = IB_MOD_QP_CURRENT_STATE;
constexpr ULONG drained_event = IB_MOD_QP_SQD_EVENT;
constexpr ULONG rate = IB_MOD_QP_RATE_LIMIT;

constexpr ULONG path = av | mtu | dest_qp | rq_psn;
constexpr ULONG responder = path | resp_res | rnr_nak;
constexpr ULONG requester = timeout | retry | rnr_retry | sq_psn | init_depth;
constexpr ULONG migration = current | alternate | access | apm;

constexpr ULONG any_state =
    IB_QPS_RESET | IB_QPS_INIT | IB_QPS_RTR | IB_QPS_RTS | IB_QPS_SQD | IB_QPS_SQERR | IB_QPS_ERROR;

constexpr row rows[] = {
    {any_state, IB_QPS_RESET, all_types, {}},
    {any_state & ~ULONG{IB_QPS_RESET}, IB_QPS_ERROR, all_types, {}},

    {IB_QPS_RESET, IB_QPS_INIT, ud, {pkey | port | qkey, 0}},
    {IB_QPS_RESET, IB_QPS_INIT, connected, {pkey | port | access, 0}},
    {IB_QPS_RESET, IB_QPS_INIT, special, {pkey | qkey, 0}},
    {IB_QPS_RESET, IB_QPS_INIT, raw, {port, 0}},

    {IB_QPS_INIT, IB_QPS_INIT, ud, {0, pkey | port | qkey}},
    {IB_QPS_INIT, IB_QPS_INIT, connected, {0, pkey | port | access}},
    {IB_QPS_INIT, IB_QPS_INIT, special, {0, pkey | qkey}},

    {IB_QPS_INIT, IB_QPS_RTR, ud | special, {0, pkey | qkey}},
    {IB_QPS_INIT, IB_QPS_RTR, uc | xrc_ini, {path, alternate | access | pkey}},
    {IB_QPS_INIT, IB_QPS_RTR, rc | xrc_tgt, {responder, alternate | access | pkey}},
    {IB_QPS_INIT, IB_QPS_RTR, raw, {}},

    {IB_QPS_RTR, IB_QPS_RTS, ud | special, {sq_psn, current | qkey}},
    {IB_QPS_RTR, IB_QPS_RTS, uc, {sq_psn, migration}},
    {IB_QPS_RTR, IB_QPS_RTS, rc, {requester, migration | rnr_nak}},
    {IB_QPS_RTR, IB_QPS_RTS, xrc_ini, {requester, migration}},
    {IB_QPS_RTR, IB_QPS_RTS, xrc_tgt, {timeout | sq_psn, migration | rnr_nak}},
    {IB_QPS_RTR, IB_QPS_RTS, raw, {0, rate}},

    {IB_QPS_RTS | IB_QPS_SQD, IB_QPS_RTS, ud | special, {0, current | qkey}},
    {IB_QPS_RTS | IB_QPS_SQD, IB_QPS_RTS, uc | xrc_ini, {0, migration}},
    {IB_QPS_RTS | IB_QPS_SQD, IB_QPS_RTS, rc | xrc_tgt, {0, migration | rnr_nak}},
    {IB_QPS_RTS, IB_QPS_RTS, raw, {0, rate}},

    {IB_QPS_RTS, IB_QPS_SQD, all_but_raw, {0, drained_event}},

    {IB_QPS_SQD, IB_QPS_SQD, ud | special, {0, pkey | qkey}},
    {IB_QPS_SQD, IB_QPS_SQD, uc, {0, av | alternate | access | pkey | apm}},
    {IB_QPS_SQD,
     IB_QPS_SQD,
     rc,
     {0, port | av | timeout | retry | rnr_retry | init_depth | resp_res | alternate | access |
             pkey | rnr_nak | apm}},
    {IB_QPS_SQD,
     IB_QPS_SQD,
     xrc_ini,
     {0, port | av | timeout | retry | rnr_retry | init_depth | alternate | access | pkey | apm}},
    {IB_QPS_SQD,
     IB_QPS_SQD,
     xrc_tgt,
     {0, port | av | timeout | resp_res | alternate | access | pkey | rnr_nak | apm}},

    {IB_QPS_SQERR, IB_QPS_RTS, ud | special, {0, current | qkey}},
    {IB_QPS_SQERR, IB_QPS_RTS, uc, {0, current | access}},
};

} // namespace

} // namespace qp_transitions

const qp_transition* find_transition(ib_qp_type_t type, ib_qp_state_t from, ib_qp_state_t to) {
    for (const qp_transitions::row& each : qp_transitions::rows)
        if ((each.from & from) != 0 && each.to == to &&
            (each.types & qp_transitions::bit(type)) != 0)
            return &each.attributes;
    return nullptr;
}

} // namespace irpverbs::ci
