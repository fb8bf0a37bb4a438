#include "memory_windows.hpp"

#include "adapter.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"
#include "posts.hpp"

namespace irpverbs::hca_rdma {

namespace {

static_assert(int{IB_MWT_TYPE_1} == int{IBV_MW_TYPE_1} && int{IB_MWT_TYPE_2} == int{IBV_MW_TYPE_2});

verbs_context& context_of(const HCA_MW* mw) { return adapter::of(mw->Pd->Ca->Device).context(); }

// Windows of type 1 only: soft-RoCE, the only device that the driver is tested on, refuses the
// posts that bind those of type 2.
bool has_windows(const HCA_MW* mw) {
    return mw->Mw.Type == IB_MWT_TYPE_1 &&
           (adapter::of(mw->Pd->Ca->Device).limits().Capabilities & IB_CA_CAP_MEMORY_WINDOWS) != 0;
}

} // namespace

ibv_mw* window_of(IB_MW* mw) { return extension_of(CONTAINING_RECORD(mw, HCA_MW, Mw)).window; }

NTSTATUS allocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    if (!has_windows(mw)) return STATUS_NOT_SUPPORTED;
    const verbs_context& opened = context_of(mw);
    ibv_mw* made =
        opened.verbs().alloc_mw(extension_of(mw->Pd).domain, static_cast<ibv_mw_type>(mw->Mw.Type));
    if (const int error = failure_of(made); error != 0) return opened.failure(error);
    if (irp->Cancel != FALSE) { // during the call of the kernel
        opened.verbs().dealloc_mw(made);
        return STATUS_CANCELLED;
    }
    extension_of(mw).window = made;
    mw->Mw.RKey = made->rkey;
    return STATUS_SUCCESS;
}

NTSTATUS deallocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    context_of(mw).verbs().dealloc_mw(extension_of(mw).window);
    return STATUS_SUCCESS;
}

NTSTATUS query_mw(HCA_MW* mw, ib_mw_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_mw_attr_t made{sizeof(made), mw->Mw.Type, &mw->Pd->Pd, extension_of(mw).window->rkey};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

// A provider changes the key of a window of type 1 itself. That of soft-RoCE reads the key of the
// region also where there is none.
NTSTATUS bind_mw(HCA_MW* mw, HCA_QP* qp, const ib_bind_wr_t* bind, ULONG* rkey) {
    ibv_mw* window = extension_of(mw).window;
    if (bind->current_rkey != window->rkey) return STATUS_INVALID_PARAMETER;
    if (!may_send(HcaQpState(qp))) return STATUS_INVALID_DEVICE_STATE;
    if (bind->h_mr == nullptr) return STATUS_NOT_SUPPORTED;
    ibv_mw_bind what{};
    what.wr_id = bind->wr_id;
    what.send_flags = provider_flags(bind->send_opt);
    what.bind_info = {region_of(bind->h_mr), bind->local_ds.vaddr, bind->local_ds.length,
                      static_cast<unsigned>(access_flags(bind->access_ctrl))};
    const auto& posts = *static_cast<const post_target*>(qp->Posts.Queue);
    const verbs_context& opened = context_of(mw);
    const int error = failure_of(opened.verbs().bind_mw(posts.pair, window, &what));
    if (error != 0) return opened.failure(error);
    *rkey = window->rkey;
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_rdma
