// What is known of one IRP, beside it: nothing here lies in the IRP's own memory, which may be
// gone.
#pragma once

#include "options.hpp"

#include <irp/device.h>
#include <irp/irp.h>

#include <array>
#include <string>
#include <vector>

namespace irpverbs::irp::verify {

/// Who made an IRP's memory one.
enum class origin : std::uint8_t {
    found, // older than the verifier, or memory that nobody prepared under its eyes
    allocated,
    initialized,
    built_device_control,
    built_async_fsd,
    built_sync_fsd,
    associated,
};
const char* name_of(origin made);

enum class stage : std::uint8_t {
    home, // its maker has it
    sent,
    freed,
};

/// A stack location, as last sent.
struct level {
    DEVICE_OBJECT* device = nullptr; // by identity: may be gone
    DRIVER_OBJECT* driver = nullptr; // likewise
    std::uint32_t device_number = 0;
    std::uint32_t use = 0;  // how often it was sent
    bool left = false;      // completion went past it
    bool marked = false;    // when left: SL_PENDING_RETURNED was set
    NTSTATUS status = 0;    // when left: the IRP's
    bool returned = false;  // its completion routine was called
    bool went_on = false;   // ... and let the IRP go on up
    bool forced = false;    // completion is to stop here, as if the driver had pended
    bool held = false;      // ... and did
    bool delivered = false; // ... and will go on
    bool sealed = false;    // its driver passed the IRP down
    std::array<char, sizeof(IO_STACK_LOCATION)> contents{}; // when sealed: byte by byte
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

struct record {
    static constexpr std::size_t most_events = 48;

    IRP* irp = nullptr;
    std::uint64_t generation = 0; // "irp#7"
    origin made = origin::found;
    verify::stage stage = verify::stage::home;
    CCHAR stack_count = 0;
    std::uint32_t references = 0; // frames that stand on it
    std::uint32_t turn = 0;       // counts sends, completions, reuses, the free
    std::uint32_t completions = 0;
    bool walking = false;         // a completion is between two routines
    bool at_top = false;          // no routine took it back: the system has it for its last stage
    bool event_was_clear = false; // UserEvent, when the IRP was sent
    bool start_io = false;        // it waits in a device queue, or for StartIo
    const core::processor* sender = nullptr; // by identity: who sent it last
    const void* left_waiting = nullptr; // what the sender waited for when the IRP was taken back
    bool told = false;                  // that it was lost or leaked

    // cancel
    bool cancel_requested = false;
    std::uint32_t cancels_under_way = 0; // IoCancelIrp, not yet at the exchange
    bool cancel_routine_taken = false;
    const core::processor* canceller = nullptr;
    const core::processor* refused = nullptr; // got NULL, as the cancel routine was taken
    std::uint64_t cancel_time = 0;

    std::vector<level> levels; // [0]: location 1
    std::vector<event> events; // the last ones, from `oldest` on in a circle
    std::size_t oldest = 0;

    core::call_stack made_at;
    core::call_stack sent_at;
    core::call_stack completed_at;
    core::call_stack cancelled_at;
    core::call_stack armed_at;
    core::call_stack freed_at;

    level& at(int location) { return levels[static_cast<std::size_t>(location - 1)]; }
    bool has(int location) const {
        return location >= 1 && static_cast<std::size_t>(location) <= levels.size();
    }
    void remember(const event& what);
    std::string history() const;
};

} // namespace irpverbs::irp::verify
