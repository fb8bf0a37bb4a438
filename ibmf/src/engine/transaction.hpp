// One exchange with a peer: the engine's data of it, in one object.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSACTION_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSACTION_HPP

#include <ci/mad.h>
#include <engine/clock.hpp>
#include <engine/slot_table.hpp>
#include <engine/standard_layout_ptr.hpp>
#include <engine/transfer.hpp>
#include <irp/wdm.h>

#include <memory>

namespace irpverbs::ibmf {

class transaction_table;
struct client;
struct message;
struct transaction;

inline constexpr ticks ticks_per_microsecond = 10;

enum class transaction_state : std::uint8_t {
    queued,       // the window is full
    sending,      // unsequenced: until the driver completes the send
    waiting,      // for a response
    backing_off,  // the peer was busy
    transferring, // RMPP
    time_wait     // the result is reported; duplicates are acknowledged
};

/// The timer of neighbouring slots: set for the first of their times, or earlier.
struct shared_timer {
    KTIMER timer;
    KDPC dpc;
    ticks armed = never; // its time; 0 while it expires
    transaction_table* owner = nullptr;
    transaction* first = nullptr;
    std::uint32_t count = 0; // of the slots that have ever been used
};

struct transaction {
    table_slot slot;
    transaction_state state = transaction_state::queued;
    bool sequenced : 1 = false;
    bool in_flight : 1 = false; // counts against the port's limit
    bool urgent : 1 = false;
    bool incoming : 1 = false;    // a transfer that the peer began
    bool driver_rmpp : 1 = false; // a transfer by the driver's RMPP
    bool raw : 1 = false;         // not a MAD
    bool backs_off : 1 = false;   // its times are the defaults
    bool paced : 1 = false;       // IBMF_MSG_FLAGS_PACED
    std::uint8_t mgmt_class = 0;
    std::uint8_t method = 0; // of the sent message; an incoming transfer: of the received one
    std::uint8_t attempts = 0;
    std::uint8_t retries_left = 0;
    std::uint8_t redirects_left = 0;
    std::uint8_t busy_responses = 0;
    std::uint32_t qp = 0; // key of the alternate queue pair; 0: the default QP

    shared_timer* timer = nullptr;
    ticks due = never;   // time of the next action
    ticks armed = never; // time of the timer, or later
    IRP* irp = nullptr;  // null: an incoming transfer, or in time-wait
    client* who = nullptr;
    message* msg = nullptr; // null: an incoming transfer, or in time-wait
    LIST_ENTRY queue_entry; // while queued or in time-wait; an incoming transfer: always
    std::uint64_t tid = 0;  // the client's id; an incoming transfer: the peer's
    transaction* next_of_tid = nullptr;
    IB_MAD_ADDRESS peer{};
    ticks deadline = never;          // of the whole transaction, except for a running transfer
    ticks transfer_deadline = never; // in addition to the times of the transfer
    std::uint32_t response_us = 0;   // time of the peer
    std::uint32_t round_trip_us = 0; // without the peer's time
    standard_layout_ptr<std::unique_ptr<transfer>> rmpp;

    bool used() const { return slot.key != 0; }
    ticks response_timer() const {
        return (ticks{response_us} + round_trip_us) * ticks_per_microsecond;
    }
};

using transaction_slots = slot_table<transaction, shared_timer>;

} // namespace irpverbs::ibmf

#endif
