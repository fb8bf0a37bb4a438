// The query for the path of a request.
#include "connection.hpp"

#include "port.hpp"

#include <saa/queries.hpp>

namespace irpverbs::cm::engine {

void connection::send_path_query() {
    path_irp_ = IoAllocateIrp(saa::detail::request_stack_size(), FALSE);
    if (path_irp_ == nullptr) {
        cm_port::guard locked(*at);
        raise({event::path_missing, locked.fx, STATUS_INSUFFICIENT_RESOURCES});
        return;
    }
    const port_attributes& port = at->attributes();
    auto wanted =
        saa::path_template({.sgid = port.gids.front(), .dgid = dest_gid_, .max_paths = 1});
    const ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID,
                                      IBMF_SAA_RETRIEVE,
                                      wanted.components,
                                      &wanted.record,
                                      sizeof(wanted.record),
                                      nullptr,
                                      nullptr};
    intrusive_ptr_add_ref(this); // until the completion
    IoSetCompletionRoutine(path_irp_, path_completed, this, TRUE, TRUE, TRUE);
    saa::detail::start_access(path_irp_, path_, at->paths(), args, 0);
}

// The IRP lives as long as the connection.
void connection::cancel_path_query() {
    if (path_irp_ != nullptr) IoCancelIrp(path_irp_);
}

NTSTATUS connection::path_completed(DEVICE_OBJECT*, IRP*, void* context) {
    const connection_ref self(static_cast<connection*>(context), false);
    const std::span<const sa_path_record_t> found(
        static_cast<const sa_path_record_t*>(self->path_.records.bytes.get()),
        self->path_.records.length / sizeof(sa_path_record_t));
    cm_port::guard locked(*self->at);
    self->path_ended(self->path_.status, found, locked.fx);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void connection::path_ended(int status, std::span<const sa_path_record_t> found, effects& fx) {
    if (status == IBMF_SUCCESS && !found.empty()) {
        terms.primary = found.front();
        if (locate_path()) {
            raise({event::path_found, fx});
            return;
        }
    }
    raise({event::path_missing, fx,
           status == IBMF_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES : STATUS_HOST_UNREACHABLE});
}

} // namespace irpverbs::cm::engine
