// The peer of a test in the guest: libibumad alone, and the kernel's own RMPP.
#pragma once

#include <ci/ib_types.h>

#include <infiniband/umad.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace irpverbs::testing {

/// The management class of all tests here: a vendor class with RMPP header.
inline constexpr std::uint8_t guest_class = 0x32;
inline constexpr std::uint32_t guest_oui = 0x001405;

/// `size` bytes of test data that the receiver recognises.
std::vector<std::uint8_t> pattern(std::size_t size);

/// A reassembled message of guest_class: its headers once, then all of its data.
struct kernel_message {
    static constexpr std::size_t headers = 40;

    ib_mad_addr_t peer{};
    std::vector<std::uint8_t> bytes;

    /// Makes a message; with `rmpp` it may be longer than a datagram.
    static kernel_message of(std::uint8_t method, std::uint32_t transaction, std::uint32_t modifier,
                             std::span<const std::uint8_t> data, bool rmpp);
    std::uint8_t method() const { return bytes[3]; }
    std::uint32_t transaction() const;
    std::uint32_t modifier() const;
    std::span<const std::uint8_t> data() const { return std::span(bytes).subspan(headers); }
};

/// A umad agent on port 1 of a device.
class kernel_port {
public:
    /// Receives responses to its own requests; with `serves`, also requests.
    explicit kernel_port(const char* device, bool serves = false);
    ~kernel_port();
    kernel_port(const kernel_port&) = delete;
    kernel_port& operator=(const kernel_port&) = delete;

    ib_gid_t gid() const { return gid_; }
    /// `timeout` is the time for the response; 0: no response is expected.
    void send(const kernel_message& what, std::chrono::milliseconds timeout);
    /// Returns a message, or nothing after `within` and for a request that the kernel returned.
    std::optional<kernel_message> receive(std::chrono::milliseconds within);
    /// Returns the response as the kernel reassembled it, or nothing after the timeout.
    std::optional<kernel_message> ask(kernel_message request, const ib_gid_t& whom);

private:
    int port_;
    int agent_ = -1;
    ib_gid_t gid_{};
    std::vector<std::uint8_t> buffer_;
};

/// Responds to Get by one datagram, and other requests by RMPP with as many bytes of pattern() as
/// their attribute modifier says.
class kernel_agent {
public:
    explicit kernel_agent(const char* device);
    ~kernel_agent();

    ib_gid_t gid() const { return port_.gid(); }
    /// The number of requests with the data of pattern().
    unsigned recognised() const { return recognised_; }

private:
    void respond(const kernel_message& request);

    kernel_port port_;
    std::atomic<unsigned> recognised_{0};
    std::atomic<bool> leaving_{false};
    std::thread thread_;
};

} // namespace irpverbs::testing
