// The virtual processor, which is the library's view of a thread. Every thread that calls the
// library is a processor of its own, so "one thread at DISPATCH_LEVEL a processor" holds by
// construction, and raising the level is a store.
#pragma once

#include <dispatch/detail/platform.hpp>
#include <dispatch/ke.h>
#include <dispatch/support/spin.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace irpverbs::dispatch {
class machine;
}

namespace irpverbs::dispatch::detail {

struct verifier_state;

/// The queued DPCs of a processor.
struct dpc_queue {
    machine_spin_lock lock;
    // Guarded by lock:
    LIST_ENTRY waiting;
    LIST_ENTRY threaded;
    bool running_threaded = false;     // a DPC of `threaded` is running
    std::uint64_t inserted = 0;        // number of insertions so far
    std::atomic<bool> draining{false}; // a DPC of `waiting` is running; reset without the lock
    std::atomic<bool> pending{false};  // a DPC is queued of which the processor was not notified
    /// The running DPC, while anything is instrumented. Only the address is valid: the routine may
    /// free the DPC.
    std::atomic<const KDPC*> running{nullptr};

    dpc_queue() noexcept {
        InitializeListHead(&waiting);
        InitializeListHead(&threaded);
    }
};

struct alignas(64) processor {
    KIRQL irql = PASSIVE_LEVEL;
    bool dedicated = false; // one of the machine's own processors: runs DPCs
    bool worker = false;    // runs work items
    /// In the section of a biased_spin, or about to look whether it may be.
    std::atomic<bool> in_biased_lock{false};
    std::uint32_t number = 0;
    machine* owner = nullptr;
    KTHREAD* thread = nullptr;
    /// The verifier's records, kept apart from the processor; null until the verifier first checks
    /// this processor.
    verifier_state* verifier = nullptr;
    /// Objects of packages above (support/locals.hpp).
    alignas(void*) std::byte locals[128] = {};
    dpc_queue dpcs;
    /// The machine's record of how the thread is parked.
    std::atomic<std::uint32_t> parking{0};
    void* actor = nullptr;
    processor* next = nullptr; // in its machine's list
};

#if defined(__GNUC__)
#define IRPVERBS_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define IRPVERBS_FAST_TLS
#endif

/// The calling thread's processor; null until the thread's first call of the library.
NT_API extern constinit thread_local processor* current IRPVERBS_FAST_TLS;

/// Attaches the calling thread to its machine. Starts the default machine when the thread
/// has none.
NT_API processor& attach_thread();

inline processor& this_processor() {
    processor* self = current;
    return self != nullptr ? *self : attach_thread();
}

/// Bit 0: the verifier is on. Bits 1 to 7: number of fault plans in force. The other bits: number
/// of simulated machines alive.
NT_API extern std::atomic<std::uint32_t> instrumentation;
inline constexpr std::uint32_t verifying_bit = 1;
inline constexpr std::uint32_t fault_plan_unit = 0x2;
inline constexpr std::uint32_t simulating_unit = 0x100;

inline bool instrumented() noexcept {
    return __builtin_expect(instrumentation.load(std::memory_order_relaxed) != 0, 0);
}
inline bool verifying() noexcept {
    return __builtin_expect((instrumentation.load(std::memory_order_relaxed) & verifying_bit) != 0,
                            0);
}

NT_API void sched_point_slow(point kind, const void* object);
inline void sched_point(point kind, const void* object = nullptr) {
    if (instrumented()) sched_point_slow(kind, object);
}

NT_API void name_object_slow(const void* object, const char* kind);
/// Names the object whose life begins at this address. The logs of simulated runs need it,
/// since they hold no addresses.
inline void name_object(const void* object, const char* kind) {
    if (instrumented()) name_object_slow(object, kind);
}

/// Runs the DPCs queued to `self` at DISPATCH_LEVEL; the level afterwards is the one before the
/// call.
NT_API void drain_dpcs(processor& self);

inline void lower_irql(processor& self, KIRQL level) {
    if (level < DISPATCH_LEVEL && self.dpcs.pending.load(std::memory_order_relaxed)) {
        self.irql = DISPATCH_LEVEL;
        drain_dpcs(self);
    }
    self.irql = level;
}

} // namespace irpverbs::dispatch::detail
