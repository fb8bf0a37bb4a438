#include <access/own_access.hpp>

#include <access/requests.hpp>

namespace irpverbs::saa {

void own_access::begin(session& by, const ibmf_saa_access_args_t& args) {
    if (under_way_.exchange(true)) return;
    intrusive_ptr_add_ref(&of_); // until the access has ended
    request_ = {};
    IRP* const irp = IoAllocateIrp(detail::request_stack_size(), FALSE);
    if (irp == nullptr) {
        came_home(nullptr, nullptr, this);
        return;
    }
    IoSetCompletionRoutine(irp, came_home, this, TRUE, TRUE, TRUE);
    start_access(irp, request_, by, args);
}

NTSTATUS own_access::came_home(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<own_access*>(context);
    const boost::intrusive_ptr<port> of(&self.of_, false);
    if (irp != nullptr) IoFreeIrp(irp);
    const detail::access_request told = std::move(self.request_);
    self.under_way_ = false;
    self.ended_(*of, self, told);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace irpverbs::saa
