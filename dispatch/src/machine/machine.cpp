#include "dpc/dpc.hpp"
#include "irql/irql_rules.hpp"
#include "locals.hpp"
#include "machine_state.hpp"
#include "verify/hooks.hpp"

#include <dispatch/default_machine.hpp>
#include <dispatch/support/checks.hpp>
#include <dispatch/support/machine_hooks.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <unistd.h>

namespace irpverbs::dispatch {
namespace detail {

constinit thread_local processor* current = nullptr;
std::atomic<std::uint32_t> instrumentation{0};

// Not defined in the header: there the compiler would make each call test first whether this
// function is the one to be called.
std::uint64_t platform::clock_upper_bound() { return interrupt_time(); }

namespace {

void dedicated_processor_main(processor& self) {
    machine_state& state = self.owner->state();
    for (;;) {
        std::uint64_t deadline = no_deadline;
        if (self.number == 0) deadline = state.timers.expire(state.owner);
        if (self.dpcs.pending.load(std::memory_order_acquire)) {
            self.irql = DISPATCH_LEVEL;
            drain_dpcs(self);
            self.irql = PASSIVE_LEVEL;
            run_threaded_dpcs(self);
            continue;
        }
        if (state.stopping.load(std::memory_order_acquire)) return;
        state.owner.park(self, deadline);
    }
}

struct library_thread {
    machine_state& state;
    void (*body)(processor&);
    processor* self;
};

void library_thread_main(void* context) {
    const std::unique_ptr<library_thread> start(static_cast<library_thread*>(context));
    machine_state& state = start->state;
    processor& self = start->self != nullptr ? *start->self : state.attach();
    current = &self;
    self.thread = new_thread_object(self);
    start->body(self);
    end_thread_object(self);
    if (start->self == nullptr) state.detach(self);
    current = nullptr;
    processor* stopper = state.stopper.load(std::memory_order_acquire);
    machine& owner = state.owner;
    if (state.live_threads.fetch_sub(1, std::memory_order_acq_rel) == 1 && stopper != nullptr)
        owner.unpark(*stopper);
}

/// Returns the thread's processor to the machine when the thread ends.
struct thread_attachment {
    processor* self = nullptr;
    ~thread_attachment() {
        if (self == nullptr) return;
        end_thread_object(*self);
        self->owner->state().detach(*self);
        current = nullptr;
    }
};
thread_local thread_attachment attachment;

std::atomic<machine*> chosen_default{nullptr};

/// The machine of a program that chooses none. A child of a fork that calls exit has none of its
/// threads, so only the process that made it waits for them.
class own_machine {
public:
    own_machine() = default;
    own_machine(const own_machine&) = delete;
    own_machine& operator=(const own_machine&) = delete;
    ~own_machine() {
        if (getpid() == process_) delete machine_;
    }
    machine& get() const { return *machine_; }

private:
    asio_machine* machine_ = new asio_machine;
    pid_t process_ = getpid();
};

machine& default_machine() {
    if (machine* chosen = chosen_default.load(std::memory_order_acquire)) return *chosen;
    static const own_machine only;
    return only.get();
}

} // namespace

processor& attach_thread() {
    processor& self = default_machine().state().attach();
    self.thread = new_thread_object(self);
    attachment.self = &self;
    current = &self;
    return self;
}

void sched_point_slow(point kind, const void* object) {
    processor& self = this_processor();
    if (enabled(check::delays)) maybe_delay(self, kind);
    self.owner->sched_point(self, kind, object);
}

void instrumented_call(const irql_rule& rule, point kind, const void* object) {
    if (verifying()) check_irql(rule);
    sched_point_slow(kind, object);
}

bool start_library_thread(machine_state& state, int number, void (*body)(processor&),
                          processor* self) {
    auto start = std::make_unique<library_thread>(library_thread{state, body, self});
    state.live_threads.fetch_add(1, std::memory_order_relaxed);
    if (!state.owner.start_thread(number, library_thread_main, start.get())) {
        state.live_threads.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    static_cast<void>(start.release());
    return true;
}

machine_state::machine_state(machine& its_owner, std::uint32_t processors)
    : owner(its_owner), processor_count(processors), by_number(processors) {}

// Releases the program's objects, so that another machine may use them.
machine_state::~machine_state() {
    timers.unlink_all();
    work.unlink_all();
    for (const auto& each : all)
        unlink_dpcs(each->dpcs);
    // Threads of a simulated run that did not finish never end, and never release their objects.
    for (const auto& each : all)
        if (each->thread != nullptr) abandon_thread_object(*each->thread);
    for (const auto& each : all)
        drop_processor_locals(*each);
    for (const auto& each : all)
        drop_verifier_state(*each);
    clear_live_objects(owner);
    clear_leftovers(owner);
    disown_pool_blocks(owner);
    for (record_entry& each : records)
        if (each.drop != nullptr) each.drop(each.held);
}

processor& machine_state::dedicated_processor(std::uint32_t number) {
    if (processor* ready = by_number[number].load(std::memory_order_acquire)) return *ready;
    processor* made = nullptr;
    {
        const std::lock_guard guard(lock);
        if (processor* ready = by_number[number].load(std::memory_order_relaxed)) return *ready;
        all.push_back(std::make_unique<processor>());
        made = all.back().get();
        made->dedicated = true;
        made->number = number;
        made->owner = &owner;
        by_number[number].store(made, std::memory_order_release);
    }
    if (!start_library_thread(*this, static_cast<int>(number), dedicated_processor_main, made))
        bug_check(MANUALLY_INITIATED_CRASH,
                  "no thread could be started for a processor of the machine");
    return *made;
}

processor& machine_state::attach() {
    const std::lock_guard guard(lock);
    if (!free_processors.empty()) {
        processor* again = free_processors.back();
        free_processors.pop_back();
        return *again;
    }
    if (processor_count + all.size() >= MAXIMUM_PROCESSORS)
        bug_check(MANUALLY_INITIATED_CRASH,
                  "more threads than MAXIMUM_PROCESSORS are attached to one machine");
    all.push_back(std::make_unique<processor>());
    processor& fresh = *all.back();
    fresh.number = processor_count + static_cast<std::uint32_t>(all.size()) - 1;
    fresh.owner = &owner;
    return fresh;
}

void machine_state::wake_stopper() {
    if (processor* waiting = stopper.load()) owner.unpark(*waiting);
}

void machine_state::wake_all() {
    const std::lock_guard guard(lock);
    for (const auto& each : all)
        owner.unpark(*each);
}

std::uint64_t next_clock_check(machine& owner, std::uint64_t due) {
    constexpr std::uint64_t second = 10'000'000;
    const std::uint64_t now = owner.system_time();
    const std::uint64_t left = due > now ? due - now : 0;
    return owner.interrupt_time() + (owner.simulated() ? left : std::min(left, second));
}

std::uint64_t machine_state::inserted_so_far() {
    std::uint64_t sum = 0;
    {
        const std::lock_guard guard(work.lock);
        sum = work.inserted;
    }
    std::vector<processor*> processors;
    {
        const std::lock_guard guard(lock);
        for (const auto& each : all)
            processors.push_back(each.get());
    }
    for (processor* each : processors) {
        const std::lock_guard guard(each->dpcs.lock);
        sum += each->dpcs.inserted;
    }
    return sum;
}

void machine_state::drain(processor& self, bool await_system_threads) {
    const auto done = [&] {
        const std::lock_guard guard(work.lock);
        return work.is_idle() && !(await_system_threads && system_threads.load() != 0);
    };
    std::uint64_t before = 0;
    do {
        while (!done())
            owner.park(self, no_deadline);
        before = inserted_so_far();
        KeFlushQueuedDpcs();
    } while (inserted_so_far() != before);
}

void machine_state::detach(processor& left) {
    const std::lock_guard guard(lock);
    left.irql = PASSIVE_LEVEL;
    left.thread = nullptr;
    left.parking.store(0, std::memory_order_relaxed);
    left.actor = nullptr;
    free_processors.push_back(&left);
}

} // namespace detail

machine::machine(std::uint32_t processors)
    : state_(std::make_unique<detail::machine_state>(*this, processors == 0 ? 1 : processors)) {
    detail::notify_first_machine();
}

machine::~machine() {
    detail::unregister_lock(&cancel_spin_lock);
    if (detail::current != nullptr && detail::current->owner == this) {
        detail::current = nullptr;
        detail::attachment.self = nullptr;
    }
}

machine& machine::current() { return *detail::this_processor().owner; }

void set_default_machine(machine& chosen) noexcept {
    detail::chosen_default.store(&chosen, std::memory_order_release);
}

void leave_machine_after_fork() noexcept {
    detail::chosen_default.store(nullptr, std::memory_order_release);
    detail::attachment.self = nullptr;
    detail::current = nullptr;
}

std::uint32_t machine::processor_count() const noexcept { return state_->processor_count; }

bool machine::has_one_shot_timers() const { return state_->timers.has_one_shot(); }

// While an object is dropped, its package may still request it.
void machine::drop_locals() {
    for (const detail::machine_drop& each : detail::machine_drops()) {
        std::atomic<void*>& place = locals_[each.index];
        if (void* held = place.load()) each.drop(held);
        place.store(nullptr);
    }
}

void machine::stop(bool await_system_threads) {
    const scope inside(*this);
    detail::close_all_handles(); // their objects are those of packages, which end next
    drop_locals();
    detail::processor& self = *detail::current;
    state_->stopper.store(&self);
    state_->drain(self, await_system_threads);
    state_->stopping.store(true, std::memory_order_release);
    for (auto& each : state_->by_number)
        if (detail::processor* started = each.load(std::memory_order_acquire)) unpark(*started);
    {
        const std::lock_guard guard(state_->work.lock);
        for (detail::processor* idle : state_->work.idle)
            unpark(*idle);
    }
    while (state_->live_threads.load(std::memory_order_acquire) != 0)
        park(self, detail::no_deadline);
    state_->stopper.store(nullptr, std::memory_order_release);
    if (!detail::verifying() || std::uncaught_exceptions() != 0) return;
    detail::notify_quiesced(*this); // packages above hold pool memory, so they end first
    detail::machine_stopped(*this);
}

machine::scope::scope(machine& chosen) : outer_(detail::current) {
    detail::processor& self = chosen.state().attach();
    self.thread = detail::new_thread_object(self);
    detail::current = &self;
}

machine::scope::~scope() {
    detail::processor& self = *detail::current;
    detail::end_thread_object(self);
    self.owner->state().detach(self);
    detail::current = outer_;
}

} // namespace irpverbs::dispatch
