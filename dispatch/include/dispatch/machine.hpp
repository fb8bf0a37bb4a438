/// Machines: driver code runs on a machine, which is a set of virtual processors, a clock, and the
/// queues of DPCs, timers and work items. `asio_machine` consists of real threads, `sim_machine` is
/// a simulation.
#pragma once

#include <dispatch/detail/platform.hpp>
#include <dispatch/spin_lock.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace irpverbs::dispatch {

namespace detail {
struct machine_state;
}

class NT_API machine : public detail::platform {
public:
    ~machine() override;

    /// Returns the calling thread's machine. Starts the default `asio_machine` for a thread that
    /// has no machine.
    static machine& current();

    /// Number of active processors, which run DPCs; their numbers begin at 0.
    std::uint32_t processor_count() const noexcept;

    /// The io_context that watches descriptors and runs C++ handlers, at PASSIVE_LEVEL.
    virtual boost::asio::io_context& context() = 0;

    /// True for a machine whose clock and schedule are simulated.
    virtual bool simulated() const noexcept = 0;

    detail::machine_state& state() noexcept { return *state_; }

    /// The place of a package's object, for support/locals.hpp.
    std::atomic<void*>& local(std::size_t index) noexcept { return locals_[index]; }
    static constexpr std::size_t max_locals = 16;

    /// The system's cancel spin lock, for irp.
    KSPIN_LOCK cancel_spin_lock = 0;

    /// True while a timer without a period is set. The simulator waits for such timers.
    bool has_one_shot_timers() const;

    /// Makes a machine the calling thread's machine for the life of the scope. A thread is
    /// attached to one machine at a time; scopes nest.
    class NT_API scope {
    public:
        explicit scope(machine& chosen);
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        detail::processor* outer_;
    };

protected:
    explicit machine(std::uint32_t processors);

    /// A derived destructor calls this first. Ends the library's own threads after the queued DPCs
    /// and work items, and those that they queue, have run; with `await_system_threads`, also after
    /// the system threads have ended.
    void stop(bool await_system_threads);

private:
    void drop_locals();

    std::unique_ptr<detail::machine_state> state_;
    std::atomic<void*> locals_[max_locals] = {};
};

} // namespace irpverbs::dispatch

#include <dispatch/asio_machine.hpp>
#include <dispatch/sim_machine.hpp>
