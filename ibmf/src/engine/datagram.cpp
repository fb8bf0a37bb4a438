#include <engine/datagram.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace irpverbs::ibmf {

bool datagram::carry(mad_bytes what) {
    whole.bytes.reset(new (std::nothrow) std::uint8_t[what.size()]);
    if (whole.bytes == nullptr) return false;
    whole.size = what.size();
    std::ranges::copy(what, whole.bytes.get());
    return true;
}

datagram_pool::~datagram_pool() {
    while (free_ != nullptr) {
        const std::unique_ptr<datagram> last(std::exchange(free_, free_->next_free));
        IoFreeIrp(last->irp);
    }
}

datagram* datagram_pool::allocate(port_context& whose) {
    if (free_ != nullptr) return std::exchange(free_, free_->next_free);
    if (count_ == max_datagrams) return nullptr;
    std::unique_ptr<datagram> fresh(new (std::nothrow) datagram);
    if (fresh == nullptr || (fresh->irp = IoAllocateIrp(1, FALSE)) == nullptr) return nullptr;
    fresh->at = &whose;
    ++count_;
    return fresh.release();
}

void datagram_pool::free(datagram& done) {
    done.whole.bytes.reset();
    done.next_free = std::exchange(free_, &done);
}

} // namespace irpverbs::ibmf
