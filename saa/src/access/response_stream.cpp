#include <access/query.hpp>

#include <ibmf/ibmf_extras.h>

#include <array>
#include <new>

namespace irpverbs::saa {

void response_stream::read(query& by, ibmf_handle_t handle) {
    std::array<std::uint8_t, 4096> piece;
    while (!to_->pause_if_full(by)) {
        std::size_t length = piece.size();
        const int status = ibmf_read_msg(handle, by.msg, piece.data(), &length);
        if (status != IBMF_SUCCESS || length == 0) return;
        begun_ = true;
        append(by.request, std::span(piece).first(length));
        if (failure_ != IBMF_SUCCESS) ibmf_cancel_msg(handle, by.msg);
    }
}

// Ignores all bytes after a failure.
void response_stream::append(const wire_query& request, std::span<const std::uint8_t> bytes) {
    if (failure_ != IBMF_SUCCESS) return;
    try {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
        failure_ = IBMF_NO_MEMORY;
        return;
    }
    if (headers_missing_ != 0) {
        if (bytes_.size() < response_headers_size) return;
        failure_ = read_headers(request, std::span(bytes_).first<response_headers_size>(), form_);
        if (failure_ == IBMF_SUCCESS && !form_.many) failure_ = IBMF_TRANS_FAILURE;
        bytes_.erase(bytes_.begin(), bytes_.begin() + response_headers_size);
        headers_missing_ = 0;
    }
    if (failure_ == IBMF_SUCCESS) deliver(request);
}

void response_stream::deliver(const wire_query& request) {
    const std::size_t stride = std::size_t{form_.stride_words} * 8;
    if (stride == 0) { // valid for an empty table only: no record would ever be complete
        if (!bytes_.empty()) failure_ = IBMF_TRANS_FAILURE;
        return;
    }
    const std::size_t whole = bytes_.size() / stride * stride;
    if (whole == 0) return;
    sa_response part =
        read_table(*request.response_type, form_.stride_words, std::span(bytes_).first(whole));
    if (part.status != IBMF_SUCCESS) {
        failure_ = part.status;
        return;
    }
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(whole));
    delivered_any_ = true;
    to_->append(std::move(part.records));
}

sa_response response_stream::end(const wire_query& request, const ibmf_msg_t& message) {
    if (failure_ != IBMF_SUCCESS) return {failure_, {}};
    if (!begun_) return read_response(request, message);
    const ibmf_msg_bufs_t& rest = message.im_msgbufs_recv;
    const auto* const data = static_cast<const std::uint8_t*>(rest.im_bufs_cl_data);
    if (data != nullptr) append(request, {data, rest.im_bufs_cl_data_len});
    if (failure_ != IBMF_SUCCESS) return {failure_, {}};
    if (message.im_msg_status != IBMF_SUCCESS) return read_response(request, message);
    if (delivered_any_ && bytes_.empty()) return {IBMF_SUCCESS, {}};
    return read_table(*request.response_type, form_.stride_words, bytes_); // the last is not padded
}

} // namespace irpverbs::saa
