// Memory regions and windows of one end of a connection, and an oracle of their bounds.
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
    std::size_t page = 0; // bytes; the pages lie in reverse order. 0: the memory is one piece
    std::vector<UCHAR> bytes;

    /// The place of a byte, counted from `base`.
    std::size_t place_of(std::size_t offset) const {
        return page == 0 ? offset : bytes.size() - (offset / page + 1) * page + offset % page;
    }
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

    /// A region whose memory is pages; `size` is a multiple of theirs.
    region& add_paged(std::size_t size, std::size_t page, ib_access_t access = all_rights) {
        region& made = add(size, access);
        made.page = page;
        return made;
    }

    /// A window that is not bound.
    IB_MW add_window() {
        windows_.push_back({++last_key_ << 8, nullptr, 0, 0, 0});
        return {IB_MWT_TYPE_2, windows_.back().key};
    }
    static IB_MR handle_of(const region& of) { return {of.key, of.key}; }

    UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) override {
        if (const window* bound = window_of(key))
            return bound->key == key ? find(*bound, address, size, rights) : nullptr;
        const region* at = of_key(key);
        if (at == nullptr || at->page != 0) return nullptr;
        return find(*at, address, size, rights);
    }
    UCHAR* find_piece(ULONG key, ULONGLONG address, ULONGLONG& size, ib_access_t rights) override {
        const region* at = of_key(key);
        if (at == nullptr || at->page == 0) return find(key, address, size, rights);
        UCHAR* found = find(*at, address, size, rights);
        size = std::min<ULONGLONG>(size, at->page - (address - at->base) % at->page);
        return found;
    }
    bool copy(UCHAR* to, const UCHAR* from, std::size_t size) override {
        const region* at = of_memory(to, size);
        if (at == nullptr) ++outside;
        if (at == nullptr || !at->mapped) return false;
        std::memcpy(to, from, size);
        if (on_copy) on_copy();
        return true;
    }
    // Every other time late: the bytes are there with the completion.
    bool deliver(ULONG, UCHAR* to, const UCHAR* from, std::size_t size) override {
        is_late_ = !is_late_;
        if (!is_late_) return copy(to, from, size);
        const region* at = of_memory(to, size);
        if (at == nullptr) ++outside;
        if (at == nullptr || !at->mapped) return false;
        delivered_.push_back({to, {from, from + size}});
        if (on_copy) on_copy();
        return true;
    }
    void show_delivered() {
        for (const auto& [to, bytes] : delivered_)
            std::ranges::copy(bytes, to);
        delivered_.clear();
    }
    bool fetch(UCHAR* to, const UCHAR* from, std::size_t size) override {
        std::memcpy(to, from, size);
        return true;
    }
    bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) override {
        return atomic(at, before, [&] { return before == compare ? swap : before; });
    }
    bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) override {
        return atomic(at, before, [&] { return before + add; });
    }
    bool write_word(UCHAR* at, ULONGLONG value) override {
        ULONGLONG before = 0;
        return atomic(at, before, [&] { return value; });
    }
    transport::window_binding binding_of(const ib_send_bind_mw_t& what) override {
        return {what.h_mw->RKey, what.rkey,   what.h_mr->LKey,
                what.vaddr,      what.length, what.access_flags};
    }
    bool bind(const transport::window_binding& what) override {
        window* bound = window_of(what.window);
        region* to = of_key(what.lkey);
        if (bound == nullptr || bound->to != nullptr || to == nullptr) return false;
        *bound = {what.rkey, to, what.address, what.length, what.access};
        return true;
    }
    bool register_pages(const transport::page_registration& what) override {
        registered.push_back(what);
        return registers;
    }
    bool invalidate(ULONG key) override {
        if (window* bound = window_of(key)) {
            const bool valid = bound->key == key && bound->to != nullptr;
            bound->to = nullptr;
            return valid;
        }
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
    std::vector<transport::page_registration> registered;
    bool registers = true; // the result of register_pages

    bool is_gone() const override { return gone; }

    bool gone = false; // its process was killed

private:
    struct window {
        ULONG key;
        region* to; // null: it is not bound
        ULONGLONG base;
        ULONGLONG length;
        ib_access_t access;
    };

    window* window_of(ULONG key) {
        const auto at = std::ranges::find_if(
            windows_, [&](const window& each) { return each.key >> 8 == key >> 8; });
        return at == windows_.end() ? nullptr : &*at;
    }
    static UCHAR* find(const window& in, ULONGLONG address, ULONGLONG size, ib_access_t rights) {
        const ULONGLONG offset = address - in.base;
        const bool valid = in.to != nullptr && (in.access & rights) == rights && rights != 0 &&
                           offset <= in.length && size <= in.length - offset;
        return valid ? in.to->bytes.data() + (address - in.to->base) : nullptr;
    }
    static UCHAR* find(const region& in, ULONGLONG address, ULONGLONG size, ib_access_t rights) {
        const ULONGLONG offset = address - in.base;
        const bool valid = (in.access & rights) == rights && offset <= in.bytes.size() &&
                           size <= in.bytes.size() - offset;
        return valid ? const_cast<UCHAR*>(in.bytes.data()) + in.place_of(offset) : nullptr;
    }
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

    struct late_bytes {
        UCHAR* to;
        std::vector<UCHAR> bytes;
    };

    std::deque<region> regions_;
    std::deque<window> windows_;
    std::vector<late_bytes> delivered_;
    bool is_late_ = false;
    ULONG last_key_ = 0;
};

} // namespace irpverbs::testing
