// What a machine gives to the library: threads that can be parked, a clock, and the places where a
// simulated machine may switch to another actor.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/ke.h>

#include <cstdint>

namespace irpverbs::dispatch::detail {

struct processor;

/// Where a simulated machine may switch: right before the step named is taken.
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
    user,
};

/// "never" as a deadline in machine time.
inline constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

/// A handler of KeSetBugCheckHandler.
struct bug_check_receiver {
    BUG_CHECK_HANDLER handler = nullptr;
    void* context = nullptr;
};

class platform {
public:
    platform() = default;
    platform(const platform&) = delete;
    platform& operator=(const platform&) = delete;
    virtual ~platform() = default;

    /// Machine time since start, in units of 100 ns.
    virtual std::uint64_t interrupt_time() = 0;
    /// Not later than interrupt_time(), and cheaper.
    virtual std::uint64_t coarse_time() { return interrupt_time(); }
    /// Not earlier than interrupt_time(), ahead by less than 10 ms, and cheaper. Behind it by as
    /// much as the kernel's tick is late, as when a hypervisor has lent the processor to somebody
    /// else.
    virtual std::uint64_t late_time();
    /// What the computer's clock shows: units of 100 ns since 1601-01-01 UTC. The clock may be set
    /// forward or back at any time.
    virtual std::uint64_t system_time() = 0;

    /// Blocks the calling thread, which is `self`, until unpark or the deadline; false: the
    /// deadline came. A token given before counts. May return true for no reason.
    virtual bool park(processor& self, std::uint64_t deadline) = 0;
    virtual void unpark(processor& target) = 0;

    /// Starts a thread of its own processor that runs `body(context)`; false: no resources.
    /// `processor_number` at or above 0 makes it that home processor.
    virtual bool start_thread(int processor_number, void (*body)(void*), void* context) = 0;

    /// Another actor may run here. Only called while instrumentation is on.
    virtual void sched_point(processor& self, point kind, const void* object) = 0;

    /// One turn of a spin loop: back when `blocked(context)` may have become false.
    virtual void spin(processor& self, bool (*blocked)(const void*), const void* context,
                      unsigned turn) = 0;

    /// Lets `ticks` of 100 ns pass without giving up the processor.
    virtual void stall(processor& self, std::uint64_t ticks) = 0;

    /// Draws from the machine's source of chance.
    virtual std::uint64_t random() = 0;

    /// Says whether what happens once in `one_in` times happens now; 0: never. `what` is a literal.
    virtual bool fires(const char* what, std::uint32_t one_in) {
        (void)what;
        return one_in != 0 && random() % one_in == 0;
    }

    /// Gives `answer` back; a simulated run records it, and repeats the recorded one when replayed.
    virtual bool suggest(const char* what, bool answer) {
        (void)what;
        return answer;
    }

    /// A decision of the simulator: does this rare thing happen now? Real machines say no.
    virtual bool perturb(const char* site) {
        (void)site;
        return false;
    }

    /// From now on the memory at `object` is a new object of that kind ("event"), for logs of the
    /// simulator. Only called while instrumentation is on.
    virtual void introduce(const void* object, const char* kind) {
        (void)object;
        (void)kind;
    }

    /// The line that repeats the run so far, for reports; null where there is none.
    virtual const char* replay_line() { return nullptr; }

    /// Receives each report of this machine's threads before the process's handler does. True: the
    /// report is dealt with. May not return at all.
    virtual bool on_bug_check(const BUG_CHECK_REPORT& report) {
        (void)report;
        return false;
    }

    /// The handler that this machine's threads install; null: they install the process's.
    virtual bug_check_receiver* own_receiver() { return nullptr; }
};

} // namespace irpverbs::dispatch::detail
