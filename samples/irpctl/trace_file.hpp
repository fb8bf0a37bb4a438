// The file that `irpctl trace -o` writes.
#pragma once

#include "session.hpp"

#include <irp/trace.hpp>

namespace irpctl {

class trace_file {
public:
    /// Starts the recording. Throws failure when the file cannot be created.
    trace_file(std::string path, irpverbs::dispatch::machine& recorded);

    /// Sets the names of devices in the trace.
    void name(std::span<const device> devices) { devices_.assign(devices.begin(), devices.end()); }

    /// Creates a regular file completely or not at all; writes directly to a device or fifo. Throws
    /// failure.
    void write() const;

private:
    irpverbs::irp::trace_names names() const;
    const device* find(const irpverbs::irp::trace_event& sent) const;

    std::string path_;
    std::string replaced_; // the file at the end of symbolic links; empty: a device or fifo
    std::vector<device> devices_;
    irpverbs::irp::trace_recorder recorder_;
};

} // namespace irpctl
