#include "datagram.hpp"

#include <new>
#include <utility>

namespace irpverbs::hca_software {

packet* packet_stock::take() {
    if (free_ == nullptr) {
        if (slabs_.size() == slabs_.capacity()) return nullptr;
        std::unique_ptr<packet[]> fresh(new (std::nothrow) packet[slab]);
        if (fresh == nullptr) return nullptr;
        slabs_.push_back(std::move(fresh));
        for (std::size_t i = 0; i < slab; ++i)
            give(&slabs_.back()[i]);
    }
    packet* taken = std::exchange(free_, free_->next);
    taken->global = false;
    taken->at = nullptr;
    return taken;
}

packet* packet_stock::copy(const packet& of) {
    packet* made = take();
    if (made != nullptr) *made = of;
    return made;
}

void packet_stock::give(packet* back) {
    back->longer.reset();
    back->next = std::exchange(free_, back);
}

} // namespace irpverbs::hca_software
