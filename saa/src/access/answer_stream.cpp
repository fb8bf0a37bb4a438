#include <access/query.hpp>

#include <ibmf/ibmf_extras.h>

#include <array>
#include <new>

namespace irpverbs::saa {

void answer_stream::read(query& by, ibmf_handle_t handle) {
    std::array<std::uint8_t, 4096> piece;
    while (!to_->hold_up(by)) {
        std::size_t length = piece.size();
        const int status = ibmf_read_msg(handle, by.msg, piece.data(), &length);
        if (status != IBMF_SUCCESS || length == 0) return;
        begun_ = true;
        take(by.asked, std::span(piece).first(length));
        if (failure_ != IBMF_SUCCESS) ibmf_cancel_msg(handle, by.msg);
    }
}

// Ignores all bytes after a failure.
void answer_stream::take(const question& asked, std::span<const std::uint8_t> bytes) {
    if (failure_ != IBMF_SUCCESS) return;
    try {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
        failure_ = IBMF_NO_MEMORY;
        return;
    }
    if (headers_missing_ != 0) {
        if (bytes_.size() < answer_headers) return;
        failure_ = read_headers(asked, std::span(bytes_).first<answer_headers>(), form_);
        if (failure_ == IBMF_SUCCESS && !form_.many) failure_ = IBMF_TRANS_FAILURE;
        bytes_.erase(bytes_.begin(), bytes_.begin() + answer_headers);
        headers_missing_ = 0;
    }
    if (failure_ == IBMF_SUCCESS) hand_on(asked);
}

void answer_stream::hand_on(const question& asked) {
    const std::size_t stride = std::size_t{form_.stride_words} * 8;
    if (stride == 0) { // valid for an empty table only: no record would ever be complete
        if (!bytes_.empty()) failure_ = IBMF_TRANS_FAILURE;
        return;
    }
    const std::size_t whole = bytes_.size() / stride * stride;
    if (whole == 0) return;
    answer part =
        read_table(*asked.answer_type, form_.stride_words, std::span(bytes_).first(whole));
    if (part.status != IBMF_SUCCESS) {
        failure_ = part.status;
        return;
    }
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(whole));
    any_ = true;
    to_->came(std::move(part.records));
}

answer answer_stream::end(const question& asked, const ibmf_msg_t& message) {
    if (failure_ != IBMF_SUCCESS) return {failure_, {}};
    if (!begun_) return read_answer(asked, message);
    const ibmf_msg_bufs_t& rest = message.im_msgbufs_recv;
    const auto* const data = static_cast<const std::uint8_t*>(rest.im_bufs_cl_data);
    if (data != nullptr) take(asked, {data, rest.im_bufs_cl_data_len});
    if (failure_ != IBMF_SUCCESS) return {failure_, {}};
    if (message.im_msg_status != IBMF_SUCCESS) return read_answer(asked, message);
    if (any_ && bytes_.empty()) return {IBMF_SUCCESS, {}};
    return read_table(*asked.answer_type, form_.stride_words, bytes_); // the last is not padded
}

} // namespace irpverbs::saa
