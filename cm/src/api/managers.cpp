// CmOpen, CmClose, CmQueryCounters.
#include "device.hpp"

#include <dispatch/support/faults.hpp>

#include <new>

using namespace irpverbs::cm::engine;

namespace {

verb_result open_client(IRP* irp, IB_CA* ca, UCHAR number, ULONG flags) {
    if (ca == nullptr || (flags & ~IB_CM_OPEN_WITHOUT_SA) != 0 || number == 0)
        return {STATUS_INVALID_PARAMETER};
    if (irpverbs::dispatch::detail::fault_point("cm.client"))
        return {STATUS_INSUFFICIENT_RESOURCES};
    auto* const fresh = new (std::nothrow) client;
    if (fresh == nullptr) return {STATUS_INSUFFICIENT_RESOURCES};
    fresh->ca = ca;
    fresh->number = number;
    fresh->flags = flags;
    fresh->irp = irp;
    IoMarkIrpPending(irp);
    port_table::current().open(*fresh);
    return {STATUS_PENDING};
}

verb_result close_client(IRP* irp, IB_CM* cm) {
    if (cm == nullptr) return {STATUS_INVALID_PARAMETER};
    client& gone = client::of(cm);
    {
        const cm_port::guard locked(*gone.at);
        if (gone.children != 0) return {STATUS_DEVICE_BUSY};
    }
    gone.irp = irp;
    IoMarkIrpPending(irp);
    port_table::current().close(gone);
    return {STATUS_PENDING};
}

} // namespace

extern "C" {

NTSTATUS CmOpen(IB_CA* pCa, UCHAR PortNumber, ULONG Flags, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) { return open_client(irp, pCa, PortNumber, Flags); });
}

NTSTATUS CmClose(IB_CM* pCm, IRP* pIrp) {
    return send_verb(pIrp, [=](IRP* irp) { return close_client(irp, pCm); });
}

void CmQueryCounters(IB_CM* pCm, ib_cm_counters_t* pCounters) {
    cm_port& at = *client::of(pCm).at;
    const cm_port::guard locked(at);
    *pCounters = at.counters;
}

} // extern "C"
