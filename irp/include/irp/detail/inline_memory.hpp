// Memory reserved in advance for the one allocation at a time that Asio makes to post a function.
#pragma once

#include <cstddef>
#include <new>

namespace irpverbs::irp::detail {

class inline_memory {
public:
    inline_memory() = default;
    inline_memory(const inline_memory&) = delete;
    inline_memory& operator=(const inline_memory&) = delete;

    void* allocate(std::size_t size) {
        if (taken_ || size > sizeof memory_) return ::operator new(size);
        taken_ = true;
        return memory_;
    }
    void deallocate(void* place) noexcept {
        if (place == memory_)
            taken_ = false;
        else
            ::operator delete(place);
    }

private:
    alignas(std::max_align_t) std::byte memory_[128];
    bool taken_ = false;
};

template <class T>
class reserved_allocator {
public:
    using value_type = T;

    explicit reserved_allocator(inline_memory& memory) noexcept : memory_(&memory) {}
    template <class U>
    reserved_allocator(const reserved_allocator<U>& other) noexcept : memory_(other.memory_) {}

    T* allocate(std::size_t count) { return static_cast<T*>(memory_->allocate(count * sizeof(T))); }
    void deallocate(T* place, std::size_t) noexcept { memory_->deallocate(place); }

    template <class U>
    bool operator==(const reserved_allocator<U>& other) const noexcept {
        return memory_ == other.memory_;
    }

private:
    template <class>
    friend class reserved_allocator;
    inline_memory* memory_;
};

} // namespace irpverbs::irp::detail
