// The entries of a completion queue: a ring that queue pairs fill and one consumer empties.
#pragma once

#include <ci/completion.h>
#include <dispatch/machine.hpp>
#include <dispatch/support/biased_spin.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace irpverbs::hca_software {

/// The reports that completions require, without locks: bits of cq_report.
using cq_reports = ULONG;
namespace cq_report {
inline constexpr cq_reports completion = 1;
inline constexpr cq_reports error = 2;
inline constexpr cq_reports lost = 4; // the queue was full, or in error: not reported
} // namespace cq_report

/// Producers hold a biased lock, since most queues have one thread. Consumers hold none: the caller
/// serialises them, with each other and with `replace`. Entries have running numbers. IRQL: any.
class completion_ring {
public:
    completion_ring() = default;
    completion_ring(const completion_ring&) = delete;
    completion_ring& operator=(const completion_ring&) = delete;

    /// Gives the ring memory for `capacity` entries, a power of two. Called once, before all else.
    void begin(IB_WC* memory, ULONG capacity) {
        lock_.allow_bias(dispatch::machine::current());
        entries_ = memory;
        mask_ = capacity - 1;
        room_end_ = capacity;
    }

    /// Adds an entry; a full ring is in error from then on, and drops it.
    cq_reports add(const IB_WC& entry) {
        return lock_.hold([this, &entry] { return insert(entry); });
    }
    /// Adds the entry that `make` returns, which is not solicited, in the usual case: `self`, the
    /// calling processor, is favoured, and there is nothing to report. It is made in its place.
    /// False: it is another case, and nothing has changed.
    template <class Make>
    bool try_add(dispatch::detail::processor& self, const Make& make) {
        if (!lock_.enter(self)) return false;
        const ULONGLONG at = end_.load(std::memory_order_relaxed);
        const bool usual = has_room(at) && armed_ == 0;
        if (usual) [[likely]] {
            new (&entries_[at & mask_]) IB_WC(make());
            end_.store(at + 1, std::memory_order_release);
        }
        lock_.leave(self);
        return usual;
    }

    /// Removes up to `count` entries, and returns their number. A poll of an empty queue writes
    /// nothing, so that it does not disturb the queue pairs.
    ULONG take(ULONG count, IB_WC* to) {
        const ULONGLONG first = first_.load(std::memory_order_relaxed);
        const ULONGLONG ready = end_.load(std::memory_order_acquire) - first;
        const ULONGLONG taken = count < ready ? count : ready;
        if (taken == 0) return 0;
        ULONGLONG at = first;
        do
            *to++ = entries_[at++ & mask_];
        while (at != first + taken);
        first_.store(at, std::memory_order_release);
        return static_cast<ULONG>(taken);
    }

    /// Solicited or failed entries. Source: IBA 11.4.2.2.
    static bool is_solicited(const IB_WC& entry) {
        return entry.Status != IB_WC_SUCCESS || (entry.Flags & IB_WC_SOLICITED) != 0;
    }

    /// Requests one notification; `flags` is one of IB_CQ_ARM. True: it is due.
    bool arm(ULONG flags) {
        return lock_.hold([this, flags] {
            if (armed_ != IB_CQ_ARM_NEXT) armed_ = flags;
            return take_notification();
        });
    }

    /// Moves the entries to other memory, and returns the former memory; null: `most` are less than
    /// the entries, and nothing has changed.
    IB_WC* replace(IB_WC* memory, ULONG capacity, ULONG most) {
        return lock_.hold([=, this]() -> IB_WC* {
            if (count() > most) return nullptr;
            const ULONGLONG end = end_.load(std::memory_order_relaxed);
            for (ULONGLONG i = first_.load(std::memory_order_relaxed); i != end; ++i)
                memory[i & (capacity - 1)] = entries_[i & mask_];
            mask_ = capacity - 1;
            if (!overrun_) room_end_ = first_.load(std::memory_order_relaxed) + capacity;
            return std::exchange(entries_, memory);
        });
    }

    struct size {
        ULONG capacity;
        ULONG count; // of entries
    };
    size query() {
        return lock_.hold([this] { return size{mask_ + 1, count()}; });
    }
    IB_WC* memory() const { return entries_; }

private:
    // The functions below are called under the lock.

    cq_reports insert(const IB_WC& entry) {
        const ULONGLONG at = end_.load(std::memory_order_relaxed);
        if (!has_room(at)) return overrun();
        put(at, entry);
        if (is_solicited(entry)) solicited_end_ = at + 1;
        return armed_ != 0 && take_notification() ? cq_report::completion : 0;
    }

    void put(ULONGLONG at, const IB_WC& entry) {
        entries_[at & mask_] = entry;
        end_.store(at + 1, std::memory_order_release);
    }

    ULONG count() const {
        const ULONGLONG first = first_.load(std::memory_order_acquire);
        return static_cast<ULONG>(end_.load(std::memory_order_relaxed) - first);
    }

    // The consumer's line of memory is read when the ring seems to be full.
    bool has_room(ULONGLONG at) {
        if (at < room_end_) [[likely]]
            return true;
        if (overrun_) return false;
        room_end_ = first_.load(std::memory_order_acquire) + mask_ + 1;
        return at < room_end_;
    }

    cq_reports overrun() {
        const bool is_new = !std::exchange(overrun_, true);
        return cq_report::lost | (is_new ? cq_report::error : 0);
    }

    // Returns true once: the consumer is to be notified.
    bool take_notification() {
        const ULONGLONG first = first_.load(std::memory_order_relaxed);
        const bool satisfied = (armed_ == IB_CQ_ARM_NEXT && count() != 0) ||
                               (armed_ == IB_CQ_ARM_SOLICITED && solicited_end_ > first);
        if (satisfied) armed_ = 0;
        return satisfied;
    }

    dispatch::detail::biased_spin lock_;
    IB_WC* entries_ = nullptr;      // changed under lock_ and without a consumer, as the next
    ULONG mask_ = 0;                // of a number: the entry's place
    ULONG armed_ = 0;               // IB_CQ_ARM, or 0; guarded by lock_, as the next three
    bool overrun_ = false;          // no entry is added any more
    ULONGLONG room_end_ = 0;        // entries with smaller numbers have room
    ULONGLONG solicited_end_ = 0;   // the number behind the last solicited entry
    std::atomic<ULONGLONG> end_{0}; // the number of the next entry; stored under lock_
    [[maybe_unused]] std::byte apart_[64] =
        {};                           // the consumer's line of memory is not the producers'
    std::atomic<ULONGLONG> first_{0}; // the number of the oldest entry; stored by the consumer
};

} // namespace irpverbs::hca_software
