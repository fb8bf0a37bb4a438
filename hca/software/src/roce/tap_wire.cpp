#include "tap_wire.hpp"

#include "ethernet_port.hpp"
#include "tap.hpp"

#include <dispatch/machine.hpp>

#include <sys/socket.h>

#include <new>

namespace irpverbs::hca_software::roce {

// A frame that is longer is no packet of UDP that a queue pair sends; an echo request may be.
struct tap_wire::buffers {
    static constexpr std::size_t size = 10'000;

    std::array<std::array<UCHAR, size>, most_arrivals> frames;
    std::array<arrival, most_arrivals> arrivals;
};

tap_wire::tap_wire(ethernet_port& owner) : owner_(owner) {}
tap_wire::~tap_wire() = default;

NTSTATUS tap_wire::open(const interface& on, std::string& problem) {
    NTSTATUS status = STATUS_SUCCESS;
    std::optional<packet_descriptor> device = open_tap(on.name, status, problem);
    if (!device) return status;
    device_.emplace(*this, std::move(*device));
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        problem = "the system has no descriptors left";
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    loop_.emplace(*this, packet_descriptor(ends[0]));
    loop_end_.emplace(ends[1]);
    buffers_ = std::make_unique<buffers>();
    host_.emplace(on.hardware, on.gids, device_->frames, *loop_end_);
    return STATUS_SUCCESS;
}

bool tap_wire::source::start() {
    const auto readable = [](void* context) {
        auto& its = *static_cast<source*>(context);
        return its.owner.receive(its.frames);
    };
    watch = dispatch::watch_readable(dispatch::machine::current(), frames.number(), readable, this);
    return watch != nullptr;
}

bool tap_wire::start() {
    if (!device_->start() || !loop_->start()) return false;
    host_->announce();
    return true;
}

void tap_wire::close() {
    if (device_) device_->watch.reset();
    if (loop_) loop_->watch.reset();
}

int tap_wire::send(const global_route& way, const_bytes payload) {
    return host_->send(way, payload);
}

NTSTATUS tap_wire::join(const ib_gid_t& group) {
    try {
        host_->join(group);
        return STATUS_SUCCESS;
    } catch (const std::bad_alloc&) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

// False: the device was removed.
bool tap_wire::receive(const packet_descriptor& from) {
    std::size_t arrived = 0;
    std::optional<std::size_t> size = 1;
    for (std::size_t i = 0; i < most_arrivals && size && *size != 0; ++i) {
        auto& frame = buffers_->frames[arrived];
        size = from.read(frame);
        if (size && host_->receive(std::span(frame).first(*size), buffers_->arrivals[arrived]))
            ++arrived;
    }
    owner_.receive(std::span(buffers_->arrivals).first(arrived));
    return size.has_value();
}

} // namespace irpverbs::hca_software::roce
