#include "programmed_state.hpp"

namespace irpverbs::subnet_manager {

void programmed_state::invalidate(ib_guid_t whose) {
    blocks_.erase(blocks_.lower_bound({whose, 0, 0}),
                  blocks_.upper_bound({whose, 0xffff, 0xffffffff}));
    known_ports.erase(whose);
}

void programmed_state::invalidate_except(std::span<const ib_guid_t> present) {
    const auto gone = [&](ib_guid_t guid) { return !std::ranges::binary_search(present, guid); };
    std::erase_if(blocks_, [&](const auto& each) { return gone(std::get<0>(each.first)); });
    std::erase_if(known_ports, gone);
}

} // namespace irpverbs::subnet_manager
