#include "memory_windows.hpp"

#include "adapter.hpp"
#include "memory_verbs.hpp"
#include "queue_pair.hpp"

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_MW* mw) { return adapter::of(mw->Pd->Ca->Device); }

ULONG next_key(ULONG key) { return (key & ~ULONG{0xFF}) | ((key + 1) & 0xFF); }

} // namespace

NTSTATUS allocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const key_kind kind = mw->Mw.Type == IB_MWT_TYPE_1 ? key_kind::window_1 : key_kind::window_2;
    memory_window& made = memory_window::of(mw);
    made.posted = adapter_of(mw).keys().insert_window(kind, mw->Pd, made.holder);
    mw->Mw.RKey = made.posted;
    return made.posted != 0 ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS deallocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter_of(mw).keys().remove_window(memory_window::of(mw).holder);
    adapter_of(mw).accesses().wait();
    return STATUS_SUCCESS;
}

NTSTATUS query_mw(HCA_MW* mw, ib_mw_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ULONG key = adapter_of(mw).keys().key_of(memory_window::of(mw).holder);
    const ib_mw_attr_t made{sizeof(made), mw->Mw.Type, &mw->Pd->Pd, key};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

// Work requests of a queue execute in their order, so its later ones may use the new key.
NTSTATUS bind_mw(HCA_MW* mw, HCA_QP* qp, const ib_bind_wr_t* bind, ULONG* rkey) {
    memory_window& its = memory_window::of(mw);
    if (bind->current_rkey != its.posted) return STATUS_INVALID_PARAMETER;
    const ULONG key = next_key(its.posted);
    const bool binds = bind->local_ds.length != 0;
    const ULONG lkey = binds ? adapter_of(mw).keys().key_of(holder_of(*bind->h_mr)) : 0;
    const transport::window_binding what{
        its.posted, key, lkey, bind->local_ds.vaddr, bind->local_ds.length, bind->access_ctrl};
    const NTSTATUS status = queue_pair::of(qp).bind(bind->wr_id, bind->send_opt, what);
    if (NT_SUCCESS(status)) *rkey = its.posted = key;
    return status;
}

} // namespace irpverbs::hca_software
