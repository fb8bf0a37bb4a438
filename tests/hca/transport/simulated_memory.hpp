// Memory regions of one end of a connection, and an oracle of their bounds.
#pragma once

#include <transport/hooks.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

namespace irpverbs::testing {

namespace transport = hca_software::transport;

struct region {
    ULONG key = 0;
    ULONGLONG base = 0; // the address of its first byte in work requests
    ib_access_t access = 0;
    bool mapped = true;
    std::vector<UCHAR> bytes;

    bool holds(const UCHAR* at, std::size_t size) const {
        return at >= bytes.data() && at + size <= bytes.data() + bytes.size();
    }
};

inline constexpr ib_access_t all_rights = IB_AC_REMOTE | IB_AC_LOCAL_WRITE;

class simulated_memory final : public transport::memory_access {
public:
    region& add(std::size_t size, ib_access_t access = all_rights) {
        region& made = regions_.emplace_back();
        made.key = ++last_key_ << 8 | 0x5A;
        made.base = 0x10000000ull * last_key_;
        made.access = access;
        made.bytes.resize(size);
        return made;
    }

    UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) override {
        region* at = of_key(key);
        if (at == nullptr || (at->access & rights) != rights) return nullptr;
        const ULONGLONG offset = address - at->base;
        if (offset > at->bytes.size() || size > at->bytes.size() - offset) return nullptr;
        return at->bytes.data() + offset;
    }
    bool copy(UCHAR* to, const UCHAR* from, std::size_t size) override {
        const region* at = of_memory(to, size);
        if (at == nullptr) ++outside;
        if (at == nullptr || !at->mapped) return false;
        std::memcpy(to, from, size);
        if (on_copy) on_copy();
        return true;
    }
    bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) override {
        return atomic(at, before, [&] { return before == compare ? swap : before; });
    }
    bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) override {
        return atomic(at, before, [&] { return before + add; });
    }
    bool invalidate(ULONG key) override {
        region* at = of_key(key);
        if (at != nullptr) at->key = 0;
        return at != nullptr;
    }
    /// True if the bytes lie in a region that its peer may read.
    bool is_readable_by_peer(const UCHAR* at, std::size_t size) {
        const region* found = of_memory(at, size);
        return found != nullptr && (found->access & IB_AC_RDMA_READ) != 0;
    }

    std::function<void()> on_copy; // called after each
    unsigned outside = 0;          // copies that do not lie in a region

private:
    region* of_key(ULONG key) {
        const auto at = std::ranges::find(regions_, key, &region::key);
        return key == 0 || at == regions_.end() ? nullptr : &*at;
    }
    const region* of_memory(const UCHAR* at, std::size_t size) const {
        const auto found =
            std::ranges::find_if(regions_, [&](const region& r) { return r.holds(at, size); });
        return found == regions_.end() ? nullptr : &*found;
    }
    template <class Compute>
    bool atomic(UCHAR* at, ULONGLONG& before, const Compute& compute) {
        const region* in = of_memory(at, sizeof(before));
        if (in == nullptr) ++outside;
        if (in == nullptr || !in->mapped) return false;
        std::memcpy(&before, at, sizeof(before));
        const ULONGLONG after = compute();
        std::memcpy(at, &after, sizeof(after));
        return true;
    }

    std::deque<region> regions_;
    ULONG last_key_ = 0;
};

} // namespace irpverbs::testing
