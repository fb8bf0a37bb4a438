#include "read_resources.hpp"

#include <algorithm>
#include <new>

namespace irpverbs::hca_software::transport {

bool read_resources::allocate(ULONG most) {
    ring_.reset(new (std::nothrow) read_resource[most]);
    most_ = most;
    return ring_ != nullptr;
}

void read_resources::resize(ULONG used) {
    size_ = std::min(used, most_);
    clear();
}

void read_resources::clear() {
    std::fill_n(ring_.get(), size_, read_resource{});
    newest_ = 0;
}

read_resource* read_resources::next_free() {
    if (size_ == 0) return nullptr;
    read_resource& oldest = ring_[newest_];
    return oldest.what == operation::reserved || oldest.completed ? &oldest : nullptr;
}

read_resource* read_resources::find(psn number) {
    read_resource* end = ring_.get() + size_;
    read_resource* found =
        std::find_if(ring_.get(), end, [=](const auto& each) { return each.contains(number); });
    return found != end ? found : nullptr;
}

read_resource* read_resources::oldest_pending() {
    for (ULONG i = 0; i < size_; ++i) {
        read_resource& each = ring_[(newest_ + i) % size_];
        if (each.pending) return &each;
    }
    return nullptr;
}

} // namespace irpverbs::hca_software::transport
