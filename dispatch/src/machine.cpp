#include "dpc.hpp"
#include "machine_state.hpp"
#include "rules.hpp"
#include "verify/delays.hpp"
#include "verify/live_objects.hpp"
#include "verify/lock_registry.hpp"
#include "verify/pool_table.hpp"
#include "verify/processor_checks.hpp"
#include "verify/routine_checks.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/detail/lifecycle.hpp>

#include <algorithm>
#include <exception>
#include <iterator>

namespace irpverbs::dispatch {
namespace detail {

constinit thread_local processor* current = nullptr;
std::atomic<std::uint32_t> instrumentation{0};

// Not defined in the header: there the compiler would make each call test first whether this
// function is the one to be called.
std::uint64_t platform::late_time() { return interrupt_time(); }

namespace {

void home_main(processor& self) {
    machine_state& state = self.owner->state();
    for (;;) {
        std::uint64_t deadline = no_deadline;
        if (self.number == 0) deadline = state.timers.expire(state.owner);
        if (self.dpcs.pending.load(std::memory_order_acquire)) {
            self.irql = DISPATCH_LEVEL;
            retire_dpcs(self);
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
    processor& self = start->self != nullptr ? *start->self : state.admit();
    current = &self;
    self.thread = new_thread_object(self);
    start->body(self);
    end_thread_object(self);
    if (start->self == nullptr) state.dismiss(self);
    current = nullptr;
    processor* stopper = state.stopper.load(std::memory_order_acquire);
    machine& owner = state.owner;
    if (state.live_threads.fetch_sub(1, std::memory_order_acq_rel) == 1 && stopper != nullptr)
        owner.unpark(*stopper);
}

/// Returns the thread's visitor processor to the machine when the thread ends.
struct visit {
    processor* self = nullptr;
    ~visit() {
        if (self == nullptr) return;
        end_thread_object(*self);
        self->owner->state().dismiss(*self);
        current = nullptr;
    }
};
thread_local visit visiting;

asio_machine& default_machine() {
    static asio_machine only;
    return only;
}

} // namespace

processor& attach_visitor() {
    processor& self = default_machine().state().admit();
    self.thread = new_thread_object(self);
    visiting.self = &self;
    current = &self;
    return self;
}

void sched_point_slow(point kind, const void* object) {
    processor& self = this_processor();
    if (watching(watch::delays)) delay_sometimes(self, kind);
    self.owner->sched_point(self, kind, object);
}

void look_on(const irql_rule& rule, point kind, const void* object) {
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
    : owner(its_owner), processor_count(processors), homes(processors) {}

// Releases the program's objects, so that another machine may use them.
machine_state::~machine_state() {
    timers.let_go_of_all();
    work.let_go_of_all();
    for (const auto& each : all)
        let_go_of_dpcs(each->dpcs);
    // Threads of a simulated run that did not finish never end, and never release their objects.
    for (const auto& each : all)
        if (each->thread != nullptr) abandon_thread_object(*each->thread);
    for (const auto& each : all)
        for (processor::stock& stock : each->stocks)
            if (stock.drop != nullptr) stock.drop(stock.head);
    for (const auto& each : all)
        drop_checks(*each);
    forget_live_objects(owner);
    pool_table::get().disown(owner);
    for (ledger& each : ledgers)
        if (each.drop != nullptr) each.drop(each.held);
}

processor& machine_state::home(std::uint32_t number) {
    if (processor* ready = homes[number].load(std::memory_order_acquire)) return *ready;
    processor* made = nullptr;
    {
        const std::lock_guard guard(lock);
        if (processor* ready = homes[number].load(std::memory_order_relaxed)) return *ready;
        all.push_back(std::make_unique<processor>());
        made = all.back().get();
        made->home = true;
        made->number = number;
        made->owner = &owner;
        homes[number].store(made, std::memory_order_release);
    }
    if (!start_library_thread(*this, static_cast<int>(number), home_main, made))
        bug_check(MANUALLY_INITIATED_CRASH,
                  "no thread could be started for a processor of the machine");
    return *made;
}

processor& machine_state::admit() {
    const std::lock_guard guard(lock);
    if (!free_visitors.empty()) {
        processor* again = free_visitors.back();
        free_visitors.pop_back();
        return *again;
    }
    if (processor_count + all.size() >= MAXIMUM_PROCESSORS)
        bug_check(MANUALLY_INITIATED_CRASH,
                  "more threads than MAXIMUM_PROCESSORS visit one machine");
    all.push_back(std::make_unique<processor>());
    processor& fresh = *all.back();
    fresh.number = processor_count + static_cast<std::uint32_t>(all.size()) - 1;
    fresh.owner = &owner;
    return fresh;
}

void machine_state::tell_stopper() {
    if (processor* waiting = stopper.load()) owner.unpark(*waiting);
}

void machine_state::wake_all() {
    const std::lock_guard guard(lock);
    for (const auto& each : all)
        owner.unpark(*each);
}

std::uint64_t next_look_at_clock(machine& owner, std::uint64_t due) {
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
        return work.at_rest() && !(await_system_threads && system_threads.load() != 0);
    };
    std::uint64_t before = 0;
    do {
        while (!done())
            owner.park(self, no_deadline);
        before = inserted_so_far();
        KeFlushQueuedDpcs();
    } while (inserted_so_far() != before);
}

void machine_state::dismiss(processor& visitor) {
    const std::lock_guard guard(lock);
    visitor.irql = PASSIVE_LEVEL;
    visitor.thread = nullptr;
    visitor.parking.store(0, std::memory_order_relaxed);
    visitor.actor = nullptr;
    free_visitors.push_back(&visitor);
}

} // namespace detail

machine::machine(std::uint32_t processors)
    : state_(std::make_unique<detail::machine_state>(*this, processors == 0 ? 1 : processors)) {
    detail::announce_first_machine();
}

machine::~machine() {
    detail::forget_lock(&system_lock);
    if (detail::current != nullptr && detail::current->owner == this) {
        detail::current = nullptr;
        detail::visiting.self = nullptr;
    }
}

machine& machine::current() { return *detail::this_processor().owner; }

std::uint32_t machine::processor_count() const noexcept { return state_->processor_count; }

bool machine::timers_set_once_are_armed() const { return state_->timers.once_armed(); }

// The highest package is dropped first, since it uses those below. While it is dropped, it may
// still request its own object.
void machine::drop_belongings() {
    for (std::size_t place = std::size(belongings); place-- != 0;) {
        belonging& each = belongings[place];
        if (void* held = each.held.load()) each.drop.load()(held);
        each.held.store(nullptr);
    }
}

void machine::stop(bool await_system_threads) {
    const scope inside(*this);
    drop_belongings();
    detail::processor& self = *detail::current;
    state_->stopper.store(&self);
    state_->drain(self, await_system_threads);
    state_->stopping.store(true, std::memory_order_release);
    for (auto& each : state_->homes)
        if (detail::processor* home = each.load(std::memory_order_acquire)) unpark(*home);
    {
        const std::lock_guard guard(state_->work.lock);
        for (detail::processor* idle : state_->work.idle)
            unpark(*idle);
    }
    while (state_->live_threads.load(std::memory_order_acquire) != 0)
        park(self, detail::no_deadline);
    state_->stopper.store(nullptr, std::memory_order_release);
    if (!detail::verifying() || std::uncaught_exceptions() != 0) return;
    detail::announce_rest(*this); // packages above hold pool memory, so they end first
    detail::machine_stopped(*this);
}

machine::scope::scope(machine& chosen) : outer_(detail::current) {
    detail::processor& self = chosen.state().admit();
    self.thread = detail::new_thread_object(self);
    detail::current = &self;
}

machine::scope::~scope() {
    detail::processor& self = *detail::current;
    detail::end_thread_object(self);
    self.owner->state().dismiss(self);
    detail::current = outer_;
}

} // namespace irpverbs::dispatch
