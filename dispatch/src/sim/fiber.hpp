// Fibers: stacks of their own that one thread switches between, known to the sanitizers. The stacks
// are pooled a thread, so that starting one costs about as much as a call.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace irpverbs::dispatch::sim {

class fiber {
public:
    /// Runs on the fiber, and says which one goes on when it has ended.
    using routine = fiber& (*)(void* context);

    /// Stands for the calling thread itself.
    fiber();
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// A fiber of the calling thread that will run `body(context)`; it goes back to the pool when
    /// that returns. std::bad_alloc when there is no memory.
    static fiber& start(routine body, void* context);

    /// Goes on at `to`. The caller must be what runs now; back when somebody switches to it.
    void switch_to(fiber& to);

    /// Ends one that is parked for good: nothing on its stack is destroyed, the memory goes to the
    /// pool.
    void abandon();

private:
    struct pool;
    /// What the C++ runtime keeps a thread: the exceptions that are being handled.
    struct exception_state {
        void* caught;
        unsigned int uncaught;
    };

    explicit fiber(std::size_t stack_size);
    static pool& stacks();
    static void entry(boost::context::detail::transfer_t from);
    [[noreturn]] void run();
    void make_ready();
    void before_switch(fiber& to);
    void arrived(boost::context::detail::transfer_t from);

    boost::context::detail::fcontext_t context_ = nullptr;
    void* stack_ = nullptr; // lowest address
    std::size_t stack_size_ = 0;
    routine body_ = nullptr;
    void* argument_ = nullptr;
    exception_state exceptions_{};
    void* fake_stack_ = nullptr;                  // AddressSanitizer's
    [[maybe_unused]] void* tsan_fiber_ = nullptr; // ThreadSanitizer's
};

} // namespace irpverbs::dispatch::sim
