#include <rmpp/header_template.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

header_template::header_template(const message& sent) {
    copy_headers(sent.header, sent.class_header);
}

header_template::header_template(const mad_view& received) {
    copy_headers(received.bytes().first<mad_header_size>(), received.class_header());
    bytes_[3] ^= MAD_RESPONSE_BIT;
}

void header_template::copy_headers(std::span<const std::uint8_t, mad_header_size> header,
                                   mad_bytes class_header) {
    std::ranges::copy(header, bytes_.begin());
    const std::size_t kept = std::min(class_header.size(), bytes_.size() - rmpp_data_offset);
    std::ranges::copy(class_header.first(kept), bytes_.begin() + rmpp_data_offset);
    size_ = static_cast<std::uint8_t>(rmpp_data_offset + kept);
}

void header_template::write(mad_buffer to, const rmpp_header& header) const {
    std::copy_n(bytes_.begin(), size_, to.begin());
    store(header_at<rmpp_header::size>(to, mad_header_size), header);
}

void header_template::write_control(mad_buffer to, rmpp_header header) const {
    header.flags = rmpp_active;
    write(to, header);
    std::ranges::fill(to.subspan(size_), std::uint8_t{0});
}

rmpp_header stop_or_abort(rmpp_status code) {
    const bool stop = code == rmpp_status::resources_exhausted;
    return {.type = stop ? rmpp_type::stop : rmpp_type::abort, .status = code};
}

} // namespace irpverbs::ibmf::rmpp
