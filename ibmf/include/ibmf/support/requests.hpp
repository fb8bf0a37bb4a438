// Calls of IBMF as IRPs, for the C++ wrappers and for packages above. IoStatus.Information is the
// IBMF_ status.
#ifndef IRPVERBS_IBMF_SUPPORT_REQUESTS_HPP
#define IRPVERBS_IBMF_SUPPORT_REQUESTS_HPP

#include <ibmf/ibmf.h>
#include <irp/wdm.h>

namespace irpverbs::ibmf {

/// The status that completes an IRP whose transaction or call ended with `ibmf_status`. Information
/// has `ibmf_status` itself.
NT_API NTSTATUS status_of(int ibmf_status);

namespace detail {

/// The stack locations that an IRP of start_transport or start_blocking needs. IRQL: any.
NT_API CCHAR request_stack_size();

/// The arguments of ibmf_msg_transport.
struct transport_arguments {
    ibmf_handle_t handle;
    ibmf_qp_handle_t qp;
    ibmf_msg_t* message;
    ibmf_retrans_t retrans;
    uint_t flags;
};

/// Starts a transaction. The IRP is the caller's, with request_stack_size() free locations; the
/// message is lent until the IRP has been completed. IRQL: <= DISPATCH_LEVEL. Completes with
/// status_of() the transaction's status, or of that with which ibmf_msg_transport refuses the
/// arguments: IBMF_INVALID_ARG, IBMF_BAD_HANDLE, and those of ibmf.h. Cancellation ends the
/// transaction with STATUS_CANCELLED.
NT_API void start_transport(IRP* irp, const transport_arguments& given);

/// A call that may block. A work item runs it at PASSIVE_LEVEL. The object lives until the IRP has
/// been completed.
struct blocking_call {
    int (*run)(blocking_call& self);
    /// True for a call that ends a client, a QP or a callback: it is not cancelled and may wait for
    /// callbacks. The other calls run one after the other and can be cancelled before they run.
    bool uncancellable = false;
    bool ran = false;
    IRP* irp = nullptr;
    WORK_QUEUE_ITEM item{};
};
/// Queues the call. The IRP is the caller's. IRQL: <= DISPATCH_LEVEL. Completes with status_of()
/// what `run` returned; STATUS_INSUFFICIENT_RESOURCES (IBMF_NO_RESOURCES) if IBMF has no device;
/// STATUS_CANCELLED if the IRP was cancelled before the call ran.
NT_API void start_blocking(IRP* irp, blocking_call& call);

} // namespace detail

} // namespace irpverbs::ibmf

#endif
