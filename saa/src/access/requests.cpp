#include <access/requests.hpp>

#include <ibmf/support/requests.hpp>

#include <ci/support/fail_unsent.hpp>

namespace irpverbs::saa {

using detail::access_request;

namespace {

/// The parameters of an access, for as long as its dispatch routine runs.
struct access_call {
    session* by; // null: the session of `handle`
    ibmf_saa_handle_t handle;
    const ibmf_saa_access_args_t& args;
    uint_t flags;
};

int begin(IRP* irp, access_request& request, const access_call& call) {
    if (call.args.sq_template == nullptr || (call.flags & ~uint_t{IBMF_SAA_BULK}) != 0)
        return IBMF_INVALID_ARG;
    const session_ref who =
        call.by != nullptr ? call.by : session_table::current().find(call.handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    wire_query what;
    what.sm_key = who->sm_key;
    if (const int status = compose(call.args, what); status != IBMF_SUCCESS) return status;
    return who->at->begin_access(irp, request, *who, std::move(what),
                                 (call.flags & IBMF_SAA_BULK) != 0);
}

NTSTATUS refuse(IRP* irp, access_request& request, int status) {
    request.status = status;
    request.refused = true;
    const NTSTATUS nt_status = ibmf::status_of(status);
    irp->IoStatus.Status = nt_status;
    irp->IoStatus.Information = static_cast<ULONG_PTR>(status);
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return nt_status;
}

void send(IRP* irp, access_request& request, access_call& call) {
    DEVICE_OBJECT* const device = session_table::current().device();
    if (device == nullptr) {
        request.status = IBMF_NO_RESOURCES;
        request.refused = true;
        return ci::detail::fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
    }
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.Parameters.Others.Argument1 = &request;
    next.Parameters.Others.Argument2 = &call;
    IoCallDriver(device, irp);
}

} // namespace

void start_access(IRP* irp, access_request& request, session& by,
                  const ibmf_saa_access_args_t& args) {
    access_call call{&by, nullptr, args, 0};
    send(irp, request, call);
}

NTSTATUS dispatch_access(DEVICE_OBJECT*, IRP* irp) {
    const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
    auto& request = *static_cast<access_request*>(location.Parameters.Others.Argument1);
    const auto& call = *static_cast<const access_call*>(location.Parameters.Others.Argument2);
    const int refused = begin(irp, request, call);
    return refused == IBMF_SUCCESS ? STATUS_PENDING : refuse(irp, request, refused);
}

namespace detail {

CCHAR request_stack_size() { return request_stack; }

void start_access(IRP* irp, access_request& request, ibmf_saa_handle_t handle,
                  const ibmf_saa_access_args_t& args, uint_t flags) {
    access_call call{nullptr, handle, args, flags};
    send(irp, request, call);
}

} // namespace detail

} // namespace irpverbs::saa
