// A wire that is a TAP device: the HCA is a host of its own at the other end of the device's link.
#pragma once

#include "link_host.hpp"
#include "wire.hpp"

#include <dispatch/descriptor_watch.hpp>

namespace irpverbs::hca_software::roce {

class tap_wire : public wire {
public:
    explicit tap_wire(ethernet_port& owner);
    ~tap_wire() override;

    NTSTATUS open(const interface& on, std::string& problem) override;
    bool start() override;
    void close() override;
    int send(const global_route& way, const_bytes payload) override;
    USHORT source_port(const ib_gid_t&) const override { return udp_port; }
    NTSTATUS join(const ib_gid_t& group) override;
    void leave(const ib_gid_t& group) override { host_->leave(group); }

private:
    /// A descriptor, and the watch that receives from it. Frames to the host itself are read like
    /// others, from the other end of a pair of sockets.
    struct source {
        source(tap_wire& its_owner, packet_descriptor&& taken)
            : owner(its_owner), frames(std::move(taken)) {}
        bool start();

        tap_wire& owner;
        packet_descriptor frames;
        std::unique_ptr<dispatch::descriptor_watch> watch;
    };
    struct buffers;

    bool receive(const packet_descriptor& from);

    ethernet_port& owner_;
    std::optional<source> device_;
    std::optional<source> loop_;
    std::optional<packet_descriptor> loop_end_; // that is written to
    std::optional<link_host> host_;
    std::unique_ptr<buffers> buffers_;
};

} // namespace irpverbs::hca_software::roce
