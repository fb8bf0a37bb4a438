// The memory of a queue pair: the regions of its protection domain, and the windows.
#pragma once

#include "key_table.hpp"

#include "transport/hooks.hpp"

#include <ci/support/address_space.hpp>

#include <cstring>

namespace irpverbs::hca_software {

/// Guarded by memory_accesses. Memory of this process is mapped, unless its places are in an
/// address space, too; a foreign place may not be.
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
    UCHAR* find_piece(ULONG key, ULONGLONG address, ULONGLONG& size, ib_access_t rights) override {
        if (UCHAR* whole = find(key, address, size, rights)) [[likely]]
            return whole;
        return keys_.find_page(key, paged_owner(pd_), address, size, rights);
    }
    bool copy(UCHAR* to, const UCHAR* from, std::size_t size) override {
        if (is_any_foreign(to, from)) [[unlikely]]
            return ci::address_space::copy(to, from, size);
        copy_here(to, from, size);
        return true;
    }
    bool deliver(ULONG key, UCHAR* to, const UCHAR* from, std::size_t size) override {
        if (is_any_foreign(to, from)) [[unlikely]]
            return ci::address_space::deliver(key, to, from, size);
        copy_here(to, from, size);
        return true;
    }
    bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) override {
        if (is_foreign(at)) return ci::address_space::compare_swap(at, compare, swap, before);
        before = compare;
        __atomic_compare_exchange_n(number_at(at), &before, swap, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return true;
    }
    bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) override {
        if (is_foreign(at)) return ci::address_space::fetch_add(at, add, before);
        before = __atomic_fetch_add(number_at(at), add, __ATOMIC_SEQ_CST);
        return true;
    }
    bool write_word(UCHAR* at, ULONGLONG value) override {
        if (is_foreign(at)) return ci::address_space::write_word(at, value);
        __atomic_store_n(number_at(at), value, __ATOMIC_SEQ_CST);
        return true;
    }
    bool is_gone() const override;
    transport::window_binding binding_of(const ib_send_bind_mw_t& what) override;
    bool bind(const transport::window_binding& what) override {
        return keys_.bind(what, pd_, queue_pair_);
    }
    bool register_pages(const transport::page_registration& what) override;
    bool invalidate(ULONG key) override { return keys_.invalidate(key, pd_, queue_pair_); }

private:
    UCHAR* find_window(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) const;
    static void copy_here(UCHAR* to, const UCHAR* from, std::size_t size) {
        if (size - 8 <= 8)
            copy_words(to, from, size);
        else
            std::memmove(to, from, size);
    }
    // 8 to 16 bytes, as two words that may overlap: small messages are spared a call.
    static void copy_words(UCHAR* to, const UCHAR* from, std::size_t size) {
        ULONGLONG first = 0;
        ULONGLONG last = 0;
        std::memcpy(&first, from, 8);
        std::memcpy(&last, from + size - 8, 8);
        std::memcpy(to, &first, 8);
        std::memcpy(to + size - 8, &last, 8);
    }
    static bool is_foreign(const UCHAR* place) { return ci::address_space::is_foreign(place); }
    // One test of the bits of both.
    static bool is_any_foreign(const UCHAR* one, const UCHAR* other) {
        return is_foreign(reinterpret_cast<const UCHAR*>(reinterpret_cast<std::uintptr_t>(one) |
                                                         reinterpret_cast<std::uintptr_t>(other)));
    }
    static ULONGLONG* number_at(UCHAR* at) { return reinterpret_cast<ULONGLONG*>(at); }

    key_table& keys_;
    const HCA_PD* pd_;
    std::uint64_t queue_pair_;
};

} // namespace irpverbs::hca_software
