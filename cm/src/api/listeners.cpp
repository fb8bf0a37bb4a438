// CmListen, CmGetRequest, CmGetUdRequest, CmCloseListener.
#include "device.hpp"

#include <dispatch/support/faults.hpp>

#include <memory>
#include <new>

using namespace irpverbs::cm::engine;

namespace {

bool is_valid(const ib_cm_listen_t& wanted) {
    return (wanted.flags & ~ULONG{IB_CM_LISTEN_DATAGRAMS}) == 0 &&
           wanted.compare_offset + wanted.compare_length <= IB_CM_REQ_PDATA_SIZE &&
           (wanted.compare_length == 0 || wanted.p_compare != nullptr);
}

verb_result listen(IB_CM* cm, const ib_cm_listen_t* wanted) {
    if (cm == nullptr || wanted == nullptr || !is_valid(*wanted)) return {STATUS_INVALID_PARAMETER};
    client& owner = client::of(cm);
    const bool no_memory = irpverbs::dispatch::detail::fault_point("cm.listener");
    std::unique_ptr<listener> fresh(no_memory ? nullptr
                                              : new (std::nothrow) listener(owner, *wanted));
    if (fresh == nullptr) return {STATUS_INSUFFICIENT_RESOURCES};
    {
        const cm_port::guard locked(*owner.at);
        if (const NTSTATUS status = owner.at->listen(*fresh); !NT_SUCCESS(status)) return {status};
        ++owner.children;
    }
    return {STATUS_SUCCESS, reinterpret_cast<ULONG_PTR>(fresh.release()->object())};
}

verb_result get_request(IRP* irp, IB_CM_LISTENER* from, service_kind kind, void* into) {
    if (from == nullptr || into == nullptr) return {STATUS_INVALID_PARAMETER};
    listener& service = listener::of(from);
    if (service.kind != kind) return {STATUS_INVALID_PARAMETER};
    cm_port::guard locked(*service.owner.at);
    return {service.get_request(irp, into, locked.fx)};
}

void cancel_waits(listener& gone, effects& fx) {
    while (IRP* const waiting = gone.waits.take())
        fx.complete(waiting, STATUS_CANCELLED);
    gone.waits.leave_to_cancellers();
}

bool reject_oldest(listener& gone) {
    cm_port::guard locked(*gone.owner.at);
    offered* const oldest = gone.remove_oldest();
    if (oldest == nullptr) return false;
    oldest->reject_unserved(unserved::closed, locked.fx);
    locked.fx.release(*oldest);
    return true;
}

verb_result close_listener(IB_CM_LISTENER* object) {
    if (object == nullptr) return {STATUS_INVALID_PARAMETER};
    const std::unique_ptr<listener> gone(&listener::of(object));
    cm_port& at = *gone->owner.at;
    {
        cm_port::guard locked(at);
        at.remove(*gone);
        cancel_waits(*gone, locked.fx);
    }
    while (reject_oldest(*gone)) {
    }
    const cm_port::guard locked(at);
    --gone->owner.children;
    return {STATUS_SUCCESS};
}

} // namespace

extern "C" {

NTSTATUS CmListen(IB_CM* pCm, const ib_cm_listen_t* pListen, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP*) { return listen(pCm, pListen); });
}

NTSTATUS CmGetRequest(IB_CM_LISTENER* pListener, ib_cm_request_t* pRequest, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return get_request(irp, pListener, service_kind::connections, pRequest);
    });
}

NTSTATUS CmGetUdRequest(IB_CM_LISTENER* pListener, ib_cm_ud_request_t* pRequest, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) {
        return get_request(irp, pListener, service_kind::datagrams, pRequest);
    });
}

NTSTATUS CmCloseListener(IB_CM_LISTENER* pListener, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP*) { return close_listener(pListener); });
}

} // extern "C"
