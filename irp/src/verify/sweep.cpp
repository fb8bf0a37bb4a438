#include "sweep.hpp"

#include "options.hpp"

#include <irp/verifier.hpp>

#include <map>
#include <mutex>
#include <optional>

namespace irpverbs::irp {
namespace verify {
namespace {

struct sweep_state {
    core::raw_spin lock;
    std::map<call_site, bool> pended; // guarded by lock, like all below
    std::optional<call_site> turn;
};

sweep_state& state() {
    static sweep_state only;
    return only;
}

} // namespace

bool sweep_wants(const call_site& where) {
    sweep_state& now = state();
    const std::lock_guard guard(now.lock);
    now.pended.try_emplace(where, false);
    return now.turn == where;
}

} // namespace verify

namespace detail {

using verify::state;

force_pending_turns::force_pending_turns() {
    {
        const std::lock_guard guard(state().lock);
        state().pended.clear();
        state().turn.reset();
    }
    verify::begin_sweep();
}

force_pending_turns::~force_pending_turns() { verify::end_sweep(); }

bool force_pending_turns::next() {
    const std::lock_guard guard(state().lock);
    if (state().turn) state().pended[*state().turn] = true;
    state().turn.reset();
    for (const auto& [site, pended] : state().pended)
        if (!pended) state().turn = site;
    if (!state().turn) return false;
    ++runs_;
    return true;
}

force_pending_summary force_pending_turns::summary() const {
    const std::lock_guard guard(state().lock);
    return {runs_, state().pended.size()};
}

} // namespace detail
} // namespace irpverbs::irp
