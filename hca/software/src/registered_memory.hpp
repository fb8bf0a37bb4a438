// The memory of a queue pair: the regions of its protection domain.
#pragma once

#include "key_table.hpp"

#include "transport/hooks.hpp"

#include <cstring>

namespace irpverbs::hca_software {

/// Guarded by memory_accesses. All memory is mapped: it is this process's.
class registered_memory final : public transport::memory_access {
public:
    registered_memory(const key_table& keys, const HCA_PD* pd) : keys_(keys), pd_(pd) {}

    UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) override {
        return static_cast<UCHAR*>(keys_.find(key, pd_, address, size, rights));
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
    /// Only windows and fast registrations can be made invalid, and there are none.
    bool invalidate(ULONG) override { return false; }

private:
    static ULONGLONG* number_at(UCHAR* at) { return reinterpret_cast<ULONGLONG*>(at); }

    const key_table& keys_;
    const HCA_PD* pd_;
};

} // namespace irpverbs::hca_software
