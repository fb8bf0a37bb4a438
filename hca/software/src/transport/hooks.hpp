// The surroundings of a queue pair: memory, carrier, clock and queues of completions.
#pragma once

#include "packet.hpp"

#include "../event_scheduler.hpp"

#include <ci/completion.h>
#include <ci/data_path.h>
#include <ci/events.h>
#include <ci/memory.h>

#include <optional>

namespace irpverbs::hca_software::transport {

/// The binding of a window as numbers, since the objects may end before it executes.
struct window_binding {
    ULONG window; // a key that it has or had
    ULONG rkey;   // its key from now on
    ULONG lkey;   // of the region
    ULONGLONG address;
    ULONGLONG length; // bytes; 0: it is bound to nothing
    ib_access_t access;
};

/// A fast registration as numbers. The pages belong to the HCA until it has executed.
struct page_registration {
    ULONGLONG first;  // the first address in work requests
    ULONGLONG length; // bytes
    const ULONGLONG* pages;
    ULONG page_count;
    ULONG offset; // of the first byte in its page
    ULONG rkey;
    UCHAR page_shift;
    UCHAR access;
};

/// The memory to which keys give a queue pair access. Calls do not reenter the engine.
class memory_access {
public:
    /// Returns the memory at `address`; null: the key is not valid for this queue pair, the range
    /// lacks one of the `rights`, or `size` bytes do not lie in it. A local read needs no right.
    virtual UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) = 0;
    /// The same for a range whose memory need not be one piece: returns the first piece, and
    /// reduces `size` to its bytes. The whole range is checked.
    virtual UCHAR* find_piece(ULONG key, ULONGLONG address, ULONGLONG& size,
                              ib_access_t rights) = 0;
    /// Copies in ascending order. False: one of the pages is not mapped.
    virtual bool copy(UCHAR* to, const UCHAR* from, std::size_t size) = 0;
    /// As copy, to the memory of a receive by its L_Key: the bytes may be there when its owner
    /// takes the completion, and no earlier.
    virtual bool deliver(ULONG /*key*/, UCHAR* to, const UCHAR* from, std::size_t size) {
        return copy(to, from, size);
    }
    /// As copy, to memory of the engine.
    virtual bool fetch(UCHAR* to, const UCHAR* from, std::size_t size) {
        return copy(to, from, size);
    }
    /// Executes an atomic operation on 8 aligned bytes, and stores their former value in `before`.
    /// False: the page is not mapped.
    virtual bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) = 0;
    virtual bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) = 0;
    /// Writes 8 aligned bytes at once. False: the page is not mapped.
    virtual bool write_word(UCHAR* at, ULONGLONG value) = 0;
    /// Whether the process of the memory was killed.
    virtual bool is_gone() const { return false; }
    /// The binding that a work request with both objects describes.
    virtual window_binding binding_of(const ib_send_bind_mw_t& what) = 0;
    /// Binds a window; false: this queue pair may not bind it so.
    virtual bool bind(const window_binding& what) = 0;
    /// Registers pages with a region that has none; false: this queue pair may not.
    virtual bool register_pages(const page_registration& what) = 0;
    /// Makes a key invalid; false: it is none that a work request may make invalid.
    virtual bool invalidate(ULONG key) = 0;

protected:
    ~memory_access() = default;
};

class shared_receive_queue;

enum class transmission {
    sent,    // or lost
    later,   // the carrier is full: `run` must be called when it no longer is
    unmapped // a page of the payload is not mapped; the packet was not sent
};

/// The owner of a queue pair. The engine calls it inside its own functions; calls do not reenter
/// the engine.
class queue_pair_owner {
public:
    /// Transmits a packet to the peer. The packet's payload is valid during the call. The carrier
    /// writes the P_Key.
    virtual transmission transmit(const packet& what) = 0;
    /// Returns the attributes of an address vector that a work request names; none: this queue pair
    /// may not use it.
    virtual std::optional<ib_av_attr_t> find_way(const IB_AV& to) = 0;
    /// Returns the bytes that a datagram on this way has at most; 0: the port has no such way.
    virtual ULONG datagram_limit(const ib_av_attr_t& way) = 0;
    /// Returns the shared receive queue with an XRC domain that has this number; null: there is
    /// none. The queue stays until the engine's function returns.
    virtual shared_receive_queue* find_receives(ULONG number) = 0;
    virtual machine_time now() = 0;
    /// Calls timer_expired at `due` or later. An earlier request may be forgotten.
    virtual void set_timer(machine_time due) = 0;
    virtual void complete_send(const IB_WC& entry) = 0;
    virtual void complete_receive(const IB_WC& entry) = 0;
    virtual void report(IB_ASYNC_EVENT event) = 0;
    /// The state of path migration has changed, or the paths.
    virtual void migration_changed() = 0;
    /// The queue pair has changed its state by itself.
    virtual void state_changed(ib_qp_state_t to) = 0;

protected:
    ~queue_pair_owner() = default;
};

} // namespace irpverbs::hca_software::transport
