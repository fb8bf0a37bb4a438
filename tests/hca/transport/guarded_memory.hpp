// The software HCA's keys and memory, watched by an oracle of their own: each look-up is compared
// with a plain list of what is registered, each access with the look-ups of the same packet, and
// all bytes, also those between the regions, with a copy that only permitted writes change.
#pragma once

#include "simulated_memory.hpp"

#include <registered_memory.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <vector>

namespace irpverbs::testing {

using hca_software::key_holder;
using hca_software::key_kind;
using hca_software::key_table;
using hca_software::page_address;

/// Memory between two pages that are not accessible.
class guarded_arena {
public:
    static constexpr std::size_t page = std::size_t{1} << hca_software::page_bits;

    explicit guarded_arena(std::size_t pages) : size_(pages * page) {
        void* const made = mmap(nullptr, size_ + 2 * page, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) throw std::bad_alloc();
        all_ = static_cast<UCHAR*>(made);
        if (mprotect(data(), size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    }
    ~guarded_arena() { munmap(all_, size_ + 2 * page); }
    guarded_arena(const guarded_arena&) = delete;
    guarded_arena& operator=(const guarded_arena&) = delete;

    UCHAR* data() const { return all_ + page; }
    std::size_t size() const { return size_; }
    bool holds(const UCHAR* at) const { return at >= data() && at < data() + size_; }

private:
    UCHAR* all_ = nullptr;
    std::size_t size_;
};

class guarded_memory final : public transport::memory_access {
public:
    guarded_memory() {
        std::memset(arena_.data(), canary, arena_.size());
        expected_.assign(arena_.data(), arena_.data() + arena_.size());
    }

    // ---- what is registered

    /// A region in one piece, between canaries.
    region& add(std::size_t size, ib_access_t access) { return add(take(size), size, access); }
    /// A region that shares the memory of another one.
    region& add_shared(const region& other, ib_access_t access) {
        const entry& from = *find_entry(other.key);
        return add(from.pieces[0], from.size, access);
    }
    /// A region of a domain that the queue pair does not use.
    region& add_foreign(std::size_t size, ib_access_t access) {
        region& made = shown_.emplace_back();
        UCHAR* const at = take(size);
        made.base = foreign_base;
        made.access = access;
        made.key = keys_.insert({&other_pd_, made.base, size, at, access});
        return made;
    }
    /// A region of two pages, the second one first.
    region& add_pages(ib_access_t access) {
        constexpr std::size_t page = guarded_arena::page;
        auto& list = lists_.emplace_back();
        UCHAR* const at = arena_.data() + arena_.size() - 2 * page * ++paged_;
        list[0] = reinterpret_cast<std::uintptr_t>(at + page);
        list[1] = reinterpret_cast<std::uintptr_t>(at);
        entry made{0, next_base(), 2 * page, access, {at + page, at}, true, true, false};
        made.key = keys_.insert_physical({&pd_, made.base, made.size, nullptr, access}, list.data(),
                                         holders_.emplace_back());
        return show(made);
    }
    /// A window of type 2, which the queue pair binds to a part of a region.
    region& add_window(const region& to, ULONGLONG offset, ULONGLONG size, ib_access_t access) {
        key_holder& holder = holders_.emplace_back();
        entry made{keys_.insert_window(key_kind::window_2, &pd_, holder),
                   to.base + offset,
                   size,
                   access,
                   {find_entry(to.key)->pieces[0] + offset, nullptr},
                   false,
                   false,
                   true};
        region& shown = show(made);
        bound_to_ = &to;
        bind_again(shown);
        return shown;
    }
    /// Binds the window, if it is not bound, with a new key.
    void bind_again(region& window) {
        entry* of = find_entry(window.key);
        if (of->valid) return;
        const ULONG key = (of->key & ~0xFFu) | ((of->key + 1) & 0xFF);
        ASSERT_TRUE(memory_.bind({of->key, key, bound_to_->key, of->base, of->size, of->rights}));
        of->key = window.key = key;
        of->valid = true;
    }
    void remove(const region& of) {
        keys_.remove(of.key);
        find_entry(of.key)->valid = false;
    }

    // ---- the oracle

    /// The rights that the queue pair grants its peer.
    void grant(ib_access_t rights) { granted_ = rights; }

    /// Begins a packet, or a call: no range has been looked up.
    void begin() { found_.clear(); }
    /// Compares all bytes with what they should be. The first difference is the offset, or -1.
    std::ptrdiff_t difference() const {
        if (std::memcmp(arena_.data(), expected_.data(), arena_.size()) == 0) return -1;
        return std::mismatch(expected_.begin(), expected_.end(), arena_.data()).first -
               expected_.begin();
    }
    /// True for memory of the arena that was not looked up with these rights.
    bool leaks(const UCHAR* at, std::size_t size, ib_access_t rights) const {
        return arena_.holds(at) && !is_found(at, size, rights);
    }
    unsigned wrong = 0; // look-ups and accesses

    // ---- memory_access

    UCHAR* find(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) override {
        UCHAR* const at = memory_.find(key, address, size, rights);
        const entry* const of = permitted(key, address, size, rights);
        const bool whole = of != nullptr && !of->paged;
        check(at == (whole ? of->pieces[0] + (address - of->base) : nullptr), rights);
        return remember(at, size, rights);
    }
    UCHAR* find_piece(ULONG key, ULONGLONG address, ULONGLONG& size, ib_access_t rights) override {
        const entry* const of = permitted(key, address, size, rights);
        const ULONGLONG wanted = size;
        UCHAR* const at = memory_.find_piece(key, address, size, rights);
        UCHAR* right = nullptr;
        ULONGLONG right_size = wanted;
        if (of != nullptr) {
            const ULONGLONG offset = address - of->base;
            const ULONGLONG in_page = offset % guarded_arena::page;
            right = of->paged ? of->pieces[offset / guarded_arena::page] + in_page
                              : of->pieces[0] + offset;
            if (of->paged) right_size = std::min(wanted, guarded_arena::page - in_page);
        }
        check(at == right && (at == nullptr || size == right_size), rights);
        return remember(at, size, rights);
    }
    bool copy(UCHAR* to, const UCHAR* from, std::size_t size) override {
        const bool reads_right = !arena_.holds(from) || is_found(from, size, 0);
        if (!permit_write(to, size) || !reads_right) ++wrong;
        if (!memory_.copy(to, from, size)) return false;
        if (arena_.holds(to)) std::memcpy(expected_at(to), to, size);
        return true;
    }
    bool fetch(UCHAR* to, const UCHAR* from, std::size_t size) override {
        if (arena_.holds(to) || (arena_.holds(from) && !is_found(from, size, 0))) ++wrong;
        return memory_.fetch(to, from, size);
    }
    bool compare_swap(UCHAR* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) override {
        return change(at, IB_AC_ATOMIC,
                      [&] { return memory_.compare_swap(at, compare, swap, before); });
    }
    bool fetch_add(UCHAR* at, ULONGLONG add, ULONGLONG& before) override {
        return change(at, IB_AC_ATOMIC, [&] { return memory_.fetch_add(at, add, before); });
    }
    bool write_word(UCHAR* at, ULONGLONG value) override {
        return change(at, IB_AC_RDMA_WRITE, [&] { return memory_.write_word(at, value); });
    }
    transport::window_binding binding_of(const ib_send_bind_mw_t& what) override {
        return memory_.binding_of(what);
    }
    bool bind(const transport::window_binding&) override { return false; }
    bool register_pages(const transport::page_registration&) override { return false; }
    bool invalidate(ULONG key) override {
        entry* const of = find_entry(key);
        const bool expected = of != nullptr && of->window && of->valid;
        const bool done = memory_.invalidate(key);
        if (done != expected) ++wrong;
        if (done && expected) of->valid = false;
        return done;
    }

private:
    static constexpr UCHAR canary = 0xC5;
    static constexpr ULONGLONG foreign_base = 0x7000'0000'0000;
    static constexpr std::uint64_t queue_pair = 9;

    struct entry {
        ULONG key;
        ULONGLONG base;
        ULONGLONG size;
        ib_access_t rights;
        std::array<UCHAR*, 2> pieces;
        bool paged;
        bool valid;
        bool window;
    };
    struct range {
        const UCHAR* at;
        ULONGLONG size;
        ib_access_t rights;
    };

    ULONGLONG next_base() { return 0x10000000ull * ++bases_; }
    UCHAR* take(std::size_t size) {
        UCHAR* const at = arena_.data() + used_ + 64;
        used_ += 64 + (size + 7) / 8 * 8;
        return at;
    }
    region& add(UCHAR* at, std::size_t size, ib_access_t access) {
        entry made{0, next_base(), size, access, {at, nullptr}, false, true, false};
        made.key = keys_.insert({&pd_, made.base, size, at, access}, &holders_.emplace_back());
        return show(made);
    }
    region& show(const entry& made) {
        entries_.push_back(made);
        region& shown = shown_.emplace_back();
        shown.key = made.key;
        shown.base = made.base;
        shown.access = made.rights;
        return shown;
    }
    entry* find_entry(ULONG key) {
        const auto at = std::ranges::find(entries_, key, &entry::key);
        return at != entries_.end() ? &*at : nullptr;
    }
    const entry* permitted(ULONG key, ULONGLONG address, ULONGLONG size, ib_access_t rights) {
        const entry* const of = find_entry(key);
        if (of == nullptr || !of->valid || (rights & ~of->rights) != 0) return nullptr;
        if (of->window && (rights & IB_AC_REMOTE) == 0) return nullptr;
        const bool fits = address >= of->base && address - of->base <= of->size &&
                          size <= of->size - (address - of->base);
        return fits ? of : nullptr;
    }
    // The queue pair itself has to have granted what its peer does.
    void check(bool right, ib_access_t rights) {
        if (!right || (rights & IB_AC_REMOTE & ~granted_) != 0) ++wrong;
    }
    UCHAR* remember(UCHAR* at, ULONGLONG size, ib_access_t rights) {
        if (at != nullptr) found_.push_back({at, size, rights});
        return at;
    }
    bool is_found(const UCHAR* at, std::size_t size, ib_access_t rights) const {
        return std::ranges::any_of(found_, [&](const range& each) {
            return (each.rights & rights) == rights && at >= each.at &&
                   at + size <= each.at + each.size;
        });
    }
    bool permit_write(const UCHAR* to, std::size_t size) const {
        return is_found(to, size, IB_AC_LOCAL_WRITE) || is_found(to, size, IB_AC_RDMA_WRITE);
    }
    template <class Change>
    bool change(UCHAR* at, ib_access_t right, const Change& execute) {
        if (!is_found(at, sizeof(ULONGLONG), right)) ++wrong;
        if (!execute()) return false;
        if (arena_.holds(at)) std::memcpy(expected_at(at), at, sizeof(ULONGLONG));
        return true;
    }
    UCHAR* expected_at(const UCHAR* at) {
        return &expected_[static_cast<std::size_t>(at - arena_.data())];
    }

    guarded_arena arena_{8};
    std::vector<UCHAR> expected_;
    HCA_PD pd_{};
    HCA_PD other_pd_{};
    key_table keys_;
    hca_software::registered_memory memory_{keys_, &pd_, queue_pair};
    ib_access_t granted_ = IB_AC_REMOTE;
    std::deque<key_holder> holders_;
    std::deque<std::array<page_address, 2>> lists_;
    std::deque<entry> entries_;
    std::deque<region> shown_;
    const region* bound_to_ = nullptr;
    std::vector<range> found_;
    std::size_t used_ = 0;
    std::size_t paged_ = 0;
    ULONGLONG bases_ = 0;
};

} // namespace irpverbs::testing
