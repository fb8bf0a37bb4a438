// The capture file of --pcap.
#pragma once

#include "session.hpp"

#include <ci/capture.hpp>

#include <atomic>
#include <optional>

namespace irpctl {

/// Writes each datagram as it passes. When the program is killed, the file has all earlier
/// datagrams.
class capture_file {
public:
    /// Throws failure.
    explicit capture_file(std::string path);
    ~capture_file();
    capture_file(const capture_file&) = delete;
    capture_file& operator=(const capture_file&) = delete;

    /// Captures this HCA from the call on. Throws failure.
    void add(const device& which, const IB_CA_ATTR& attributes);
    /// Ends the captures. The HCAs must still be attached. Throws failure when the file is
    /// incomplete.
    void finish();

private:
    void write(std::span<const std::byte> bytes);

    const std::string path_;
    int file_ = -1;
    std::atomic<int> error_{0}; // of the first failed write
    std::optional<ci::capture> capture_;
};

} // namespace irpctl
