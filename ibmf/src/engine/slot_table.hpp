// A flat table: a key leads to its slot without hashing, and the key of a slot that was given back
// leads nowhere. Slots never move. Not thread-safe.
#ifndef IRPVERBS_IBMF_ENGINE_SLOT_TABLE_HPP
#define IRPVERBS_IBMF_ENGINE_SLOT_TABLE_HPP

#include <dispatch/pool.h>

#include <array>
#include <bit>
#include <cstdint>
#include <new>

namespace irpverbs::ibmf {

/// T is default-constructible and has one of these, `slot`.
struct table_slot {
    std::uint32_t key = 0; // 0: not in use
    std::uint32_t index = 0;
    std::uint32_t next_free = 0;
    std::uint32_t generation = 0;
};

template <class T>
class slot_table {
public:
    /// Every key has it: clients that count their own ids from 1 never meet one.
    static constexpr std::uint32_t key_mark = 0x8000'0000;
    static constexpr unsigned slot_bits = 20;
    static constexpr std::uint32_t slot_mask = (1u << slot_bits) - 1;
    static constexpr std::uint32_t generations = 1u << (31 - slot_bits);

    slot_table() = default;
    slot_table(const slot_table&) = delete;
    slot_table& operator=(const slot_table&) = delete;
    ~slot_table() {
        for_each([](T& each) { each.~T(); });
        for (T* each : chunks_)
            if (each != nullptr) ExFreePoolWithTag(each, tag);
    }

    /// Null: no memory, or a million are in use.
    T* acquire() {
        std::uint32_t index = free_;
        if (index == none) [[unlikely]] {
            if (!grow()) return nullptr;
            index = fresh_++;
            new (&at(index)) T;
            at(index).slot.index = index;
        } else {
            free_ = at(index).slot.next_free;
        }
        T& fresh = at(index);
        table_slot& slot = fresh.slot;
        slot.generation = (slot.generation + 1) % generations;
        slot.key = key_mark | slot.generation << slot_bits | index;
        ++used_;
        return &fresh;
    }

    void release(T& used) {
        used.slot.key = 0;
        used.slot.next_free = free_;
        free_ = used.slot.index;
        --used_;
    }

    /// Null: nothing has that key, or nothing any more.
    T* find(std::uint32_t key) const {
        const std::uint32_t index = key & slot_mask;
        if (index >= fresh_) return nullptr;
        T& found = at(index);
        return found.slot.key == key ? &found : nullptr;
    }

    std::uint32_t used() const { return used_; }

    /// All slots that ever were in use.
    template <class Function>
    void for_each(const Function& function) {
        for (std::uint32_t index = 0; index < fresh_; ++index)
            function(at(index));
    }

private:
    static constexpr ULONG tag = 0x74666D49; // "Imft"
    static constexpr std::uint32_t none = ~0u;
    static constexpr unsigned first_bits = 5; // the first chunk has 32 slots, each further twice
    static constexpr unsigned chunk_count = slot_bits - first_bits;

    static constexpr unsigned chunk_of(std::uint32_t index) {
        return static_cast<unsigned>(std::bit_width(index + (1u << first_bits))) - first_bits - 1;
    }
    T& at(std::uint32_t index) const {
        const unsigned chunk = chunk_of(index);
        return chunks_[chunk][index + (1u << first_bits) - (1u << (first_bits + chunk))];
    }
    bool grow() {
        const unsigned chunk = chunk_of(fresh_);
        if (chunk >= chunk_count) return false;
        if (chunks_[chunk] == nullptr)
            chunks_[chunk] =
                static_cast<T*>(ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED,
                                                sizeof(T) << (first_bits + chunk), tag));
        return chunks_[chunk] != nullptr;
    }

    std::array<T*, chunk_count> chunks_{};
    std::uint32_t free_ = none;
    std::uint32_t fresh_ = 0; // slots from here on were never in use
    std::uint32_t used_ = 0;
};

} // namespace irpverbs::ibmf

#endif
