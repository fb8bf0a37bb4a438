// The headers that go with every datagram of one side of a transfer, and its control packets.
#ifndef IRPVERBS_IBMF_RMPP_CONTROL_HPP
#define IRPVERBS_IBMF_RMPP_CONTROL_HPP

#include <rmpp/protocol.hpp>

#include <array>

namespace irpverbs::ibmf::rmpp {

class envelope {
public:
    // Of one's own message.
    explicit envelope(const message& sent);
    // For answers to what `received` belongs to: the response bit turned.
    explicit envelope(const mad_view& received);

    std::size_t size() const { return size_; } // of all headers: where data begin

    // Writes all headers and leaves the rest alone.
    void write(mad_buffer to, const rmpp_header& header) const;
    // A whole control packet: ACK, STOP or ABORT.
    void write_control(mad_buffer to, rmpp_header header) const;

private:
    void keep(std::span<const std::uint8_t, mad_header_size> header, mad_bytes class_header);

    std::array<std::uint8_t, rmpp_data_offset + sa_header::size> bytes_{};
    std::uint8_t size_ = 0;
};

// STOP with RESX, ABORT with any other.
rmpp_header refusal(rmpp_status code);

} // namespace irpverbs::ibmf::rmpp

#endif
