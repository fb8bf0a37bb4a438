// Fibers: one thread switches between several stacks, and the sanitizers know of each switch. Each
// thread has a pool of stacks, so that starting a fiber costs about as much as a call.
#pragma once

#include <boost/context/fiber.hpp>

#include <cstddef>

namespace irpverbs::dispatch::sim {

class fiber {
public:
    /// Runs on the fiber, and returns the fiber that runs next.
    using routine = fiber& (*)(void* context);

    /// The calling thread itself as a fiber.
    fiber();
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// Returns a fiber of the calling thread that will run `body(context)`. The fiber goes to the
    /// pool when the body returns. Throws std::bad_alloc when there is no memory.
    static fiber& start(routine body, void* context);

    /// Switches to `to`. The caller must be the running fiber. Returns when a fiber switches to the
    /// caller.
    void switch_to(fiber& to);

    /// Ends a fiber that is parked for good: nothing on its stack is destroyed, and the stack goes
    /// to the pool.
    void abandon();

private:
    struct pool;
    /// The C++ runtime's state of a thread: the exceptions that are being handled.
    struct exception_state {
        void* caught;
        unsigned int uncaught;
    };

    explicit fiber(std::size_t stack_size);
    static pool& stacks();
    [[noreturn]] void run();
    void make_ready();
    void before_switch(fiber& to);
    void after_switch(boost::context::fiber&& from);

    /// A context that its owner does not destroy: the destructor of boost::context::fiber would
    /// unwind the stack.
    union suspended {
        suspended() : value() {}
        ~suspended() {}
        suspended(const suspended&) = delete;
        suspended& operator=(const suspended&) = delete;
        boost::context::fiber value;
    };
    suspended context_;
    fiber* came_from_ = nullptr; // the fiber that switched to this one
    void* stack_ = nullptr;      // lowest address
    std::size_t stack_size_ = 0;
    routine body_ = nullptr;
    void* argument_ = nullptr;
    exception_state exceptions_{};
    void* fake_stack_ = nullptr;                  // AddressSanitizer's
    [[maybe_unused]] void* tsan_fiber_ = nullptr; // ThreadSanitizer's
};

} // namespace irpverbs::dispatch::sim
