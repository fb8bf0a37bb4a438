// The file that --pcap names.
#pragma once

#include "session.hpp"

#include <ci/mad_capture.hpp>

#include <atomic>
#include <optional>

namespace irpctl {

/// Written as datagrams come and go: whoever ends the program half-way has those so far.
class capture_file {
public:
    /// Throws failure.
    explicit capture_file(std::string path);
    ~capture_file();
    capture_file(const capture_file&) = delete;
    capture_file& operator=(const capture_file&) = delete;

    /// From now on. Throws failure.
    void add(const device& which, const IB_CA_ATTR& attributes);
    /// While the HCAs are attached. Throws failure when the file is not whole.
    void finish();

private:
    void write(std::span<const std::byte> bytes);

    const std::string path_;
    int file_ = -1;
    std::atomic<int> error_{0}; // of the first write that failed
    std::optional<ci::mad_capture> capture_;
};

} // namespace irpctl
