// The samples of one port of a node, during an interval that starts later. Source: IBA 16.1.3.2.
#pragma once

#include "event_scheduler.hpp"

#include <array>
#include <limits>

namespace irpverbs::hca_software {

enum sampled_counter : USHORT {
    sampled_transmit_data = 1,
    sampled_receive_data = 2,
    sampled_transmit_packets = 3,
    sampled_receive_packets = 4,
    sampled_transmit_wait = 5, // waits for credits, which these links don't have: 0
};

enum sample_status : UCHAR { samples_done = 0, samples_pending = 1, samples_running = 2 };

/// Guarded by the fabric's lock.
struct port_samples {
    static constexpr std::size_t most = 15;

    const port* of = nullptr; // null: no sampling yet
    UCHAR number = 0;         // number of that port
    USHORT tag = 0;
    ULONG start = 0; // ticks
    ULONG interval = 0;
    std::array<USHORT, most> selected{};
    machine_time begins = 0;
    machine_time ends = 0;
    std::array<ULONG, sampled_transmit_wait + 1> counts{};

    sample_status status(machine_time now) const {
        if (now < begins) return samples_pending;
        return now < ends ? samples_running : samples_done;
    }
    /// Counts a datagram sent or received by a port.
    void add_sample(const port& at, sampled_counter data, sampled_counter packets,
                    ULONGLONG words) {
        if (&at != of || status(KeQueryInterruptTime()) != samples_running) return;
        add(counts[data], words);
        add(counts[packets], 1);
    }

private:
    static void add(ULONG& counter, ULONGLONG more) {
        constexpr ULONG top = std::numeric_limits<ULONG>::max();
        counter = more > top - counter ? top : static_cast<ULONG>(counter + more);
    }
};

} // namespace irpverbs::hca_software
