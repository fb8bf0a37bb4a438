#include "srq_object.hpp"

#include "cq_object.hpp"
#include "xrcd_object.hpp"

namespace irpverbs::ci {

namespace {

used_objects used_of(const ib_srq_create_t& create) {
    return {{cq_object::find(create.h_cq), xrcd_object::find(create.h_xrcd), nullptr}};
}

} // namespace

used_objects srq_object::used_by(const create_parameters& wanted) {
    return used_of(*static_cast<const ib_srq_create_t*>(wanted.attributes));
}

used_objects srq_object::used() const { return used_of(shared.Create); }

void srq_object::set_up(const create_parameters& wanted, event_channel* channels) {
    const auto& create = *static_cast<const ib_srq_create_t*>(wanted.attributes);
    shared.Create = create;
    shared.Srq = {create.max_wr, create.max_sge, 0, 0};
    channels[async_channel].has_up_call = create.dispatch.AsyncEvent != nullptr;
    device().add(post);
}

void srq_object::tear_down() { device().remove(post); }

void srq_object::call_up(unsigned, IB_ASYNC_EVENT event) {
    shared.Create.dispatch.AsyncEvent(shared.Create.srq_context, event);
}

} // namespace irpverbs::ci
