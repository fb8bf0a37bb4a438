#include "fiber.hpp"

#include <dispatch/support/sanitizers.hpp>

#include <cstring>
#include <cxxabi.h>
#include <deque>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#if IRPVERBS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if IRPVERBS_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace irpverbs::dispatch::sim {

namespace ctx = boost::context;

constexpr std::size_t default_stack_size = 256 * 1024;

// Objects that only an abandoned stack points to are leaked with it. Under AddressSanitizer such
// stacks are kept as roots of its leak check, since a run that hung is no leak of the program.
#if IRPVERBS_ADDRESS_SANITIZER
constexpr std::size_t quarantine = 4096;
#else
constexpr std::size_t quarantine = 0;
#endif

// The stack allocator of a context: its fiber owns the stack.
struct kept_stack {
    void deallocate(ctx::stack_context&) noexcept {}
};

static std::size_t guard_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

struct fiber::pool {
    std::vector<std::unique_ptr<fiber>> all;
    std::vector<fiber*> idle;
    std::deque<fiber*> abandoned;

    fiber& allocate() {
        if (abandoned.size() > quarantine) {
            fiber* oldest = abandoned.front();
            abandoned.pop_front();
#if IRPVERBS_ADDRESS_SANITIZER
            __lsan_unregister_root_region(oldest->stack_, oldest->stack_size_);
            __asan_unpoison_memory_region(oldest->stack_, oldest->stack_size_);
#endif
            oldest->make_ready();
            return *oldest;
        }
        if (idle.empty()) {
            all.push_back(std::unique_ptr<fiber>(new fiber(default_stack_size)));
            idle.reserve(all.size());
            return *all.back();
        }
        fiber* last = idle.back();
        idle.pop_back();
        return *last;
    }
};

fiber::pool& fiber::stacks() {
    static thread_local pool own;
    return own;
}

fiber::fiber() {
#if IRPVERBS_THREAD_SANITIZER
    tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(std::size_t stack_size) : stack_size_(stack_size) {
    void* memory = mmap(nullptr, stack_size + guard_size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, guard_size(), PROT_NONE);
    stack_ = static_cast<char*>(memory) + guard_size();
    make_ready();
}

fiber::~fiber() {
    if (body_ == nullptr) return;
#if IRPVERBS_THREAD_SANITIZER
    __tsan_destroy_fiber(tsan_fiber_);
#endif
#if !IRPVERBS_ADDRESS_SANITIZER
    munmap(static_cast<char*>(stack_) - guard_size(), stack_size_ + guard_size());
#endif
}

void fiber::make_ready() {
    exceptions_ = {};
    fake_stack_ = nullptr;
#if IRPVERBS_THREAD_SANITIZER
    if (tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
    tsan_fiber_ = __tsan_create_fiber(0);
    void* const creator = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_fiber_, 0); // the constructor enters the new stack
#endif
    ctx::stack_context memory;
    memory.size = stack_size_;
    memory.sp = static_cast<char*>(stack_) + stack_size_;
    new (&context_.value)
        ctx::fiber(std::allocator_arg, ctx::preallocated(memory.sp, memory.size, memory),
                   kept_stack{}, [this](ctx::fiber&& from) -> ctx::fiber {
                       after_switch(std::move(from));
                       run();
                   });
#if IRPVERBS_THREAD_SANITIZER
    __tsan_switch_to_fiber(creator, 0);
#endif
}

fiber& fiber::start(routine body, void* context) {
    fiber& chosen = stacks().allocate();
    chosen.body_ = body;
    chosen.argument_ = context;
    return chosen;
}

void fiber::abandon() {
#if IRPVERBS_ADDRESS_SANITIZER
    __lsan_register_root_region(stack_, stack_size_);
#endif
    stacks().abandoned.push_back(this);
}

void fiber::before_switch([[maybe_unused]] fiber& to) {
    // A handler or a destructor may switch while an exception is in flight. The runtime counts
    // exceptions by thread, so each fiber saves and restores its own count.
    std::memcpy(&exceptions_, abi::__cxa_get_globals(), sizeof exceptions_);
#if IRPVERBS_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&fake_stack_, to.stack_, to.stack_size_);
#endif
#if IRPVERBS_THREAD_SANITIZER
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
}

void fiber::switch_to(fiber& to) {
    before_switch(to);
    to.came_from_ = this;
    after_switch(std::move(to.context_.value).resume());
}

void fiber::after_switch(ctx::fiber&& from) {
    [[maybe_unused]] fiber* previous = came_from_;
    previous->context_.value = std::move(from);
#if IRPVERBS_ADDRESS_SANITIZER
    const void* stack = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &stack, &size);
    if (previous->body_ == nullptr) { // the thread's own stack
        previous->stack_ = const_cast<void*>(stack);
        previous->stack_size_ = size;
    }
#endif
    std::memcpy(abi::__cxa_get_globals(), &exceptions_, sizeof exceptions_);
}

// The fiber stays on its stack from job to job, so that only the first job pays for a new context.
void fiber::run() {
    for (;;) {
        fiber& next = body_(argument_);
        stacks().idle.push_back(this);
        switch_to(next);
    }
}

} // namespace irpverbs::dispatch::sim
