// The file that `irpctl trace -o` writes.
#pragma once

#include "session.hpp"

#include <irp/trace.hpp>

namespace irpctl {

class trace_file {
public:
    /// Records from now on. Throws failure when there can't be such a file.
    trace_file(std::string path, irpverbs::dispatch::machine& recorded);

    /// What devices are called in it.
    void name(std::span<const device> devices) { devices_.assign(devices.begin(), devices.end()); }

    /// A file comes into being whole, or not at all; a device or fifo is written to. Throws
    /// failure.
    void write() const;

private:
    irpverbs::irp::trace_names names() const;
    const device* find(const irpverbs::irp::trace_event& sent) const;

    std::string path_;
    std::string replaced_; // the file that links lead to; empty: a device or fifo
    std::vector<device> devices_;
    irpverbs::irp::trace_recorder recorder_;
};

} // namespace irpctl
