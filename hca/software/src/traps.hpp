// Traps: notices of a node to the subnet manager, repeated until it represses them.
#pragma once

#include "event_scheduler.hpp"

#include <array>

namespace irpverbs::hca_software {

class fabric;
struct port;

/// Source: IBA 14.2.5.1.
enum trap_number : USHORT {
    trap_link_state = 128,
    trap_link_integrity = 129,
    trap_buffer_overrun = 130,
    trap_flow_control = 131,
    trap_local_change = 144,
    trap_system_image = 145,
    trap_bad_mkey = 256,
    trap_bad_pkey = 257,
    trap_bad_qkey = 258,
    trap_switch_bad_pkey = 259,
};

/// DataDetails of a Notice.
using trap_details = std::array<UCHAR, 54>;

/// A trap that is not yet repressed.
struct trap {
    port* from; // port 0 on a switch
    USHORT number;
    trap_details details;
    ULONG transaction;
    machine_time due; // 0: not yet sent
};

/// Guarded by the fabric's lock, except `initialize` and `run_down`.
class trap_list {
public:
    void initialize(PKDEFERRED_ROUTINE serve, void* context);
    void close();
    void run_down();

    /// Adds a trap, which `resend_due` sends from now on. It replaces an earlier trap of the port
    /// with that number. False: there is nothing to send now, for example because an identical trap
    /// is in the list. A port without a subnet manager has no traps.
    bool add(port& from, USHORT number, ULONG transaction, const trap_details& details);
    /// Processes a TrapRepress.
    void repress(const port& at, ULONG transaction);
    /// Writes the oldest trap of a port, or an empty notice.
    void read_oldest(const port& of, attribute_bytes notice) const;
    /// Processes a Set of Notice: removes the oldest trap if it is this one.
    void clear_oldest(port& of, attribute_bytes notice);
    /// Sends the traps that are due.
    void resend_due(fabric& where);

private:
    void send(fabric& where, trap& what);
    bool append(const trap& fresh);
    std::size_t oldest(const port& of) const;

    std::vector<trap> pending_; // oldest first
    bool closed_ = false;
    bool timer_running_ = false;
    KDPC dpc_{};
    KTIMER timer_{};
};

} // namespace irpverbs::hca_software
