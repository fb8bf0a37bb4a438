// Alternate queue pairs: allocation, modification and release. Runs without the lock, one caller at
// a time.
#include <engine/port_context.hpp>

#include <engine/status.hpp>

#include <ci/support/blocking_verb.hpp>

namespace irpverbs::ibmf {

using ci::detail::call_verb;
using ci::detail::verb_result;

namespace {

// A P_Key that the driver does not find gives the same status as one that the port's cached table
// lacks.
int failure_of_keys(NTSTATUS status) {
    return status == STATUS_INVALID_PARAMETER ? IBMF_INVALID_ARG : failure_of(status);
}

} // namespace

int port_context::open_qp(alternate_qp& fresh) {
    {
        const guard locked(*this);
        if (!fresh.owner.ready) return IBMF_BAD_HANDLE;
        if (offline) return IBMF_TRANSPORT_FAILURE;
        if (!attributes.has_mad_qps()) return IBMF_NOT_SUPPORTED;
        if (!attributes.index_of(fresh.keys.PKey)) return IBMF_INVALID_ARG;
    }
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = number;
    attr.Rmpp = IB_MAD_RMPP_BY_CLIENT;
    attr.QpKind = fresh.raw() ? IB_MAD_QP_OWN_RAW : IB_MAD_QP_OWN_MADS;
    attr.Keys = fresh.keys;
    const IB_MAD_DISPATCH calls{received_at_qp};
    const verb_result made = call_verb(
        [&](IRP* irp) { return CiRegisterMadAgent(hca_.ca(), &attr, &fresh, &calls, irp); });
    if (made.status == STATUS_NOT_SUPPORTED) return IBMF_NOT_SUPPORTED;
    if (!made.success()) return failure_of_keys(made.status);
    fresh.slot.mad = made.object<IB_MAD_AGENT>();
    fresh.number = fresh.slot.mad->Attr.Qp;
    if (attach_qp(fresh)) return IBMF_SUCCESS;
    deregister_agent(fresh.slot);
    return IBMF_BAD_HANDLE;
}

// Returns false if the client is being unregistered.
bool port_context::attach_qp(alternate_qp& fresh) {
    client& who = fresh.owner;
    const guard locked(*this);
    if (!who.ready) return false;
    intrusive_ptr_add_ref(&fresh); // released by close_qp
    who.qps.push_back(fresh);
    who.count(&ibmf_stats_t::st_alt_qps);
    return true;
}

int port_context::modify_qp(alternate_qp& which, const IB_MAD_KEYS& keys) {
    {
        const guard locked(*this);
        if (!which.is_linked()) return IBMF_BAD_QP_HANDLE;
        if (offline) return IBMF_TRANSPORT_FAILURE;
        if (!attributes.index_of(keys.PKey)) return IBMF_INVALID_ARG;
    }
    const NTSTATUS status =
        call_verb([&](IRP* irp) { return CiModifyMadAgent(which.slot.mad, &keys, irp); }).status;
    if (!NT_SUCCESS(status)) return failure_of_keys(status);
    const guard locked(*this);
    which.keys = keys;
    return IBMF_SUCCESS;
}

int port_context::close_qp(alternate_qp& gone) {
    client& who = gone.owner;
    {
        const guard locked(*this);
        if (!gone.is_linked()) return IBMF_BAD_QP_HANDLE;
        if (gone.receive_callback != nullptr || gone.unsolicited_queued != 0 ||
            has_transactions(gone))
            return IBMF_BUSY;
        who.qps.erase(who.qps.iterator_to(gone));
        free_time_wait(gone);
        --who.counts.st_alt_qps;
        --counts.st_alt_qps;
    }
    who.await_sends(gone);
    deregister_agent(gone.slot);
    intrusive_ptr_release(&gone);
    return IBMF_SUCCESS;
}

} // namespace irpverbs::ibmf
