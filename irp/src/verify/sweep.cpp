// The call sites that a sweep of forced pending has reached.
#include "force_pending.hpp"
#include "options.hpp"

#include <irp/verifier.hpp>

#include <map>
#include <mutex>
#include <optional>

namespace irpverbs::irp {
namespace verify {
namespace {

struct sweep_state {
    core::raw_spin_lock lock;
    std::map<call_site, bool> pended; // guarded by lock, like all below
    std::optional<call_site> forced_site;
};

sweep_state& state() {
    static sweep_state only;
    return only;
}

} // namespace

bool sweep_forces(const call_site& where) {
    sweep_state& now = state();
    const std::lock_guard guard(now.lock);
    now.pended.try_emplace(where, false);
    return now.forced_site == where;
}

} // namespace verify

namespace detail {

using verify::state;

force_pending_runs::force_pending_runs() {
    {
        const std::lock_guard guard(state().lock);
        state().pended.clear();
        state().forced_site.reset();
    }
    verify::begin_sweep();
}

force_pending_runs::~force_pending_runs() { verify::end_sweep(); }

bool force_pending_runs::next() {
    const std::lock_guard guard(state().lock);
    if (state().forced_site) state().pended[*state().forced_site] = true;
    state().forced_site.reset();
    for (const auto& [site, pended] : state().pended)
        if (!pended) state().forced_site = site;
    if (!state().forced_site) return false;
    ++runs_;
    return true;
}

force_pending_summary force_pending_runs::summary() const {
    const std::lock_guard guard(state().lock);
    return {runs_, state().pended.size()};
}

} // namespace detail
} // namespace irpverbs::irp
