// The file that `irpctl trace -o` writes.
#pragma once

#include "session.hpp"

#include <irp/trace.hpp>

namespace irpctl {

class trace_file {
public:
    /// Records from now on. Throws failure when the file's folder is none, or not to be written.
    trace_file(std::string path, irpverbs::dispatch::machine& recorded);

    /// What devices are called in it.
    void name(std::span<const device> devices) { devices_.assign(devices.begin(), devices.end()); }

    /// The file comes into being whole, or not at all. Throws failure.
    void write() const;

private:
    const device* find(const irpverbs::irp::trace_event& sent) const;

    std::string path_;
    std::vector<device> devices_;
    irpverbs::irp::trace_recorder recorder_;
};

} // namespace irpctl
