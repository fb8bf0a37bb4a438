/// Machines: what driver code runs on. A machine is a set of virtual processors, a clock, and the
/// queues of DPCs, timers and work items; `asio_machine` is real threads, `sim_machine` a
/// simulation.
#pragma once

#include <dispatch/detail/platform.hpp>
#include <dispatch/spin_lock.h>

#include <atomic>
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

    /// The calling thread's machine; starts the default `asio_machine` for a thread that has none.
    static machine& current();

    /// Processors that stand ready to run DPCs, numbered from 0.
    std::uint32_t processor_count() const noexcept;

    /// Where descriptors are watched and C++ handlers run, at PASSIVE_LEVEL.
    virtual boost::asio::io_context& context() = 0;

    /// True for a machine whose clock and schedule are simulated.
    virtual bool simulated() const noexcept = 0;

    detail::machine_state& state() noexcept { return *state_; }

    /// What a package above keeps for this machine. `drop(held)` runs when the machine ends, as a
    /// visitor of it at PASSIVE_LEVEL, while its threads still run; the last place first.
    struct belonging {
        std::atomic<void*> held{nullptr};
        std::atomic<void (*)(void*)> drop{nullptr};
    };
    belonging belongings[4]; // 0: ci, 1: ibmf, 2: saa

    /// What is kept at that place for the calling thread's machine, made when first asked for.
    template <class Kept>
    static Kept& current_belonging(std::size_t place);

    /// The spin lock that the package above has one of in a system: irp's cancel spin lock.
    KSPIN_LOCK system_lock = 0;

    /// True while a timer without a period is set: for the simulator, which waits for it.
    bool timers_set_once_are_armed() const;

    /// Makes a machine the calling thread's for the life of the scope. A thread is a visitor of one
    /// machine at a time; scopes nest.
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

    /// First thing a derived destructor does: ends the library's own threads, after the DPCs and
    /// work items that are queued, and those that they queue; with `await_system_threads` after
    /// these, too.
    void stop(bool await_system_threads);

private:
    void drop_belongings();

    std::unique_ptr<detail::machine_state> state_;
};

template <class Kept>
Kept& machine::current_belonging(std::size_t place) {
    belonging& here = current().belongings[place];
    void* held = here.held.load(std::memory_order_acquire);
    if (held != nullptr) return *static_cast<Kept*>(held);
    auto fresh = std::make_unique<Kept>();
    here.drop.store([](void* last) { delete static_cast<Kept*>(last); });
    if (!here.held.compare_exchange_strong(held, fresh.get())) return *static_cast<Kept*>(held);
    return *fresh.release();
}

} // namespace irpverbs::dispatch

#include <dispatch/asio_machine.hpp>
#include <dispatch/sim_machine.hpp>
