#include "work_request_builder.hpp"

#include "posts.hpp"
#include "verb_call.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::verbs {

namespace {

// A work request has a segment also on a queue pair without segments: that of its inline bytes.
std::size_t segments_each(const IB_QP& qp) { return std::max<std::size_t>(qp.SqSge, 1); }

} // namespace

work_request_builder::work_request_builder(IB_QP& qp)
    : qp_(qp), requests_(qp.SqDepth + 1u), segments_(requests_.size() * segments_each(qp)),
      inline_bytes_(requests_.size() * qp.SqMaxInline) {}

void work_request_builder::fail(int error) {
    if (error_ == 0) error_ = error;
}

void work_request_builder::start() {
    lock_.lock();
    count_ = 0;
    error_ = 0;
}

void work_request_builder::abort() { lock_.unlock(); }

int work_request_builder::complete() {
    int error = error_;
    if (error == 0 && count_ != 0)
        error = drop_in::error_of(CiPostSend(&qp_, requests_.data(), nullptr));
    lock_.unlock();
    return error;
}

ib_send_wr_t& work_request_builder::add(const ibv_qp_ex& with, ib_wr_type_t type,
                                        ib_send_opt_t options) {
    current_ = count_;
    if (count_ + 1 == requests_.size())
        fail(ENOMEM);
    else
        ++count_;
    ib_send_wr_t& made = current();
    made = {};
    made.wr_id = with.wr_id;
    made.wr_type = type;
    made.send_opt = options | (options_of(with.wr_flags) & ~IB_SEND_OPT_INLINE);
    made.ds_array = segments_.data() + current_ * segments_each(qp_);
    if (current_ != 0) requests_[current_ - 1].p_next = &made;
    return made;
}

void work_request_builder::set_segments(std::size_t count, const ibv_sge* segments) {
    if (count > qp_.SqSge) return fail(EINVAL);
    ib_send_wr_t& into = current();
    into.num_ds = static_cast<ULONG>(count);
    for (std::size_t i = 0; i < count; ++i)
        into.ds_array[i] = {segments[i].addr, segments[i].length, segments[i].lkey};
}

void work_request_builder::begin_inline() {
    ib_send_wr_t& into = current();
    into.send_opt |= IB_SEND_OPT_INLINE;
    into.num_ds = 1;
    const UCHAR* bytes = inline_bytes_.data() + current_ * qp_.SqMaxInline;
    into.ds_array[0] = {reinterpret_cast<ULONG_PTR>(bytes), 0, 0};
}

void work_request_builder::add_inline(const void* bytes, std::size_t length) {
    ib_local_ds_t& into = current().ds_array[0];
    if (length > qp_.SqMaxInline - into.length) return fail(EINVAL);
    if (length == 0) return;
    std::memcpy(reinterpret_cast<UCHAR*>(into.vaddr) + into.length, bytes, length);
    into.length += static_cast<ULONG>(length);
}

} // namespace irpverbs::verbs
