// Where packages above learn of machines and of findings, without dispatch knowing them.
#pragma once

#include <dispatch/bugcheck.h>

namespace irpverbs::dispatch {
class machine;
}

namespace irpverbs::dispatch::detail {

/// What a package above wants to be told; lives for ever, null where nothing is wanted.
struct lifecycle {
    /// Before the first machine of the process is made.
    void (*first_machine)() = nullptr;
    /// A machine ends: its threads are done, nothing runs on it any more. Called by a visitor of
    /// it, while the verifier is on. May report.
    void (*at_rest)(machine& ending) = nullptr;
    /// The calling thread is about to wait for that object, and for nothing else, without a
    /// time-out; null: the wait is over. While the verifier is on.
    void (*waits_for)(const void* object) = nullptr;
    /// The calling thread sets that event. While the verifier is on.
    void (*sets_event)(const void* event) = nullptr;
    /// Memory that is no block of the watched pool is freed as one. True: it is told, and is not to
    /// be freed. While the pool is watched.
    bool (*freed_as_pool)(const void* memory) = nullptr;
    lifecycle* next = nullptr;
};

/// Before main, from a static object.
NT_API void add_lifecycle(lifecycle& wishes) noexcept;

void announce_first_machine();
void announce_rest(machine& ending);
void announce_wait(const void* object);
void announce_set(const void* event);
bool announce_pool_free(const void* memory);

/// Sees the report of each broken rule before the bug-check handler; true: dealt with. Null: none.
using finding_filter = bool (*)(const BUG_CHECK_REPORT& report);
NT_API void set_finding_filter(finding_filter filter) noexcept;

} // namespace irpverbs::dispatch::detail
