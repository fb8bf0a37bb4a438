// The memory of a queue pair: the regions of its protection domain, and the windows.
#pragma once

#include "key_table.hpp"

#include "transport/hooks.hpp"

#include <cstring>

namespace irpverbs::hca_software {

/// Guarded by memory_accesses. All memory is mapped: it is this process's.
class registered_memory final : public transport::memory_access {
public:
    /// `queue_pair` is a number that no other queue pair ever has.
    registered_memory(key_table& keys, const HCA_PD* pd, std::uint64_t queue_pair)
        : keys_(keys), pd_(pd), queue_pair_(queue_pair) {}

    UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) override {
        void* at = nullptr;
        if (keys_.find(key, region_owner(pd_), address, size, rights, at)) [[likely]]
            return static_cast<UCHAR*>(at);
        return find_window(key, address, size, rights);
    }
    bool copy(UCHAR* to, const UCHAR* from, std::size_t size) override {
        std::memmove(to, from, size);
        return true;
    }
    bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) override {
        before = compare;
        __atomic_compare_exchange_n(number_at(at), &before, swap, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return true;
    }
    bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) override {
        before = __atomic_fetch_add(number_at(at), add, __ATOMIC_SEQ_CST);
        return true;
    }
    transport::window_binding binding_of(const ib_send_bind_mw_t& what) override;
    bool bind(const transport::window_binding& what) override {
        return keys_.bind(what, pd_, queue_pair_);
    }
    bool invalidate(ULONG key) override { return keys_.invalidate(key, pd_, queue_pair_); }

private:
    UCHAR* find_window(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) const;
    static ULONGLONG* number_at(UCHAR* at) { return reinterpret_cast<ULONGLONG*>(at); }

    key_table& keys_;
    const HCA_PD* pd_;
    std::uint64_t queue_pair_;
};

} // namespace irpverbs::hca_software
