/// Datagrams as they pass between HCAs and their clients, as a capture that Wireshark and tshark
/// read: pcap, of ERF records of type InfiniBand, each a packet from its local route header to its
/// checks.
#pragma once

#include <ci/attributes.h>
#include <irp/wdm.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace irpverbs::ci {

/// Captures from add() to its end. What the wire has and the channel interface does not is as it
/// would be there: packet sequence numbers are 0, and of requests that are sent the high 32 bits of
/// the TransactionID, which are the driver's, are the client's. A message that the driver's RMPP
/// takes apart is one packet, cut after a datagram's length.
class NT_API mad_capture {
public:
    /// Is given the bytes of the file in order, whole records a call, one call at a time. IRQL:
    /// PASSIVE_LEVEL. Must not throw.
    using sink = std::function<void(std::span<const std::byte>)>;

    /// Writes the file's header. Of the machine of the caller. IRQL: PASSIVE_LEVEL.
    explicit mad_capture(sink write);
    /// Lets go of the HCAs, which are attached still, and writes what is not written yet. IRQL:
    /// PASSIVE_LEVEL.
    ~mad_capture();
    mad_capture(const mad_capture&) = delete;
    mad_capture& operator=(const mad_capture&) = delete;

    /// Captures of that HCA from now on. `attributes`, a whole block, say the addresses and keys of
    /// its own ports. STATUS_SUCCESS. STATUS_DEVICE_BUSY: there is a capture of it. IRQL:
    /// PASSIVE_LEVEL.
    NTSTATUS add(DEVICE_OBJECT* hca, const IB_CA_ATTR& attributes);

    /// Datagrams that there was no memory for.
    std::size_t lost() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace irpverbs::ci
