#include <engine/requests.hpp>

using namespace irpverbs::ibmf;

namespace {

constexpr uint_t known_message_flags = IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ;
constexpr ibmf_retrans_t default_times = IBMF_RETRANS_DEFAULT;

// The transport was refused before it began: the call returns the status, and no callback runs.
bool refused(const IRP* irp) { return irp->PendingReturned == FALSE; }

NTSTATUS complete_by_callback(DEVICE_OBJECT*, IRP* irp, void* context) {
    if (!refused(irp)) {
        message& which = *static_cast<message*>(context);
        client& who = *which.who.load();
        port_context::guard locked(*who.at);
        who.deliver(locked, which);
    }
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

NTSTATUS wake(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

int send(DEVICE_OBJECT* device, IRP* irp, transport& wanted, PIO_COMPLETION_ROUTINE routine,
         void* context) {
    prepare(irp, begin_transaction, &wanted);
    IoSetCompletionRoutine(irp, routine, context, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
    return wanted.refused;
}

int transport_and_wait(DEVICE_OBJECT* device, IRP* irp, transport& wanted) {
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    int status = send(device, irp, wanted, wake, &done);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    IoFreeIrp(irp);
    if (status != IBMF_SUCCESS) return status;
    const port_context::guard locked(*wanted.who->at);
    wanted.msg->busy = false;
    return wanted.msg->public_part.im_msg_status;
}

} // namespace

extern "C" {

int ibmf_msg_transport(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle, ibmf_msg_t* msgp,
                       ibmf_retrans_t* retrans, ibmf_msg_cb_t msg_cb, void* msg_cb_args,
                       uint_t flags) {
    const bool blocks = msg_cb == nullptr;
    if (msgp == nullptr || (flags & ~known_message_flags) != 0 ||
        (blocks && KeGetCurrentIrql() >= DISPATCH_LEVEL))
        return IBMF_INVALID_ARG;
    client_table& here = client_table::current();
    const client_ref who = here.find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    qp_ref qp;
    message* found = nullptr;
    if (const int status = check_transport(*who, ibmf_qp_handle, *msgp, flags, qp, found);
        status != IBMF_SUCCESS)
        return status;
    IRP* const irp = IoAllocateIrp(1, FALSE);
    if (irp == nullptr) return IBMF_NO_RESOURCES;
    transport wanted{who.get(),
                     found,
                     retrans != nullptr ? *retrans : default_times,
                     flags,
                     blocks ? completion_style::return_value : completion_style::callback,
                     msg_cb,
                     msg_cb_args,
                     qp.get()};
    if (blocks) return transport_and_wait(here.device(), irp, wanted);
    return send(here.device(), irp, wanted, complete_by_callback, wanted.msg);
}

} // extern "C"
