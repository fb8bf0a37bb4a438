// A flat table: a key leads to its slot without hashing, and the key of a released slot leads to
// none. Slots never move. Not thread-safe.
#ifndef IRPVERBS_IBMF_ENGINE_SLOT_TABLE_HPP
#define IRPVERBS_IBMF_ENGINE_SLOT_TABLE_HPP

#include <dispatch/pool.h>

#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

namespace irpverbs::ibmf {

/// T is default-constructible and has a member `slot` of this type.
struct table_slot {
    std::uint32_t key = 0;      // 0: not in use
    std::uint32_t next_key = 0; // key of the next use
    void* next_free = nullptr;
};

struct nothing_shared {};

/// The slots of a chunk have one object of type Shared, which lives as long as they do.
template <class T, class Shared = nothing_shared>
class slot_table {
public:
    /// All keys have this bit: clients that count their ids from 1 never use the value of a key.
    static constexpr std::uint32_t key_mark = 0x8000'0000;
    static constexpr unsigned slot_bits = 20;
    static constexpr std::uint32_t slot_mask = (1u << slot_bits) - 1;
    /// The minimum number of released slots before one is used again: with 2,048 generations per
    /// slot, a key returns after half a million others.
    static constexpr std::uint32_t min_released = 256;

    slot_table() = default;
    slot_table(const slot_table&) = delete;
    slot_table& operator=(const slot_table&) = delete;
    ~slot_table() {
        for_each([](T& each) { each.~T(); });
        for (T* each : chunks_)
            ExFreePoolWithTag(each, tag);
    }

    /// Null: no memory, or a million slots are in use. `prepare` is called for a new slot and the
    /// object of its chunk.
    template <class Function>
    T* acquire(const Function& prepare) {
        T* next = unused_ < min_released ? grow(prepare) : nullptr;
        if (next == nullptr && (next = reuse_slot()) == nullptr) return nullptr;
        advance_key(*next);
        return next;
    }

    /// Assigns the key of the next generation.
    static void advance_key(T& used) {
        table_slot& slot = used.slot;
        slot.key = slot.next_key;
        slot.next_key = (slot.next_key + (1u << slot_bits)) | key_mark;
    }

    void release(T& used) {
        used.slot.key = 0;
        *last_link_ = &used;
        last_link_ = &used.slot.next_free;
        ++unused_;
    }

    /// Null: no slot in use has that key.
    T* find(std::uint32_t key) const {
        const std::uint32_t index = key & slot_mask;
        if (index >= next_new_) return nullptr;
        T* const found = at(index);
        return found->slot.key == key ? found : nullptr;
    }

    std::uint32_t used() const { return next_new_ - unused_; }

    /// Visits all slots that have ever been used.
    template <class Function>
    void for_each(const Function& function) {
        for (std::uint32_t index = 0; index < next_new_; ++index)
            function(*at(index));
    }

private:
    static constexpr ULONG tag = 0x74666D49; // "Imft"
    static constexpr unsigned chunk_bits = 4;
    static constexpr std::uint32_t chunk_slots = 1u << chunk_bits;

    T* at(std::uint32_t index) const { return chunks_[index >> chunk_bits] + index % chunk_slots; }
    // The shared object follows the slots.
    static Shared& shared_of(T* chunk) { return *reinterpret_cast<Shared*>(chunk + chunk_slots); }
    static_assert(alignof(Shared) <= alignof(T));
    static_assert(std::is_trivially_destructible_v<Shared>);

    // Returns the slot that was released first.
    T* reuse_slot() {
        if (unused_ == 0) return nullptr;
        T* const taken = static_cast<T*>(first_unused_);
        first_unused_ = taken->slot.next_free;
        if (--unused_ == 0) last_link_ = &first_unused_;
        return taken;
    }
    // Returns a new slot, which is in no list.
    template <class Function>
    [[gnu::noinline]] T* grow(const Function& prepare) {
        if (next_new_ > slot_mask || (next_new_ == chunks_.size() * chunk_slots && !add_chunk()))
            return nullptr;
        T* const made = new (at(next_new_)) T;
        Shared& shared = shared_of(chunks_[next_new_ >> chunk_bits]);
        made->slot.next_key = key_mark | next_new_++;
        prepare(*made, shared);
        return made;
    }
    bool add_chunk() {
        void* const chunk = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED,
                                            chunk_slots * sizeof(T) + sizeof(Shared), tag);
        if (chunk == nullptr) return false;
        try {
            chunks_.push_back(static_cast<T*>(chunk));
        } catch (const std::bad_alloc&) {
            ExFreePoolWithTag(chunk, tag);
            return false;
        }
        new (&shared_of(chunks_.back())) Shared;
        return true;
    }

    std::vector<T*> chunks_;
    void* first_unused_ = nullptr;
    void** last_link_ = &first_unused_;
    std::uint32_t unused_ = 0;
    std::uint32_t next_new_ = 0; // slots from here on are new
};

} // namespace irpverbs::ibmf

#endif
