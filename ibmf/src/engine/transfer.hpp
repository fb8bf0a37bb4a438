// The RMPP part of a transaction, whichever side it is.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSFER_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSFER_HPP

#include <rmpp/double_sided.hpp>

#include <array>
#include <variant>

namespace irpverbs::ibmf {

class transfer {
public:
    /// Receives.
    explicit transfer(const rmpp::settings& chosen);
    /// Sends. The header is copied; class header and data are lent until the result is in.
    transfer(const rmpp::settings& chosen, const rmpp::message& sent);
    /// Sends, then receives.
    struct double_sided {};
    transfer(const rmpp::settings& chosen, const rmpp::message& sent, double_sided);

    bool transmit(mad_buffer datagram, rmpp::ticks now);
    void receive(const mad_view& view, rmpp::ticks now);
    rmpp::ticks deadline() const;
    void expire(rmpp::ticks now);
    void cancel(rmpp::ticks now);

    const rmpp::outcome& result() const;
    bool retired() const; // nothing is left to do, once nothing is left to transmit
    bool begun() const;   // data have come
    std::uint32_t resent() const;
    rmpp::message_buffer& received() { return buffer_; }

    /// Segments go to the driver in bounded numbers, however large the peer's window is: one
    /// transfer does not take the port's datagrams from the others.
    bool may_send() const { return at_driver_ < most_at_driver || !result().running(); }
    void sent() { ++at_driver_; }
    /// The driver has given one back. True: what waited for that may go on.
    bool came_back();
    void hold_back() { held_back_ = true; }

    /// Holds the peer up while much of a response has not been read.
    void balance(rmpp::ticks now);

private:
    static constexpr std::uint32_t most_at_driver = 64;
    rmpp::message with_own_header(const rmpp::message& sent);

    std::array<std::uint8_t, mad_header_size> header_{};
    rmpp::message_buffer buffer_;
    bool held_up_ = false;
    bool held_back_ = false;
    std::uint32_t at_driver_ = 0;
    std::variant<rmpp::receiver, rmpp::sender, rmpp::requester> role_;
};

} // namespace irpverbs::ibmf

#endif
