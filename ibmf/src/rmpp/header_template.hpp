// The headers that one side of a transfer repeats in every datagram, and its control packets.
#ifndef IRPVERBS_IBMF_RMPP_HEADER_TEMPLATE_HPP
#define IRPVERBS_IBMF_RMPP_HEADER_TEMPLATE_HPP

#include <rmpp/protocol.hpp>

#include <array>

namespace irpverbs::ibmf::rmpp {

class header_template {
public:
    // For the datagrams of a message to send.
    explicit header_template(const message& sent);
    // For the responses to the transfer of `received`, with the response bit inverted.
    explicit header_template(const mad_view& received);

    std::size_t size() const { return size_; } // all headers; the offset of the data

    // Writes all headers. The rest of the datagram stays as it is.
    void write(mad_buffer to, const rmpp_header& header) const;
    // Writes a whole control packet: ACK, STOP or ABORT.
    void write_control(mad_buffer to, rmpp_header header) const;

private:
    void copy_headers(std::span<const std::uint8_t, mad_header_size> header,
                      mad_bytes class_header);

    std::array<std::uint8_t, rmpp_data_offset + sa_header::size> bytes_{};
    std::uint8_t size_ = 0;
};

// Returns a STOP for RESX, an ABORT for any other status.
rmpp_header stop_or_abort(rmpp_status code);

} // namespace irpverbs::ibmf::rmpp

#endif
