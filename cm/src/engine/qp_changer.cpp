#include "qp_changer.hpp"

#include "connection.hpp"
#include "port.hpp"

#include <ci/qp_changes.hpp>

#include <utility>

namespace irpverbs::cm::engine {

qp_changer::~qp_changer() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

bool qp_changer::reserve() {
    irp_ = IoAllocateIrp(1, FALSE);
    return irp_ != nullptr;
}

void qp_changer::set_qp(IB_QP* qp) {
    qp_ = qp;
    connected_ = false;
    srq_ = false;
}

void qp_changer::set_numbers(ib_qpn_t qpn, ib_qp_type_t type, bool srq) {
    set_qp(nullptr);
    attributes_ = {};
    attributes_.num = qpn;
    attributes_.qp_type = type;
    attributes_.state = IB_QPS_INIT;
    srq_ = srq;
}

bool qp_changer::request(qp_goal goal) {
    if (busy_) {
        stop_follows_ = true;
        return false;
    }
    goal_ = goal;
    step_ = 0;
    busy_ = true;
    return true;
}

// Only this thread uses the change until the verb has ended.
void qp_changer::send_verb() {
    if (qp_ == nullptr) return report(STATUS_SUCCESS);
    IoReuseIrp(irp_, STATUS_SUCCESS);
    IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    intrusive_ptr_add_ref(&owner_); // until the completion
    if (queries()) {
        CiQueryQp(qp_, sizeof(attributes_), &attributes_, nullptr, irp_);
        return;
    }
    change_ = change();
    CiModifyQp(qp_, &change_, nullptr, irp_);
}

ib_qp_mod_t qp_changer::change() const {
    const ib_qp_type_t type = attributes_.qp_type;
    if (goal_ == qp_goal::stop) return ci::to_state(IB_QPS_ERROR);
    if (goal_ == qp_goal::send) return owner_.rts_change();
    if (goal_ == qp_goal::load_path) return owner_.path_change(attributes_.apm_state);
    return step_ == 0 ? ci::to_init(type, owner_.init_attributes())
                      : ci::to_rtr(type, owner_.rtr_attributes());
}

std::optional<qp_outcome> qp_changer::advance(NTSTATUS status) {
    const bool succeeded = NT_SUCCESS(status);
    if (succeeded && goal_ == qp_goal::receive && step_ != 0) connected_ = true;
    if (std::exchange(stop_follows_, false)) {
        if (!connected_) return end(STATUS_CANCELLED);
        goal_ = qp_goal::stop;
        return std::nullopt;
    }
    if (succeeded && !is_last_step()) {
        ++step_;
        return std::nullopt;
    }
    if (goal_ == qp_goal::stop) connected_ = false;
    return end(status);
}

qp_outcome qp_changer::end(NTSTATUS status) {
    busy_ = false;
    return {goal_, status};
}

NTSTATUS qp_changer::completed(DEVICE_OBJECT*, IRP* irp, void* self) {
    connection& owner = static_cast<qp_changer*>(self)->owner_;
    const connection_ref held(&owner, false);
    owner.qp.report(irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The owner is referenced.
void qp_changer::report(NTSTATUS status) {
    cm_port::guard locked(*owner_.at);
    owner_.verb_ended(status, locked.fx);
}

} // namespace irpverbs::cm::engine
