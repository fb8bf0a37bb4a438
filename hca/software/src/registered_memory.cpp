#include "registered_memory.hpp"

#include "memory_verbs.hpp"
#include "memory_windows.hpp"

#include <ci/support/requestor.hpp>

namespace irpverbs::hca_software {

// Windows give access to the peer only: their keys are no L_Keys.
UCHAR* registered_memory::find_window(ULONG key, ULONGLONG address, ULONGLONG size,
                                      ib_access_t rights) const {
    if ((rights & IB_AC_REMOTE) == 0) return nullptr;
    void* at = nullptr;
    const bool found = keys_.find(key, window_owner(queue_pair_), address, size, rights, at) ||
                       keys_.find(key, window_owner(pd_), address, size, rights, at);
    return found ? static_cast<UCHAR*>(at) : nullptr;
}

bool registered_memory::register_pages(const transport::page_registration& what) {
    return keys_.register_pages(what, pd_, ci::client_memory(pd_->Ca));
}

bool registered_memory::is_gone() const {
    if (pd_ == nullptr) return false; // of an XRC target, whose memory is that of receive queues
    const ci::address_space* const client = ci::client_memory(pd_->Ca);
    return client != nullptr && client->has_ended();
}

// A key of 0 is none: the binding fails. Objects of other domains may be those of another HCA.
transport::window_binding registered_memory::binding_of(const ib_send_bind_mw_t& what) {
    const auto& window = *reinterpret_cast<const HCA_MW*>(what.h_mw);
    const auto& region = *reinterpret_cast<const HCA_MR*>(what.h_mr);
    return {window.Pd == pd_ ? keys_.key_of(memory_window::of(&window).holder) : 0,
            what.rkey,
            region.Pd == pd_ ? keys_.key_of(holder_of(&region)) : 0,
            what.vaddr,
            what.length,
            what.access_flags};
}

} // namespace irpverbs::hca_software
