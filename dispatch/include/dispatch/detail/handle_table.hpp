// Handles: numbers that lead to objects, and to nothing once they are removed.
#pragma once

#include <dispatch/detail/spin.hpp>

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::detail {

/// `Reference` is a smart pointer (intrusive_ptr, shared_ptr): copied under the lock, so that what
/// find() returns is alive. A handle is {generation, slot, two zero bits}; the generation of a slot
/// grows with each use, so no handle is given out twice. Distinct threads may call all members but
/// the destructor. IRQL: <= DISPATCH_LEVEL; insert: PASSIVE_LEVEL.
template <class Reference>
class handle_table {
public:
    using handle = std::uint64_t;

    handle_table() = default;
    handle_table(const handle_table&) = delete;
    handle_table& operator=(const handle_table&) = delete;

    /// A new handle of the object, which the table keeps; 0 without memory, or when a million are
    /// open.
    handle insert(Reference object) {
        const std::lock_guard guard(lock_);
        if (free_ == none && !grow()) return 0;
        const std::uint32_t index = free_;
        slot& used = slots_[index];
        free_ = used.next_free;
        used.object = std::move(object);
        return (used.generation << slot_bits | index) << tag_bits;
    }

    /// Null: the handle was removed, or never given out.
    Reference find(handle of) const {
        const std::lock_guard guard(lock_);
        const slot* found = place_of(of);
        return found != nullptr ? found->object : Reference();
    }

    /// Ends the handle; what it led to is the caller's. Null as above.
    Reference remove(handle of) {
        const std::lock_guard guard(lock_);
        auto* found = const_cast<slot*>(place_of(of));
        if (found == nullptr) return Reference();
        Reference removed = std::exchange(found->object, Reference());
        if (++found->generation <= last_generation) {
            found->next_free = free_;
            free_ = static_cast<std::uint32_t>(found - slots_.data());
        }
        return removed;
    }

private:
    static constexpr unsigned tag_bits = 2; // Windows leaves them to the caller; here they are 0
    static constexpr unsigned slot_bits = 20;
    static constexpr handle slot_mask = (handle{1} << slot_bits) - 1;
    static constexpr handle last_generation = ~handle{0} >> (slot_bits + tag_bits);
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct slot {
        handle generation = 1;
        Reference object{};
        std::uint32_t next_free = none;
    };

    // The slot, if that is its handle now. Under the lock.
    const slot* place_of(handle of) const {
        const handle index = of >> tag_bits & slot_mask;
        if ((of & ((1u << tag_bits) - 1)) != 0 || index >= slots_.size()) return nullptr;
        const slot& found = slots_[index];
        const bool same = found.generation == of >> (tag_bits + slot_bits);
        return same && found.object != nullptr ? &found : nullptr;
    }

    // Under the lock.
    bool grow() {
        if (slots_.size() > slot_mask) return false;
        try {
            slots_.emplace_back();
        } catch (const std::bad_alloc&) {
            return false;
        }
        free_ = static_cast<std::uint32_t>(slots_.size() - 1);
        return true;
    }

    mutable raw_spin lock_;
    std::vector<slot> slots_;   // guarded by lock_
    std::uint32_t free_ = none; // guarded by lock_: the first slot not in use, by next_free
};

} // namespace irpverbs::dispatch::detail
