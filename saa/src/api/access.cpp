#include <api/access.hpp>

#include <access/requests.hpp>
#include <access/session_table.hpp>

#include <array>

using namespace irpverbs::saa;

namespace {

/// An access with a callback. It lives until the callback has returned.
struct access_with_callback {
    detail::access_request request;
    ibmf_saa_cb_t callback;
    void* argument;
    int* refused; // the variable of the starting call, while the call runs
    session_ref who;
    WORK_QUEUE_ITEM item;
    alignas(IRP) std::array<std::byte, IoSizeOfIrp(request_stack)> irp_allocation;

    IRP* irp() { return reinterpret_cast<IRP*>(irp_allocation.data()); }
};
static_assert(sizeof(access_with_callback) <= session_table::access_size);

access_with_callback* make(session_table& here, const ibmf_saa_access_args_t& args, int& refused) {
    void* const memory = here.access_memory().allocate();
    if (memory == nullptr) return nullptr;
    auto* const made = ::new (memory) access_with_callback;
    made->request.keeps_session = true;
    made->callback = args.sq_callback;
    made->argument = args.sq_callback_arg;
    made->refused = &refused;
    IoInitializeIrp(made->irp(), IoSizeOfIrp(request_stack), request_stack);
    return made;
}

void free_access(session_table& here, access_with_callback* gone) {
    gone->~access_with_callback();
    here.access_memory().free(gone);
}

// The session may hold the last reference to the session table.
void free_completed(access_with_callback* gone) {
    const session_ref last = std::move(gone->who);
    free_access(last->at->sessions(), gone);
}

void run_callback(access_with_callback& ended) {
    detail::record_block& records = ended.request.records;
    ended.callback(ended.argument, records.length, static_cast<char*>(records.bytes.release()),
                   ended.request.status);
}

void run_callback_work(void* context) {
    auto* const ended = static_cast<access_with_callback*>(context);
    ended->who->call([&] { run_callback(*ended); });
    ended->who->end_operation();
    free_completed(ended);
}

NTSTATUS access_completed(DEVICE_OBJECT*, IRP*, void* context) {
    auto* const ended = static_cast<access_with_callback*>(context);
    if (ended->request.refused) {
        *ended->refused = ended->request.status;
        free_access(session_table::current(), ended);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    ended->who = session_ref(ended->request.waits.by, false);
    if (ended->who->call_inline_and_end([&] { run_callback(*ended); })) {
        free_completed(ended);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    ExInitializeWorkItem(&ended->item, run_callback_work, ended);
    ExQueueWorkItem(&ended->item, DelayedWorkQueue);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

int access_and_call_back(ibmf_saa_handle_t handle, const ibmf_saa_access_args_t& args,
                         uint_t flags) {
    int refused = IBMF_SUCCESS;
    access_with_callback* const wanted = make(session_table::current(), args, refused);
    if (wanted == nullptr) return IBMF_NO_MEMORY;
    IoSetCompletionRoutine(wanted->irp(), access_completed, wanted, TRUE, TRUE, TRUE);
    detail::start_access(wanted->irp(), wanted->request, handle, args, flags);
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
    *length = request.records.length;
    *result = request.records.bytes.release();
    return status;
}

} // extern "C"
