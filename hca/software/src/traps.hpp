// Traps: what a node tells the subnet manager unasked, until that represses it.
#pragma once

#include "wire.hpp"

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

/// One that has not been repressed yet.
struct trap {
    port* from; // of a switch its own
    USHORT number;
    trap_details details;
    ULONG transaction;
    machine_time due; // 0: it was not sent yet
};

/// Guarded by the fabric's lock, but for `prepare` and `run_down`.
class trap_list {
public:
    void prepare(PKDEFERRED_ROUTINE serve, void* context);
    void close();
    void run_down();

    /// Told from now on, by `repeat`, in the place of what its port told under that number before.
    /// False: there is nothing to be sent now, for one, as the very same is told already. A port
    /// that no subnet manager has set up tells nothing.
    bool add(port& from, USHORT number, ULONG transaction, const trap_details& details);
    /// A TrapRepress has come.
    void repress(const port& at, ULONG transaction);
    /// Writes what a port has told longest; without one, an empty notice.
    void read_oldest(const port& of, attribute_bytes notice) const;
    /// A Set of Notice has come: the oldest is known there, when it is this one.
    void clear_oldest(port& of, attribute_bytes notice);
    /// Sends those that are due again.
    void repeat(fabric& where);

private:
    void send(fabric& where, trap& what);
    std::size_t oldest(const port& of) const;

    std::vector<trap> told_; // oldest first
    bool closed_ = false;
    bool ticking_ = false;
    KDPC dpc_{};
    KTIMER timer_{};
};

} // namespace irpverbs::hca_software
