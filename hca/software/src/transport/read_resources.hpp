// The reads and atomics that a responder remembers, to answer their duplicates.
#pragma once

#include "endpoint.hpp"

#include <memory>

namespace irpverbs::hca_software::transport {

/// Source: IBA 9.7.5.1.3 (responder resources), 9.4.5 (duplicate atomics).
struct read_resource {
    operation what = operation::reserved; // reserved: not used
    bool pending = false;                 // it has responses to be sent
    bool completed = false;               // all responses were sent once
    psn first_number;
    psn last_number;
    ULONGLONG address = 0; // of a read, as the next six
    ULONG rkey = 0;
    ULONG length = 0;
    ULONG srq = 0;        // of an XRC target: the shared receive queue with the key's domain
    psn next;             // the response to be sent
    psn begin;            // the responses of the newest request
    psn end;              // the last one of these
    ULONGLONG result = 0; // of an atomic

    bool reads() const { return what == operation::read; }
    bool contains(psn number) const {
        return what != operation::reserved &&
               number.since(first_number) <= last_number.since(first_number);
    }
};

/// A ring; its size is the number of reads and atomics that the peer may have under way.
class read_resources {
public:
    /// False: no memory. Forgets all.
    bool allocate(ULONG most);
    void resize(ULONG used);
    void clear();

    /// Returns the place of the next operation, which forgets the oldest one; null: that one has
    /// not been answered, or there is no place. A peer that sends a new operation has received the
    /// answer of the oldest, which is not sent again.
    read_resource* next_free();
    void add() { newest_ = (newest_ + 1) % size_; }

    /// Returns the remembered operation that has this number; null: none.
    read_resource* find(psn number);
    /// Returns the oldest operation with responses to be sent; null: none.
    read_resource* oldest_pending();

private:
    std::unique_ptr<read_resource[]> ring_;
    ULONG most_ = 0;
    ULONG size_ = 0;
    ULONG newest_ = 0; // the place of the next one
};

} // namespace irpverbs::hca_software::transport
