// Memory of objects of one size that come and go in thousands: the general allocator joins and
// splits such blocks each time.
#pragma once

#include <dispatch/detail/spin.hpp>

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace irpverbs::saa {

// AddressSanitizer is to see who uses what was given back.
#if defined(__SANITIZE_ADDRESS__)
#define IRPVERBS_SAA_STOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRPVERBS_SAA_STOCKS 0
#endif
#endif
#if !defined(IRPVERBS_SAA_STOCKS)
#define IRPVERBS_SAA_STOCKS 1
#endif

/// For blocks of `Size` bytes. IRQL: <= DISPATCH_LEVEL.
template <std::size_t Size>
class stock {
public:
    stock() = default;
    ~stock() {
        while (free_ != nullptr)
            ::operator delete(std::exchange(free_, free_->next));
    }
    stock(const stock&) = delete;
    stock& operator=(const stock&) = delete;

    /// Null: no memory.
    void* take() noexcept {
        {
            const std::lock_guard guard(lock_);
            if (block* const kept = free_) {
                free_ = kept->next;
                --count_;
                return kept;
            }
        }
        return ::operator new(Size, std::nothrow);
    }
    void give(void* memory) noexcept {
        {
            const std::lock_guard guard(lock_);
            if (count_ < most) {
                free_ = ::new (memory) block{free_};
                ++count_;
                return;
            }
        }
        ::operator delete(memory);
    }

private:
    struct block {
        block* next;
    };
    static_assert(Size >= sizeof(block));
    static constexpr std::size_t most = IRPVERBS_SAA_STOCKS ? 16'384 : 0;

    dispatch::detail::raw_spin lock_;
    block* free_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace irpverbs::saa
