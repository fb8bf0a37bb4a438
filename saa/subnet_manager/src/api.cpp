#include "manager_core.hpp"

#include <ci/support/fail_unsent.hpp>

namespace irpverbs::subnet_manager {

void detail::manager_request::start(IRP* irp) {
    if (of == nullptr) return ci::detail::fail_unsent(irp, STATUS_INVALID_PARAMETER);
    of->submit(verb, irp);
}

std::string partitions_problem(const std::string& text, const std::string& name) {
    std::string problem;
    parse_partitions(text, name, problem);
    return problem;
}

manager::manager(manager_options options)
    : manager_(std::make_shared<manager_core>(std::move(options))) {}

manager::~manager() {
    if (manager_ != nullptr) manager_->request_stop();
}

manager& manager::operator=(manager&& other) noexcept {
    const manager ended(std::move(*this));
    manager_ = std::move(other.manager_);
    return *this;
}

manager_status manager::status() const {
    return manager_ != nullptr ? manager_->status() : manager_status{};
}

} // namespace irpverbs::subnet_manager
