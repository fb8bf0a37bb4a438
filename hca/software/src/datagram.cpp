#include "datagram.hpp"

#include <new>
#include <utility>

namespace irpverbs::hca_software {

packet* packet_pool::allocate() {
    if (free_ == nullptr) {
        if (slabs_.size() == slabs_.capacity()) return nullptr;
        std::unique_ptr<packet[]> fresh(new (std::nothrow) packet[slab]);
        if (fresh == nullptr) return nullptr;
        slabs_.push_back(std::move(fresh));
        for (std::size_t i = 0; i < slab; ++i)
            free(&slabs_.back()[i]);
    }
    packet* taken = std::exchange(free_, free_->next);
    taken->global = false;
    taken->transport_headers = 0;
    taken->at = nullptr;
    taken->for_agent = 0;
    return taken;
}

packet* packet_pool::copy(const packet& of) {
    packet* made = allocate();
    if (made != nullptr) *made = of;
    return made;
}

void packet_pool::free(packet* back) {
    back->payload.reset();
    back->next = std::exchange(free_, back);
}

} // namespace irpverbs::hca_software
