// The RMPP part of a transaction, in any role.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSFER_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSFER_HPP

#include <rmpp/double_sided.hpp>

#include <array>
#include <variant>

namespace irpverbs::ibmf {

class transfer {
public:
    /// Receives a message.
    explicit transfer(const rmpp::settings& chosen);
    /// Sends a message. The header is copied; class header and data must live until the result is
    /// final.
    transfer(const rmpp::settings& chosen, const rmpp::message& sent);
    /// Sends a request, then receives the response.
    struct double_sided {};
    transfer(const rmpp::settings& chosen, const rmpp::message& sent, double_sided);

    bool transmit(mad_buffer datagram, rmpp::ticks now);
    void receive(const mad_view& view, rmpp::ticks now);
    rmpp::ticks deadline() const;
    void expire(rmpp::ticks now);
    void cancel(rmpp::ticks now);

    const rmpp::outcome& result() const;
    bool retired() const; // only transmits are left to do
    bool begun() const;   // data have arrived
    std::uint32_t resent() const;
    rmpp::message_buffer& received() { return buffer_; }

    /// Limits the segments at the driver, independent of the peer's window, so that one transfer
    /// does not use up the port's datagrams.
    bool may_send() const { return at_driver_ < max_at_driver || !result().running(); }
    void sent() { ++at_driver_; }
    /// The driver has completed a segment. Returns true if a held transfer may continue.
    bool segment_completed();
    void pause_sending() { sending_paused_ = true; }

    /// Closes the receive window while much of a response is unread.
    void update_window(rmpp::ticks now);

private:
    static constexpr std::uint32_t max_at_driver = 64;
    rmpp::message copy_header(const rmpp::message& sent);

    std::array<std::uint8_t, mad_header_size> header_{};
    rmpp::message_buffer buffer_;
    bool receiving_paused_ = false;
    bool sending_paused_ = false;
    std::uint32_t at_driver_ = 0;
    std::variant<rmpp::receiver, rmpp::sender, rmpp::requester> role_;
};

} // namespace irpverbs::ibmf

#endif
