// Programs the computed configuration into the nodes: first tables, then addresses and Armed, then
// Active. It does not write values that a node already has. Source: IBA 14.4.4 (initialisation).
#pragma once

#include "block_writer.hpp"

#include <model/subnet.hpp>

#include <span>

namespace irpverbs::subnet_manager {

/// Whether the settings that a manager writes into a port are the same.
bool same_settings(const sm_portinfo_t& a, const sm_portinfo_t& b);

/// Runs in tasks of the channel's queue. Must live until its end.
class configuration {
public:
    configuration(smp_channel& smps, subnet& of, programmed_state& programmed)
        : batch_(smps), of_(of), programmed_(programmed), tables_(batch_, programmed) {}

    /// Calls `done()` after the last write. PortInfo and SwitchInfo of the subnet are then those of
    /// the nodes' responses.
    void run(std::function<void()> done);

    /// Whether a node has refused a write or not responded.
    bool incomplete() const { return incomplete_ || tables_.incomplete(); }

private:
    void invalidate_restarted();
    void write_tables();
    void write_switch(node_index at);
    void write_keys(port_ref end);
    void write_enforcement(port_ref at);
    void write_key_table(port_ref at, std::span<const ib_pkey_t> keys, std::size_t capacity);
    bool can_enforce(port_ref at) const;
    bool enforces(port_ref at) const;
    std::vector<ib_pkey_t> permitted_keys(port_ref at) const;
    void set_up_ports();
    void activate_ports();
    void check_states();
    bool can_set_up(port_ref at) const;
    void set_up(port_ref at);
    sm_portinfo_t wanted(port_ref at) const;
    bool was_read_before(port_ref other_end) const;
    bool has_lid(port_ref at) const;
    /// `is_new`: the Set makes the port known.
    void set_port(port_ref at, const sm_portinfo_t& info, bool is_new);
    template <class Host>
    void write_block(port_ref at, const programmed_state::block& which, const Host& host);
    template <class Visit>
    void for_each_port(const Visit& visit);

    smp_batch batch_;
    subnet& of_;
    programmed_state& programmed_;
    block_writer tables_;
    bool incomplete_ = false;
};

} // namespace irpverbs::subnet_manager
