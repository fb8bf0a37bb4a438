#include <rmpp/control.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

envelope::envelope(const message& sent) { keep(sent.header, sent.class_header); }

envelope::envelope(const mad_view& received) {
    keep(received.bytes().first<mad_header_size>(), received.class_header());
    bytes_[3] ^= MAD_RESPONSE_BIT;
}

void envelope::keep(std::span<const std::uint8_t, mad_header_size> header, mad_bytes class_header) {
    std::ranges::copy(header, bytes_.begin());
    const std::size_t kept = std::min(class_header.size(), bytes_.size() - rmpp_data_offset);
    std::ranges::copy(class_header.first(kept), bytes_.begin() + rmpp_data_offset);
    size_ = static_cast<std::uint8_t>(rmpp_data_offset + kept);
}

void envelope::write(mad_buffer to, const rmpp_header& header) const {
    std::copy_n(bytes_.begin(), size_, to.begin());
    store(header_at<rmpp_header::size>(to, mad_header_size), header);
}

void envelope::write_control(mad_buffer to, rmpp_header header) const {
    header.flags = rmpp_active;
    write(to, header);
    std::ranges::fill(to.subspan(size_), std::uint8_t{0});
}

rmpp_header refusal(rmpp_status code) {
    const bool stop = code == rmpp_status::resources_exhausted;
    return {.type = stop ? rmpp_type::stop : rmpp_type::abort, .status = code};
}

} // namespace irpverbs::ibmf::rmpp
