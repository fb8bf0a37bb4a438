// Handles: numbers that identify objects until the handle is removed.
#pragma once

#include <dispatch/support/scheduled_spin.hpp>

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::detail {

/// `Reference` is a smart pointer (intrusive_ptr, shared_ptr), which find() copies under the lock,
/// so that the returned object is alive; or a pointer to objects that are guarded otherwise. A
/// handle is {generation, slot, two zero bits}; the generation of a slot grows with each use, so no
/// handle value occurs twice. Distinct threads of one machine may call all members but the
/// destructor. IRQL: <= DISPATCH_LEVEL.
template <class Reference>
class handle_table {
public:
    using handle = std::uint64_t;

    handle_table() = default;
    handle_table(const handle_table&) = delete;
    handle_table& operator=(const handle_table&) = delete;

    /// Inserts the object and returns its new handle; 0 when memory is short or a million handles
    /// are open. Ownership: the table keeps the reference.
    handle insert(Reference object) {
        const std::lock_guard guard(lock_);
        if (free_ == none && !grow()) return 0;
        const std::uint32_t index = free_;
        slot& used = slots_[index];
        free_ = used.next_free;
        used.object = std::move(object);
        return (used.generation << slot_bits | index) << tag_bits;
    }

    /// Returns a reference to the object of the handle. Null: the handle was removed, or never
    /// existed.
    Reference find(handle of) const {
        const std::lock_guard guard(lock_);
        const slot* found = slot_of(of);
        return found != nullptr ? found->object : Reference();
    }

    /// Removes the handle and moves its reference to the caller. Null: the handle was removed, or
    /// never existed.
    Reference remove(handle of) {
        const std::lock_guard guard(lock_);
        auto* found = const_cast<slot*>(slot_of(of));
        if (found == nullptr) return Reference();
        Reference removed = std::exchange(found->object, Reference());
        release(*found);
        return removed;
    }

    /// Removes all handles and moves their references to the caller.
    std::vector<Reference> remove_all() {
        std::vector<Reference> removed;
        const std::lock_guard guard(lock_);
        for (slot& each : slots_) {
            if (each.object == nullptr) continue;
            removed.push_back(std::exchange(each.object, Reference()));
            release(each);
        }
        return removed;
    }

private:
    static constexpr unsigned tag_bits = 2; // Windows leaves these bits to the caller; here they
                                            // are 0
    static constexpr unsigned slot_bits = 20;
    static constexpr handle slot_mask = (handle{1} << slot_bits) - 1;
    static constexpr handle last_generation = ~handle{0} >> (slot_bits + tag_bits);
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct slot {
        handle generation = 1;
        Reference object{};
        std::uint32_t next_free = none;
    };

    // Returns the slot if `of` is its present handle, else null. Under the lock.
    const slot* slot_of(handle of) const {
        const handle index = of >> tag_bits & slot_mask;
        if ((of & ((1u << tag_bits) - 1)) != 0 || index >= slots_.size()) return nullptr;
        const slot& found = slots_[index];
        const bool same = found.generation == of >> (tag_bits + slot_bits);
        return same && found.object != nullptr ? &found : nullptr;
    }

    // Frees the slot for its next generation. Under the lock.
    void release(slot& removed) {
        if (++removed.generation > last_generation) return;
        removed.next_free = free_;
        free_ = static_cast<std::uint32_t>(&removed - slots_.data());
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

    mutable scheduled_spin lock_;
    std::vector<slot> slots_;   // guarded by lock_
    std::uint32_t free_ = none; // guarded by lock_: the first free slot; next_free links the others
};

} // namespace irpverbs::dispatch::detail
