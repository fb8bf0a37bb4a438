#include "bracket.hpp"

#include "steps.hpp"

#include <algorithm>
#include <memory>

namespace irpverbs::hca_user {

bool bracket::is_needed(const uvp_interface_t& functions, UCHAR verb) {
    const step_pair* const steps = steps_of(verb);
    return steps != nullptr && steps->exists(functions);
}

bracket::decision bracket::before() {
    const step_pair& steps = *steps_of(verb_.MinorFunction);
    const ib_api_status_t status = steps.before({functions_, object_, verb_, buffer_});
    if (status == IB_SUCCESS) {
        lend_buffer();
        return decision::crosses;
    }
    if (status == IB_VERBS_PROCESSING_DONE && steps.may_be_done) return decision::done;
    veto_ = status == IB_VERBS_PROCESSING_DONE ? IB_UNSUPPORTED : status;
    return decision::vetoed;
}

IO_STACK_LOCATION& bracket::make_undo(UCHAR verb, void* object, NTSTATUS failure) {
    undone_ = failure;
    undo_.MinorFunction = verb;
    undo_.Parameters.Others.Argument1 = object;
    return undo_;
}

NTSTATUS bracket::finish(NTSTATUS result) {
    if (undone_ != STATUS_SUCCESS) return undone_;
    const step_pair& steps = *steps_of(verb_.MinorFunction);
    take_buffer_back();
    buffer_.ioctl_status = provider_status_of(result, verb_.MinorFunction);
    if (steps.only_after_success && !NT_SUCCESS(result)) return result;
    const ib_api_status_t status = steps.after({functions_, object_, verb_, buffer_});
    return status == IB_SUCCESS || !NT_SUCCESS(result) ? result : status_of(status);
}

void bracket::lend_buffer() {
    if (buffer_.input_size == 0 && buffer_.output_size == 0) return;
    auto* const place = reinterpret_cast<void*>(buffer_.p_inout_buf);
    std::destroy_at(&bytes_);
    std::construct_at(&bytes_, CI_UDATA{place, place, buffer_.input_size, buffer_.output_size});
    lent_ = ci::crossing::set_user_data(verb_, &bytes_);
}

void bracket::take_buffer_back() {
    if (lent_) ci::crossing::set_user_data(verb_, nullptr);
    const SIZE_T returned = lent_ ? bytes_.OutputSize : 0;
    buffer_.output_size = static_cast<uint32_t>(std::min<SIZE_T>(returned, buffer_.output_size));
}

} // namespace irpverbs::hca_user
