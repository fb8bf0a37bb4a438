/// Objects that a package keeps once per processor or once per machine. The package defines one
/// static object of processor_local or machine_local for each type, which registers the type; these
/// objects are IRPVERBS_REGISTERED_EARLY, so that they exist before any use in a static
/// initialisation.
#pragma once

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <memory>
#include <new>
#include <type_traits>

#define IRPVERBS_REGISTERED_EARLY [[gnu::init_priority(200)]]

namespace irpverbs::dispatch::detail {

/// Returns the offset in processor::locals. `drop(held)`, unless null, runs for each processor of a
/// machine that ends.
NT_API std::size_t register_processor_local(std::size_t size, void (*drop)(void* held));

/// A T of each processor, used by that processor's thread alone. All bytes are 0 at first.
template <class T>
class processor_local {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(void*));

public:
    explicit processor_local(void (*drop)(void* held) = nullptr)
        : offset_(register_processor_local(sizeof(place), drop)) {}

    T& of(processor& self) const noexcept {
        return *std::launder(reinterpret_cast<T*>(self.locals + offset_));
    }
    const T& of(const processor& self) const noexcept {
        return *std::launder(reinterpret_cast<const T*>(self.locals + offset_));
    }

private:
    struct place {
        T object;
    };
    const std::size_t offset_;
};

/// Returns the index in the locals of each machine.
NT_API std::size_t register_machine_local(unsigned rank, void (*drop)(void* held));

/// A T of each machine. It is dropped when the machine ends, on a thread attached to it at
/// PASSIVE_LEVEL, while its threads still run; objects of the highest rank are dropped first. A
/// package's rank is higher than the ranks of the packages that it uses.
template <class T>
class machine_local {
public:
    explicit machine_local(unsigned rank)
        : index_(register_machine_local(rank, [](void* held) { delete static_cast<T*>(held); })) {}

    /// Returns the object of the calling thread's machine. The first call creates it.
    T& current() const {
        std::atomic<void*>& place = machine::current().local(index_);
        void* held = place.load(std::memory_order_acquire);
        if (held != nullptr) return *static_cast<T*>(held);
        auto fresh = std::make_unique<T>();
        if (!place.compare_exchange_strong(held, fresh.get())) return *static_cast<T*>(held);
        return *fresh.release();
    }

private:
    const std::size_t index_;
};

/// Returns the index in the records of each machine.
NT_API std::size_t register_machine_records();

/// Returns the object that `make` has created for the machine; the first call creates it. It is
/// dropped after the machine's threads have ended.
NT_API void* machine_records(machine& owner, std::size_t index, void* (*make)(),
                             void (*drop)(void*));

/// The verifier's records of one type in a machine.
template <class Records>
Records& records_of(machine& owner) {
    static const std::size_t index = register_machine_records();
    return *static_cast<Records*>(machine_records(
        owner, index, []() -> void* { return new Records; },
        [](void* held) { delete static_cast<Records*>(held); }));
}

} // namespace irpverbs::dispatch::detail
