// The verbs of connections.
#include "device.hpp"

#include <engine/valid.hpp>

using namespace irpverbs::cm::engine;

namespace {

verb_result connect(IRP* irp, IB_CM* cm, const ib_cm_connect_t* wanted, ib_cm_reply_t* reply) {
    if (cm == nullptr || wanted == nullptr) return {STATUS_INVALID_PARAMETER};
    client& owner = client::of(cm);
    cm_port::guard locked(*owner.at);
    const connection_ref fresh = connection::make(*owner.at, role::active);
    if (fresh == nullptr) return {STATUS_INSUFFICIENT_RESOURCES};
    fresh->owner = &owner;
    ++owner.children;
    const NTSTATUS status = fresh->connect(irp, *wanted, reply, locked.fx);
    if (status != STATUS_PENDING) --owner.children;
    return {status};
}

/// Calls `call(connection, effects)`, which returns a status, under the lock.
template <class Call>
verb_result with(IB_CM_CONNECTION* object, const Call& call) {
    if (object == nullptr) return {STATUS_INVALID_PARAMETER};
    connection& of = connection::of(object);
    cm_port::guard locked(*of.at);
    return {call(of, locked.fx)};
}

std::span<const std::uint8_t> bytes_at(const VOID* data, ULONG length) {
    return {static_cast<const std::uint8_t*>(data), length};
}

bool is_valid(const VOID* data, ULONG length, ULONG limit) {
    return length <= limit && (data != nullptr || length == 0);
}

} // namespace

extern "C" {

void CmInitializeConnect(ib_cm_connect_t* pConnect) {
    *pConnect = {};
    pConnect->resp_res = 1;
    pConnect->init_depth = 1;
    pConnect->retry_cnt = 7;
    pConnect->rnr_retry_cnt = 7;
    pConnect->rnr_nak_timeout = initial_rnr_nak_timeout;
    pConnect->max_cm_retries = 15;
    pConnect->remote_resp_timeout = 20;
    pConnect->local_resp_timeout = 20;
    pConnect->access_ctrl = IB_AC_REMOTE;
}

void CmInitializeAccept(ib_cm_accept_t* pAccept) {
    *pAccept = {};
    pAccept->resp_res = 1;
    pAccept->init_depth = 1;
    pAccept->rnr_retry_cnt = 7;
    pAccept->rnr_nak_timeout = initial_rnr_nak_timeout;
    pAccept->access_ctrl = IB_AC_REMOTE;
}

NTSTATUS CmConnect(IB_CM* pCm, const ib_cm_connect_t* pConnect, ib_cm_reply_t* pReply, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) { return connect(irp, pCm, pConnect, pReply); });
}

NTSTATUS CmCompleteConnect(IB_CM_CONNECTION* pConnection, const VOID* pPData, ULONG PDataLength,
                           IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return is_valid(pPData, PDataLength, IB_CM_RTU_PDATA_SIZE)
                       ? of.complete_connect(irp, bytes_at(pPData, PDataLength), fx)
                       : STATUS_INVALID_PARAMETER;
        });
    });
}

NTSTATUS CmAccept(IB_CM_CONNECTION* pConnection, const ib_cm_accept_t* pAccept, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return pAccept != nullptr ? of.accept(irp, *pAccept, fx) : STATUS_INVALID_PARAMETER;
        });
    });
}

NTSTATUS CmQueryQpChange(IB_CM_CONNECTION* pConnection, ib_qp_state_t State, ib_qp_mod_t* pChange) {
    if (pConnection == nullptr || pChange == nullptr) return STATUS_INVALID_PARAMETER;
    connection& of = connection::of(pConnection);
    const cm_port::guard locked(*of.at);
    return of.query_qp_change(State, *pChange);
}

void CmNotifyEstablished(IB_CM_CONNECTION* pConnection) {
    connection& of = connection::of(pConnection);
    cm_port::guard locked(*of.at);
    of.raise({event::comm_est, locked.fx});
}

NTSTATUS CmReject(IB_CM_CONNECTION* pConnection, const ib_cm_reject_t* pReject, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP*) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return of.reject(pReject != nullptr ? *pReject : ib_cm_reject_t{}, fx);
        });
    });
}

NTSTATUS CmDisconnect(IB_CM_CONNECTION* pConnection, const VOID* pPData, ULONG PDataLength,
                      IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return is_valid(pPData, PDataLength, IB_CM_DREQ_PDATA_SIZE)
                       ? of.disconnect(irp, bytes_at(pPData, PDataLength), fx)
                       : STATUS_INVALID_PARAMETER;
        });
    });
}

NTSTATUS CmGetEvent(IB_CM_CONNECTION* pConnection, ib_cm_event_t* pEvent, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return pEvent != nullptr ? of.get_event(irp, pEvent, fx) : STATUS_INVALID_PARAMETER;
        });
    });
}

NTSTATUS CmLoadPath(IB_CM_CONNECTION* pConnection, const sa_path_record_t* pPath,
                    const VOID* pPData, ULONG PDataLength, ib_cm_path_response_t* pResponse,
                    IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return pPath != nullptr && is_valid(pPData, PDataLength, IB_CM_LAP_PDATA_SIZE)
                       ? of.load_path(irp, *pPath, bytes_at(pPData, PDataLength), pResponse, fx)
                       : STATUS_INVALID_PARAMETER;
        });
    });
}

NTSTATUS CmRespondPath(IB_CM_CONNECTION* pConnection, const ib_cm_path_response_t* pResponse,
                       IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            return of.respond_path(irp, pResponse, fx);
        });
    });
}

NTSTATUS CmCloseConnection(IB_CM_CONNECTION* pConnection, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return with(pConnection, [&](connection& of, effects& fx) {
            of.close(irp, fx);
            return STATUS_PENDING;
        });
    });
}

} // extern "C"
