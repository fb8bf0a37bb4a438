// The device that receives transactions and calls as IRPs.
#include <engine/requests.hpp>

#include <engine/message_codec.hpp>
#include <engine/status.hpp>

#include <ci/support/fail_unsent.hpp>

namespace irpverbs::ibmf {

namespace {

NTSTATUS complete(IRP* irp, int code) {
    const NTSTATUS status = status_of(code);
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = static_cast<ULONG_PTR>(code);
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

void run_uncancellable(void* context) {
    auto& call = *static_cast<detail::blocking_call*>(context);
    IRP* const irp = call.irp;
    complete(irp, call.run(call)); // the completion may free the call
}

// A raw datagram has no header, and so no id for a response. Source: seed 000; defect D4.
int check_raw(const ibmf_msg_bufs_t& parts, uint_t flags) {
    if ((flags & IBMF_MSG_TRANS_FLAG_RMPP) != 0) return IBMF_BAD_RMPP_OPT;
    if ((flags & IBMF_MSG_TRANS_FLAG_SEQ) != 0) return IBMF_REQ_INVALID;
    const bool empty = parts.im_bufs_cl_data == nullptr || parts.im_bufs_cl_data_len == 0;
    return empty ? IBMF_BAD_SIZE : IBMF_SUCCESS;
}

int check_parts(const client& who, const alternate_qp* qp, const ibmf_msg_bufs_t& parts,
                uint_t flags) {
    if (qp != nullptr && qp->raw()) return check_raw(parts, flags);
    if (parts.im_bufs_mad_hdr == nullptr) return IBMF_BAD_SIZE;
    const std::uint8_t mgmt_class = parts.im_bufs_mad_hdr->MgmtClass;
    if (qp == nullptr && !who.mapping.has(mgmt_class)) return IBMF_BAD_QP_HANDLE;
    const class_layout layout = layout_of(mgmt_class);
    if ((flags & IBMF_MSG_TRANS_FLAG_RMPP) == 0)
        return fits_datagram(parts, layout) ? IBMF_SUCCESS : IBMF_BAD_SIZE;
    if (!has_rmpp(who, qp) || !layout.rmpp) return IBMF_BAD_RMPP_OPT;
    return body_of(parts, layout) ? IBMF_SUCCESS : IBMF_BAD_SIZE;
}

} // namespace

NTSTATUS dispatch_request(DEVICE_OBJECT*, IRP* irp) {
    IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
    void* const argument = location.Parameters.Others.Argument1;
    if (location.MinorFunction == begin_transaction) {
        transport& wanted = *static_cast<transport*>(argument);
        const int refused = wanted.who->at->begin(irp, wanted);
        if (refused == IBMF_SUCCESS) return STATUS_PENDING;
        wanted.refused = refused;
        return complete(irp, refused);
    }
    if (location.MinorFunction == fail_call)
        return complete(irp, static_cast<int>(reinterpret_cast<LONG_PTR>(argument)));
    auto& call = *static_cast<detail::blocking_call*>(argument);
    if (!call.uncancellable) return client_table::current().run_serialized(irp);
    call.ran = true;
    call.irp = irp;
    IoMarkIrpPending(irp);
    ExInitializeWorkItem(&call.item, run_uncancellable, &call);
    ExQueueWorkItem(&call.item, DelayedWorkQueue);
    return STATUS_PENDING;
}

int check_transport(client& who, ibmf_qp_handle_t handle, const ibmf_msg_t& msg, uint_t flags,
                    qp_ref& qp, message*& found) {
    found = who.at->messages.find(&msg);
    // The buffers of a freed message may be gone.
    if (found == nullptr || found->who.load(std::memory_order_acquire) != &who)
        return IBMF_INVALID_ARG;
    if (!who.find_qp(handle, qp)) return IBMF_BAD_QP_HANDLE;
    return check_parts(who, qp.get(), msg.im_msgbufs_send, flags);
}

void prepare(IRP* irp, request_kind kind, void* argument) {
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.MinorFunction = kind;
    next.Parameters.Others.Argument1 = argument;
}

namespace detail {

namespace {

// The code that allocated an IRP must not complete it; the device completes it.
void refuse(IRP* irp, int code) {
    DEVICE_OBJECT* const device = client_table::current().device();
    if (device == nullptr) return ci::detail::fail_unsent(irp, status_of(code));
    prepare(irp, fail_call, reinterpret_cast<void*>(static_cast<LONG_PTR>(code)));
    IoCallDriver(device, irp);
}

} // namespace

CCHAR request_stack_size() { return 1; }

void start_transport(IRP* irp, const transport_arguments& given) {
    client_table& here = client_table::current();
    constexpr uint_t known = IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ;
    if (given.message == nullptr || (given.flags & ~known) != 0)
        return refuse(irp, IBMF_INVALID_ARG);
    const client_ref who = here.find(given.handle);
    if (who == nullptr) return refuse(irp, IBMF_BAD_HANDLE);
    qp_ref qp;
    message* found = nullptr;
    const int refused = check_transport(*who, given.qp, *given.message, given.flags, qp, found);
    if (refused != IBMF_SUCCESS) return refuse(irp, refused);
    transport wanted{who.get(), found, given.retrans, given.flags, completion_style::irp};
    wanted.qp = qp.get();
    prepare(irp, begin_transaction, &wanted);
    IoCallDriver(here.device(), irp);
}

void start_blocking(IRP* irp, blocking_call& call) {
    client_table& here = client_table::current();
    if (here.device() == nullptr) return refuse(irp, IBMF_NO_RESOURCES);
    prepare(irp, run_call, &call);
    IoCallDriver(here.device(), irp);
}

} // namespace detail

} // namespace irpverbs::ibmf
