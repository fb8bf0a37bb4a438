// The IRPs behind the C++ calls. Their IoStatus.Information is the IBMF_ status.
#ifndef IRPVERBS_IBMF_DETAIL_REQUESTS_HPP
#define IRPVERBS_IBMF_DETAIL_REQUESTS_HPP

#include <ibmf/ibmf.h>
#include <irp/wdm.h>

namespace irpverbs::ibmf {

/// The status that completes an IRP whose transaction or call ended with `ibmf_status`. Information
/// has `ibmf_status` itself.
NT_API NTSTATUS status_of(int ibmf_status);

namespace detail {

NT_API CCHAR request_stack_size();

struct transport_arguments {
    ibmf_handle_t handle;
    ibmf_qp_handle_t qp;
    ibmf_msg_t* message;
    ibmf_retrans_t retrans;
    uint_t flags;
};

/// Completes the IRP when the transaction has ended, or when ibmf_msg_transport refuses it.
NT_API void start_transport(IRP* irp, const transport_arguments& given);

/// A call that may block. A work item runs it. The object lives until the IRP has been completed.
struct blocking_call {
    int (*run)(blocking_call& self);
    /// True for a call that ends a client, a QP or a callback: it is not cancelled and may wait for
    /// callbacks. The other calls run one after the other and can be cancelled before they run.
    bool uncancellable = false;
    bool ran = false;
    IRP* irp = nullptr;
    WORK_QUEUE_ITEM item{};
};
NT_API void start_blocking(IRP* irp, blocking_call& call);

} // namespace detail

} // namespace irpverbs::ibmf

#endif
