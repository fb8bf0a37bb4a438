// Limits of what a user or a process may have.
#pragma once

#include <dispatch/ntdef.h>

#include <atomic>
#include <utility>

namespace irpverbs::ual {

class quota {
public:
    explicit quota(ULONG most) : most_(most) {}
    /// False: the limit is reached.
    bool charge(ULONG count = 1) {
        if (used_.fetch_add(count, std::memory_order_relaxed) + ULONGLONG{count} <= most_)
            return true;
        give_back(count);
        return false;
    }
    void give_back(ULONG count = 1) { used_.fetch_sub(count, std::memory_order_relaxed); }
    ULONG used() const { return static_cast<ULONG>(used_.load(std::memory_order_relaxed)); }

private:
    const ULONG most_;
    std::atomic<ULONGLONG> used_{0};
};

/// A part of a quota, which its end returns.
class charged {
public:
    charged() = default;
    charged(quota& from, ULONG count)
        : from_(from.charge(count) ? &from : nullptr), count_(count) {}
    charged(charged&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), count_(other.count_) {}
    charged& operator=(charged&& other) noexcept {
        std::swap(from_, other.from_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~charged() {
        if (from_ != nullptr) from_->give_back(count_);
    }
    explicit operator bool() const { return from_ != nullptr; }

private:
    quota* from_ = nullptr;
    ULONG count_ = 0;
};

} // namespace irpverbs::ual
