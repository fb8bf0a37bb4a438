#include <dispatch/testing/probe.hpp>

#include <algorithm>
#include <mutex>
#include <tuple>

namespace irpverbs::dispatch {

// Never destroyed: probes of other translation units and of shared objects unregister at exit.
struct probe_list {
    std::mutex mutex;
    probe* first = nullptr;

    static probe_list& instance() {
        static probe_list& list = *new probe_list;
        return list;
    }

    template <class Action>
    void for_each(Action action) {
        const std::lock_guard lock(mutex);
        for (probe* p = first; p; p = p->next_)
            action(*p);
    }
};

probe::probe(const char* name, const char* file, unsigned line) noexcept
    : name_(name), file_(file), line_(line) {
    probe_list& list = probe_list::instance();
    const std::lock_guard lock(list.mutex);
    next_ = list.first;
    list.first = this;
}

probe::~probe() {
    probe_list& list = probe_list::instance();
    const std::lock_guard lock(list.mutex);
    for (probe** link = &list.first; *link; link = &(*link)->next_) {
        if (*link != this) continue;
        *link = next_;
        return;
    }
}

std::vector<probe::state> probe::all() {
    std::vector<state> states;
    probe_list::instance().for_each([&](const probe& p) {
        states.push_back({p.name_, p.file_, p.line_, p.hits_.load(std::memory_order_relaxed)});
    });
    // The linker chooses the order in which translation units are initialized.
    const auto key = [](const state& s) {
        return std::tuple(std::string_view(s.name), std::string_view(s.file), s.line);
    };
    std::sort(states.begin(), states.end(),
              [&](const state& a, const state& b) { return key(a) < key(b); });
    return states;
}

std::uint64_t probe::hits(std::string_view name) {
    std::uint64_t sum = 0;
    probe_list::instance().for_each([&](const probe& p) {
        if (p.name_ == name) sum += p.hits_.load(std::memory_order_relaxed);
    });
    return sum;
}

std::vector<std::string_view> probe::never_hit(std::span<const std::string_view> required) {
    std::vector<std::string_view> missing;
    for (const std::string_view name : required)
        if (hits(name) == 0) missing.push_back(name);
    return missing;
}

void probe::reset() {
    probe_list::instance().for_each([](probe& p) { p.hits_.store(0, std::memory_order_relaxed); });
}

} // namespace irpverbs::dispatch
