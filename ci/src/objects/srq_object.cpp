#include "srq_object.hpp"

namespace irpverbs::ci {

void srq_object::set_up(const create_parameters& wanted, event_channel* channels) {
    const auto& create = *static_cast<const ib_srq_create_t*>(wanted.attributes);
    shared.Create = create;
    shared.Srq = {create.max_wr, create.max_sge};
    channels[async_channel].has_up_call = create.dispatch.AsyncEvent != nullptr;
    device().add(post);
}

void srq_object::tear_down() { device().remove(post); }

void srq_object::call_up(unsigned, IB_ASYNC_EVENT event) {
    shared.Create.dispatch.AsyncEvent(shared.Create.srq_context, event);
}

} // namespace irpverbs::ci
