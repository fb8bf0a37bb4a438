// One exchange with a peer: what the engine keeps of it, in one piece.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSACTION_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSACTION_HPP

#include <ci/mad.h>
#include <engine/clock.hpp>
#include <engine/owned.hpp>
#include <engine/slot_table.hpp>
#include <engine/transfer.hpp>
#include <irp/wdm.h>

#include <memory>

namespace irpverbs::ibmf {

class transaction_table;
struct client;
struct message;

inline constexpr ticks ticks_per_microsecond = 10;

enum class phase : std::uint8_t {
    queued,       // others are in flight
    sending,      // not sequenced: until the driver has it
    waiting,      // for an answer
    backing_off,  // the peer was busy
    transferring, // RMPP
    lingering     // told; what comes late is acknowledged again
};

struct transaction {
    table_slot slot;
    phase at = phase::queued;
    bool sequenced : 1 = false;
    bool in_flight : 1 = false; // counts against the port's bound
    bool urgent : 1 = false;
    bool incoming : 1 = false;  // a transfer that the peer began
    bool whole : 1 = false;     // a transfer, and the driver's
    bool raw : 1 = false;       // no MAD
    bool backs_off : 1 = false; // its times are the defaults
    std::uint8_t mgmt_class = 0;
    std::uint8_t method = 0; // of what was sent; of what was received, if that began it
    std::uint8_t attempts = 0;
    std::uint8_t retries_left = 0;
    std::uint8_t redirects_left = 0;
    std::uint8_t times_busy = 0;
    std::uint32_t qp = 0; // the key of the alternate queue pair that it goes by; 0: its class's

    transaction_table* owner = nullptr;
    KTIMER timer;
    KDPC dpc;
    ticks due = never;   // when something is to happen by itself
    ticks armed = never; // when the timer comes

    IRP* irp = nullptr; // null: an incoming transfer, or lingering
    client* who = nullptr;
    message* msg = nullptr; // likewise
    LIST_ENTRY in_line;     // while queued or lingering; of an incoming transfer, always
    std::uint64_t tid = 0;  // the client's, or the peer's of an incoming transfer
    transaction* next_of_tid = nullptr;
    IB_MAD_ADDRESS peer{};
    ticks deadline = never;          // of all of it, but of a transfer that runs:
    ticks transfer_deadline = never; // besides its own times
    std::uint32_t response_us = 0;   // the peer's time
    std::uint32_t round_trip_us = 0; // without it
    owned<std::unique_ptr<transfer>> rmpp;

    bool used() const { return slot.key != 0; }
    ticks response_timer() const {
        return (ticks{response_us} + round_trip_us) * ticks_per_microsecond;
    }
};

/// What one outstanding transaction takes, beside the caller's buffers.
static_assert(sizeof(transaction) + IoSizeOfIrp(1) <= 512);

} // namespace irpverbs::ibmf

#endif
