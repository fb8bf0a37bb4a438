/// A capture of the packets of HCAs, for Wireshark and tshark: a pcap file of ERF records of type
/// InfiniBand. Each record is a packet from its local route header to its CRCs.
#pragma once

#include <ci/attributes.h>
#include <irp/wdm.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace irpverbs::ci {

/// Captures from add() to end(): the datagrams between an HCA and its clients, and the packets of
/// queue pairs that the driver reports; the software HCA reports all of them. Parts of a datagram's
/// packet that the channel interface lacks have the values of the wire, with two exceptions: packet
/// sequence numbers are 0, and the high 32 bits of the TransactionID of a sent request are the
/// client's, not the driver's. A message that the driver's RMPP segments is one packet, cut to a
/// datagram's length.
class NT_API capture {
public:
    /// Receives the bytes of the file in order, whole records per call, one call at a time. IRQL:
    /// PASSIVE_LEVEL. Must not throw.
    using sink = std::function<void(std::span<const std::byte>)>;

    /// Writes the file's header. The capture belongs to the caller's machine. IRQL: PASSIVE_LEVEL.
    explicit capture(sink write);
    /// As end().
    ~capture();
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;

    /// Starts the capture of an HCA. `attributes`, a whole block, supply the addresses and keys of
    /// its ports. STATUS_SUCCESS. STATUS_DEVICE_BUSY: the HCA has a capture already. IRQL:
    /// PASSIVE_LEVEL.
    NTSTATUS add(DEVICE_OBJECT* hca, const IB_CA_ATTR& attributes);

    /// Stops the capture of the HCAs, which must still be attached, and writes the remaining
    /// records. No add() follows; a second call has no effect. IRQL: PASSIVE_LEVEL.
    void end() noexcept;

    /// The number of packets lost for lack of memory; final after end().
    std::size_t lost() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace irpverbs::ci
