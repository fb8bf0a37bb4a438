#include <access/internal_access.hpp>

#include <access/requests.hpp>

namespace irpverbs::saa {

void internal_access::begin(session& by, const ibmf_saa_access_args_t& args) {
    if (in_progress_.exchange(true)) return;
    intrusive_ptr_add_ref(&of_); // until the access has ended
    request_ = {};
    IRP* const irp = IoAllocateIrp(detail::request_stack_size(), FALSE);
    if (irp == nullptr) {
        access_completed(nullptr, nullptr, this);
        return;
    }
    IoSetCompletionRoutine(irp, access_completed, this, TRUE, TRUE, TRUE);
    start_access(irp, request_, by, args);
}

NTSTATUS internal_access::access_completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<internal_access*>(context);
    const boost::intrusive_ptr<session_port> of(&self.of_, false);
    if (irp != nullptr) IoFreeIrp(irp);
    const detail::access_request ended = std::move(self.request_);
    self.in_progress_ = false;
    self.ended_(*of, self, ended);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace irpverbs::saa
