#include "path_query.hpp"

#include "port.hpp"

#include <saa/queries.hpp>

namespace irpverbs::cm::engine {

// The IRP lives as long as the owner, so that a cancellation may come at any time.
path_query::~path_query() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

void path_query::begin(const ib_gid_t& to, effects& fx) {
    const port_attributes& port = at_.attributes();
    if (port.is_ethernet) {
        const std::optional<sa_path_record_t> made = port.path_to(to);
        return ended_(owner_, made ? STATUS_SUCCESS : STATUS_HOST_UNREACHABLE,
                      made ? &*made : nullptr, fx);
    }
    if (!port.gids.empty()) from_ = port.gids.front();
    to_ = to;
    fx.query_path(*this);
}

void path_query::cancel(effects& fx) { fx.cancel_path_query(*this); }

void path_query::send() {
    irp_ = IoAllocateIrp(saa::detail::request_stack_size(), FALSE);
    if (irp_ == nullptr) {
        cm_port::guard locked(at_);
        return ended_(owner_, STATUS_INSUFFICIENT_RESOURCES, nullptr, locked.fx);
    }
    auto wanted = saa::path_template({.sgid = from_, .dgid = to_, .max_paths = 1});
    const ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID,
                                      IBMF_SAA_RETRIEVE,
                                      wanted.components,
                                      &wanted.record,
                                      sizeof(wanted.record),
                                      nullptr,
                                      nullptr};
    intrusive_ptr_add_ref(&owner_); // until the completion
    IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    saa::detail::start_access(irp_, access_, at_.paths(), args, 0);
}

void path_query::send_cancel() {
    if (irp_ != nullptr) IoCancelIrp(irp_);
}

NTSTATUS path_query::completed(DEVICE_OBJECT*, IRP*, void* context) {
    path_query& self = *static_cast<path_query*>(context);
    const boost::intrusive_ptr<port_object> owner(&self.owner_, false);
    const saa::detail::record_block& records = self.access_.records;
    const bool found =
        self.access_.status == IBMF_SUCCESS && records.length >= sizeof(sa_path_record_t);
    const NTSTATUS status = found                                   ? STATUS_SUCCESS
                            : self.access_.status == IBMF_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES
                                                                    : STATUS_HOST_UNREACHABLE;
    cm_port::guard locked(self.at_);
    self.ended_(self.owner_, status,
                found ? static_cast<const sa_path_record_t*>(records.bytes.get()) : nullptr,
                locked.fx);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace irpverbs::cm::engine
