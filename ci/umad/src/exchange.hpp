// The messages of one agent by the rules of the kernel's MAD layer: requests wait for their
// responses and are repeated, and messages of several datagrams are segmented and reassembled.
#pragma once

#include "deadlines.hpp"
#include "rmpp_in.hpp"
#include "rmpp_out.hpp"

#include <infiniband/umad.h>

#include <map>
#include <memory>
#include <span>
#include <tuple>

namespace irpverbs::umad {

/// The surroundings of an exchange.
class exchange_port {
public:
    virtual ~exchange_port() = default;

    /// Sends a datagram. `timeout_ms` 0: no response is expected.
    virtual void emit(const ib_mad_addr_t& to, const mad& datagram, std::uint32_t timeout_ms) = 0;
    /// Passes a message, or the header of a request that timed out (status ETIMEDOUT), to the
    /// program.
    virtual void deliver(std::uint32_t status, const ib_mad_addr_t& peer,
                         std::span<const std::uint8_t> content) = 0;
    virtual deadlines& timers() = 0;
    virtual std::int64_t now_ms() = 0;
};

/// The parameters of umad_send.
struct send_options {
    ib_mad_addr_t peer;
    std::uint32_t timeout_ms; // of each try; 0: no response is expected
    std::uint32_t retries;
};

/// The owner serialises the calls, also those of the deadlines.
class exchange {
public:
    /// `segments`: the exchange, not the program, does RMPP.
    exchange(exchange_port& port, bool segments) : port_(port), segments_(segments) {}
    ~exchange();
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    /// Sends a message. Returns 0, or the error number of write(2): EINVAL for a message that is
    /// too long, and for a second request with the TransactionID of one that waits.
    int send(const send_options& how, std::span<const std::uint8_t> content);
    /// Forgets the message of send(), which the port refused.
    void withdraw(const send_options& how, const std::uint8_t* content);
    void received(const ib_mad_addr_t& from, const std::uint8_t* datagram);

private:
    // Class, low half of the TransactionID: the upper half is the port's.
    using request_key = std::tuple<std::uint8_t, std::uint32_t>;
    struct request {
        send_options how;
        mad content;
        std::uint32_t left;
        deadlines::ticket timer;
    };
    // The peer's LID, class, TransactionID: the low half of the program's own, the whole of a
    // peer's.
    using out_key = std::tuple<std::uint16_t, std::uint8_t, std::uint64_t>;
    struct sending {
        send_options how;
        std::unique_ptr<rmpp_out> transfer;
        deadlines::ticket timer;
    };
    // The peer's LID, class, method, TransactionID.
    using in_key = std::tuple<std::uint16_t, std::uint8_t, std::uint8_t, std::uint64_t>;
    struct receiving {
        std::unique_ptr<rmpp_in> transfer;
        deadlines::ticket timer;
        mad first;
    };

    deadlines::ticket in_ms(std::int64_t delay, std::function<void()> what);
    int send_segments(const send_options& how, std::span<const std::uint8_t> content);
    void await_response(const send_options& how, std::span<const std::uint8_t> content,
                        std::uint32_t retries);
    void set_timer(const request_key& key);
    void request_expired(const request_key& key);
    void forget(const request_key& key);
    static out_key key_of_transfer(const ib_mad_addr_t& to, const std::uint8_t* m);
    void set_timer(const out_key& key);
    void settle(const out_key& key, rmpp_out::state state);
    void control_arrived(const ib_mad_addr_t& from, const std::uint8_t* m);
    void segment_arrived(const ib_mad_addr_t& from, const std::uint8_t* m);
    receiving& begin_reception(const in_key& key, const ib_mad_addr_t& from, const std::uint8_t* m);
    void end_reception(const in_key& key);

    exchange_port& port_;
    const bool segments_;
    std::map<request_key, request> requests_;
    std::map<out_key, sending> sendings_;
    std::map<in_key, receiving> receivings_;
};

} // namespace irpverbs::umad
