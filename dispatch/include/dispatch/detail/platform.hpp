// The services that the library needs from a machine: threads that can be parked, a clock, and the
// places where a simulated machine may switch to another actor.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/ke.h>

#include <cstdint>

namespace irpverbs::dispatch::detail {

struct processor;

/// The places where a simulated machine may switch: each is right before the named step.
enum class point : std::uint8_t {
    lock_acquire,
    lock_release,
    cancel_exchange,
    call_driver,
    complete_request,
    wait,
    signal,
    dpc_insert,
    dpc_run,
    work_insert,
    timer_set,
    interlocked,
    mark_pending,
    user,
};

/// "never" as a deadline in machine time.
inline constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

/// A handler of KeSetBugCheckHandler.
struct bug_check_callback {
    BUG_CHECK_HANDLER handler = nullptr;
    void* context = nullptr;
};

class platform {
public:
    platform() = default;
    platform(const platform&) = delete;
    platform& operator=(const platform&) = delete;
    virtual ~platform() = default;

    /// Returns the machine time since start, in units of 100 ns.
    virtual std::uint64_t interrupt_time() = 0;
    /// Returns a time not later than interrupt_time(), at a lower cost.
    virtual std::uint64_t coarse_time() { return interrupt_time(); }
    /// Returns a time that is not earlier than interrupt_time() and ahead of it by less than 10 ms,
    /// at a lower cost. When the kernel's tick is late, as when a hypervisor runs another guest on
    /// the processor, the result is behind interrupt_time() by that delay.
    virtual std::uint64_t clock_upper_bound();
    /// Returns the time of the computer's clock in units of 100 ns since 1601-01-01 UTC. The clock
    /// may be set forward or back at any time.
    virtual std::uint64_t system_time() = 0;

    /// Blocks the calling thread, which is `self`, until unpark or the deadline. False: the
    /// deadline elapsed. An unpark before the call counts. May return true without an unpark.
    virtual bool park(processor& self, std::uint64_t deadline) = 0;
    virtual void unpark(processor& target) = 0;

    /// Starts a thread with a processor of its own that runs `body(context)`. False: no resources.
    /// With a `processor_number` of 0 or above it is the dedicated processor of that number.
    virtual bool start_thread(int processor_number, void (*body)(void*), void* context) = 0;

    /// Scheduling point: another actor may run here. Only called while instrumentation is on.
    virtual void sched_point(processor& self, point kind, const void* object) = 0;

    /// One turn of a spin loop: returns when `blocked(context)` may have become false.
    virtual void spin(processor& self, bool (*blocked)(const void*), const void* context,
                      unsigned turn) = 0;

    /// Lets `ticks` of 100 ns pass while the caller keeps the processor.
    virtual void stall(processor& self, std::uint64_t ticks) = 0;

    /// Draws from the machine's source of random numbers.
    virtual std::uint64_t random() = 0;

    /// Returns whether an event that happens once in `one_in` times happens now; 0: never. `what`
    /// is a literal.
    virtual bool fires(const char* what, std::uint32_t one_in) {
        (void)what;
        return one_in != 0 && random() % one_in == 0;
    }

    /// Returns `choice`. A simulated run records it, and a replay returns the recorded choice.
    virtual bool record_choice(const char* what, bool choice) {
        (void)what;
        return choice;
    }

    /// Returns whether a simulated fault happens at `site` now. Real machines return false.
    virtual bool should_inject(const char* site) {
        (void)site;
        return false;
    }

    /// Names the memory at `object` as a new object of that kind ("event") in the simulator's logs.
    /// Only called while instrumentation is on.
    virtual void name_object(const void* object, const char* kind) {
        (void)object;
        (void)kind;
    }

    /// Returns the line that repeats the run so far, for reports; null when there is none.
    virtual const char* replay_line() { return nullptr; }

    /// Receives each report of this machine's threads before the process's handler does. True: the
    /// report is handled. May never return.
    virtual bool on_bug_check(const BUG_CHECK_REPORT& report) {
        (void)report;
        return false;
    }

    /// Returns the place of the handler that this machine's threads install; null: they install the
    /// process-wide handler.
    virtual bug_check_callback* own_bug_check_callback() { return nullptr; }
};

} // namespace irpverbs::dispatch::detail
