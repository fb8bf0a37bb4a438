#include "early_packets.hpp"

#include <algorithm>
#include <new>

namespace irpverbs::hca_software::transport {

namespace {

constexpr ULONG most_ahead = 256; // packets

} // namespace

bool early_packet_room::take() {
    ULONG left = left_.load(std::memory_order_relaxed);
    while (left != 0)
        if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
    return false;
}

void early_packets::giver::operator()(kept* ended) const {
    delete ended;
    to_->give();
}

early_packets::kept_ptr early_packets::copy_of(const packet& what) {
    if (!room_->take()) return nullptr;
    kept_ptr made(new (std::nothrow) kept, giver(room_));
    if (made == nullptr) {
        room_->give();
        return nullptr;
    }
    const ULONG size = what.content.size();
    made->bytes.reset(new (std::nothrow) UCHAR[size]);
    if (made->bytes == nullptr) return nullptr;
    UCHAR* end = made->bytes.get();
    for (const const_bytes& piece : what.content.pieces())
        end = std::ranges::copy(piece, end).out;
    made->content = what;
    made->content.content = payload({made->bytes.get(), size});
    made->content.ack_request = true;
    return made;
}

// Most are behind all others.
bool early_packets::keep(const packet& what, psn next) {
    if (!is_enabled() || what.number.since(next) > most_ahead) return false;
    auto behind = list_.end();
    while (behind != list_.begin() && !std::prev(behind)->content.number.is_before(what.number))
        --behind;
    if (behind != list_.end() && behind->content.number == what.number) return true;
    kept_ptr made = copy_of(what);
    if (made == nullptr) return false;
    list_.insert(behind, *made.release());
    return true;
}

early_packets::kept_ptr early_packets::take_first() {
    kept_ptr taken(&list_.front(), giver(room_));
    list_.pop_front();
    return taken;
}

early_packets::kept_ptr early_packets::take(psn next) {
    while (!is_empty() && first().number.is_before(next))
        take_first();
    return !is_empty() && first().number == next ? take_first() : nullptr;
}

void early_packets::clear() {
    while (!is_empty())
        take_first();
}

} // namespace irpverbs::hca_software::transport
