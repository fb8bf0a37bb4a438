// The verifier's record of one IRP. It lies outside of the IRP's memory, which may be freed.
#pragma once

#include "options.hpp"

#include <irp/device.h>
#include <irp/irp.h>

#include <array>
#include <string>
#include <vector>

namespace irpverbs::irp::verify {

const char* name_of(origin made);

enum class stage : std::uint8_t {
    with_originator,
    sent,
    freed,
};

/// A stack location, as sent last.
struct location_record {
    DEVICE_OBJECT* device = nullptr; // only its identity: it may be deleted
    DRIVER_OBJECT* driver = nullptr; // only its identity, too
    std::uint32_t device_number = 0;
    std::uint32_t use = 0;     // how often it was sent
    bool has_lower = false;    // the device was attached to another one
    bool left = false;         // its completion is past
    bool marked = false;       // when left: SL_PENDING_RETURNED was set
    NTSTATUS status = 0;       // when left: the status of the IRP
    bool returned = false;     // its completion routine was called
    bool in_routine = false;   // and has not returned
    bool continued = false;    // the routine let completion continue
    bool forced = false;       // completion stops here, as if the driver had pended
    bool deferred = false;     // completion stopped here
    bool dpc_queued = false;   // the DPC that continues completion is queued
    bool has_snapshot = false; // its driver passed the IRP down
    std::array<char, sizeof(IO_STACK_LOCATION)> contents{}; // with a snapshot: a copy of its bytes
    bool woken = false; // its driver's completion routine set an event
};

struct event {
    std::uint64_t time = 0;
    const char* what = nullptr;
    std::string actor;
    KIRQL irql = 0;
    CCHAR location = 0;
    std::uint32_t device_number = 0; // 0: none
    NTSTATUS status = 0;
    bool has_status = false;
    std::uint64_t irp = 0; // its generation
};
std::string text_of(const event& what);

struct user_buffer {
    ULONG_PTR begin = 0;
    ULONG length = 0; // 0: there is none
    bool probed = false;
};

struct record {
    static constexpr std::size_t most_events = 48;

    IRP* irp = nullptr;
    std::uint64_t generation = 0; // "irp#7"
    origin made = origin::found;
    verify::stage stage = verify::stage::with_originator;
    CCHAR stack_count = 0;
    std::uint32_t references = 0; // frames that refer to it
    std::uint32_t epoch = 0;      // counts sends, completions, reuses, the free
    std::uint32_t completions = 0;
    bool walking = false;         // a completion is between two routines
    bool at_top = false;          // no routine kept it: the system has it for its last stage
    bool event_was_clear = false; // state of UserEvent when the IRP was sent
    bool start_io = false;        // it waits in a device queue, or for StartIo
    const core::processor* sender = nullptr; // only its identity: the last sender
    const void* left_waiting = nullptr; // object of the sender's wait when a routine kept the IRP
    // The completion routine that took it back last, its device, and `epoch` then.
    void* kept_by = nullptr;
    std::uint32_t kept_by_device = 0;
    std::uint32_t kept_in_epoch = 0;
    bool reported = false;                   // reported as lost or leaked
    std::array<user_buffer, 2> user_buffers; // of a METHOD_NEITHER request: input, output

    // cancel
    bool cancel_requested = false;
    std::uint32_t cancels_under_way = 0; // calls of IoCancelIrp before their exchange
    bool cancel_routine_taken = false;
    const core::processor* canceller = nullptr;
    const core::processor* refused = nullptr; // received NULL, since the cancel routine was taken
    bool completed_beside_cancel = false;     // by `refused`, while the cancel routine ran
    std::uint64_t cancel_time = 0;

    std::vector<location_record> locations; // [0]: location 1
    std::vector<event> events;              // the last ones, a ring that begins at `oldest`
    std::size_t oldest = 0;

    core::call_stack made_at;
    core::call_stack sent_at;
    core::call_stack completed_at;
    core::call_stack cancelled_at;
    core::call_stack armed_at;
    core::call_stack freed_at;

    location_record& at(int location) { return locations[static_cast<std::size_t>(location - 1)]; }
    bool has(int location) const {
        return location >= 1 && static_cast<std::size_t>(location) <= locations.size();
    }
    void append_event(const event& what);
    std::string history() const;
};

} // namespace irpverbs::irp::verify
