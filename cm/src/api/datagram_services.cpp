// CmResolveUd, CmRespondUd, CmCloseUdRequest.
#include "device.hpp"

#include <engine/client.hpp>

using namespace irpverbs::cm::engine;

namespace {

verb_result resolve(IRP* irp, IB_CM* cm, const ib_cm_resolve_ud_t* wanted,
                    ib_cm_ud_reply_t* reply) {
    if (cm == nullptr || wanted == nullptr || reply == nullptr) return {STATUS_INVALID_PARAMETER};
    client& owner = client::of(cm);
    cm_port::guard locked(*owner.at);
    const auto fresh = resolution::make(owner);
    if (fresh == nullptr) return {STATUS_INSUFFICIENT_RESOURCES};
    ++owner.children;
    const NTSTATUS status = fresh->begin(irp, *wanted, reply, locked.fx);
    if (status != STATUS_PENDING) --owner.children;
    return {status};
}

} // namespace

extern "C" {

void CmInitializeResolveUd(ib_cm_resolve_ud_t* pResolve) {
    *pResolve = {};
    pResolve->max_cm_retries = 15;
    pResolve->remote_resp_timeout = 20;
}

NTSTATUS CmResolveUd(IB_CM* pCm, const ib_cm_resolve_ud_t* pResolve, ib_cm_ud_reply_t* pReply,
                     IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) { return resolve(irp, pCm, pResolve, pReply); });
}

NTSTATUS CmRespondUd(IB_CM_UD_REQUEST* pRequest, const ib_cm_ud_response_t* pResponse, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP*) -> verb_result {
        if (pRequest == nullptr || pResponse == nullptr) return {STATUS_INVALID_PARAMETER};
        ud_request& of = ud_request::of(pRequest);
        cm_port::guard locked(*of.at);
        return {of.respond(*pResponse, locked.fx)};
    });
}

NTSTATUS CmCloseUdRequest(IB_CM_UD_REQUEST* pRequest, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP*) -> verb_result {
        if (pRequest == nullptr) return {STATUS_INVALID_PARAMETER};
        ud_request& of = ud_request::of(pRequest);
        cm_port::guard locked(*of.at);
        of.close(locked.fx);
        return {STATUS_SUCCESS};
    });
}

} // extern "C"
