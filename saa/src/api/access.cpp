#include <api/access.hpp>

#include <access/session.hpp>

using namespace irpverbs::saa;

namespace {

/// An access with a callback, until that has returned.
struct access_with_callback {
    detail::access_request request;
    ibmf_saa_cb_t callback;
    void* argument;
    int* refused; // the call's, while it runs
    session_ref who;
    WORK_QUEUE_ITEM item;
};

void tell(access_with_callback& ended) {
    detail::record_block& records = ended.request.answer;
    ended.callback(ended.argument, records.length, static_cast<char*>(records.bytes.release()),
                   ended.request.status);
}

void call_back(void* context) {
    const std::unique_ptr<access_with_callback> ended(static_cast<access_with_callback*>(context));
    ended->who->call([&] { tell(*ended); });
    ended->who->leave();
}

NTSTATUS came_home(DEVICE_OBJECT*, IRP* irp, void* context) {
    IoFreeIrp(irp);
    std::unique_ptr<access_with_callback> ended(static_cast<access_with_callback*>(context));
    if (ended->request.refused) {
        *ended->refused = ended->request.status;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    ended->who = session_ref(ended->request.waits.by, false);
    if (ended->who->call_at_once_and_leave([&] { tell(*ended); }))
        return STATUS_MORE_PROCESSING_REQUIRED;
    access_with_callback* const due = ended.release();
    ExInitializeWorkItem(&due->item, call_back, due);
    ExQueueWorkItem(&due->item, DelayedWorkQueue);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

int access_and_call_back(ibmf_saa_handle_t handle, const ibmf_saa_access_args_t& args,
                         uint_t flags) {
    int refused = IBMF_SUCCESS;
    std::unique_ptr<access_with_callback> wanted(new (std::nothrow) access_with_callback{
        {}, args.sq_callback, args.sq_callback_arg, &refused, nullptr, {}});
    if (wanted == nullptr) return IBMF_NO_MEMORY;
    IRP* const irp = IoAllocateIrp(detail::request_stack_size(), FALSE);
    if (irp == nullptr) return IBMF_NO_MEMORY;
    wanted->request.keeps_session = true;
    IoSetCompletionRoutine(irp, came_home, wanted.get(), TRUE, TRUE, TRUE);
    detail::start_access(irp, wanted.release()->request, handle, args, flags);
    return refused;
}

NTSTATUS wake(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace

namespace irpverbs::saa {

int access_and_wait(detail::access_request& request, ibmf_saa_handle_t handle,
                    const ibmf_saa_access_args_t& args, uint_t flags) {
    if (KeGetCurrentIrql() >= DISPATCH_LEVEL) return IBMF_INVALID_ARG;
    IRP* const irp = IoAllocateIrp(detail::request_stack_size(), FALSE);
    if (irp == nullptr) return IBMF_NO_MEMORY;
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoSetCompletionRoutine(irp, wake, &done, TRUE, TRUE, TRUE);
    detail::start_access(irp, request, handle, args, flags);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    IoFreeIrp(irp);
    return request.status;
}

} // namespace irpverbs::saa

extern "C" {

int ibmf_sa_access(ibmf_saa_handle_t ibmf_saa_handle, ibmf_saa_access_args_t* access_args,
                   uint_t flags, size_t* length, void** result) {
    if (access_args == nullptr || length == nullptr || result == nullptr) return IBMF_INVALID_ARG;
    *length = 0;
    *result = nullptr;
    if (access_args->sq_callback != nullptr)
        return access_and_call_back(ibmf_saa_handle, *access_args, flags);
    detail::access_request request;
    const int status = access_and_wait(request, ibmf_saa_handle, *access_args, flags);
    *length = request.answer.length;
    *result = request.answer.bytes.release();
    return status;
}

} // extern "C"
