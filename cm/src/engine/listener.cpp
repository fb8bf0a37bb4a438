#include "listener.hpp"

#include "client.hpp"
#include "port.hpp"

#include <algorithm>

namespace irpverbs::cm::engine {

listener::listener(client& its_owner, const ib_cm_listen_t& wanted)
    : owner(its_owner), service_id(wanted.svc_id),
      kind((wanted.flags & IB_CM_LISTEN_DATAGRAMS) != 0 ? service_kind::datagrams
                                                        : service_kind::connections),
      backlog_(wanted.backlog != 0 ? wanted.backlog : default_backlog),
      compare_offset_(wanted.compare_offset), compare_length_(wanted.compare_length) {
    std::copy_n(wanted.p_compare, wanted.compare_length, compare_.begin());
}

bool listener::matches(std::span<const std::uint8_t> private_data) const {
    return std::equal(compare_.begin(), compare_.begin() + compare_length_,
                      private_data.begin() + compare_offset_);
}

bool listener::collides_with(const listener& other) const {
    return service_id == other.service_id &&
           (compare_offset_ != other.compare_offset_ || compare_length_ != other.compare_length_ ||
            compare_ == other.compare_);
}

void listener::offer(offered& request, effects& fx) {
    intrusive_ptr_add_ref(&request);
    requests_.push_back(request);
    request.waits_in = this;
    match(fx);
}

void listener::match(effects& fx) {
    while (!requests_.empty()) {
        IRP* const irp = waits.take();
        if (irp == nullptr) return;
        offered& next = next_request();
        unlink_request(next);
        last_served_ = next.source();
        const ULONG_PTR object = next.give_to(owner, irp->Tail.Overlay.DriverContext[3]);
        fx.complete(irp, STATUS_SUCCESS, object);
        fx.release(next);
    }
}

NTSTATUS listener::get_request(IRP* irp, void* into, effects& fx) {
    irp->Tail.Overlay.DriverContext[3] = into;
    if (!waits.park(irp, *owner.at, verb::wait)) return STATUS_CANCELLED;
    match(fx);
    return STATUS_PENDING;
}

// No port has two turns in a row while others wait.
offered& listener::next_request() {
    const auto other = std::ranges::find_if(
        requests_, [&](const offered& each) { return each.source() != last_served_; });
    return other != requests_.end() ? *other : requests_.front();
}

std::size_t listener::waiting_of(const peer_port& source) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        requests_, [&](const offered& each) { return each.source() == source; }));
}

bool listener::make_room_for(const peer_port& source, effects& fx) {
    if (requests_.size() < backlog_) return true;
    const auto newest = std::find_if(requests_.rbegin(), requests_.rend(),
                                     [&](const offered& each) { return each.source() != source; });
    if (newest == requests_.rend() || waiting_of(newest->source()) <= waiting_of(source) + 1)
        return false;
    offered& crowded_out = *newest;
    unlink_request(crowded_out);
    crowded_out.reject_unserved(unserved::crowded_out, fx);
    fx.release(crowded_out);
    return true;
}

void listener::unlink_request(offered& request) {
    requests_.erase(requests_.iterator_to(request));
    request.waits_in = nullptr;
}

offered* listener::remove_oldest() {
    if (requests_.empty()) return nullptr;
    offered& oldest = requests_.front();
    unlink_request(oldest);
    return &oldest;
}

// The port still references the request.
void listener::withdraw(offered& request) {
    unlink_request(request);
    intrusive_ptr_release(&request);
}

} // namespace irpverbs::cm::engine
