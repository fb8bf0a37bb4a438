#include "manager.hpp"

#include <ci/detail/refuse.hpp>

namespace irpverbs::saa {

void detail::manager_request::start(IRP* irp) {
    if (of == nullptr) return ci::detail::refuse(irp, STATUS_INVALID_PARAMETER);
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.MinorFunction = static_cast<UCHAR>(verb);
    IoCallDriver(of->device(), irp);
}

std::string partitions_problem(const std::string& text, const std::string& name) {
    std::string problem;
    parse_partitions(text, name, problem);
    return problem;
}

subnet_manager::subnet_manager(subnet_manager_options options)
    : manager_(std::make_shared<manager>(std::move(options))) {}

subnet_manager::~subnet_manager() {
    if (manager_ != nullptr) manager_->abandon();
}

subnet_manager& subnet_manager::operator=(subnet_manager&& other) noexcept {
    const subnet_manager ended(std::move(*this));
    manager_ = std::move(other.manager_);
    return *this;
}

subnet_manager_status subnet_manager::status() const {
    return manager_ != nullptr ? manager_->status() : subnet_manager_status{};
}

} // namespace irpverbs::saa
