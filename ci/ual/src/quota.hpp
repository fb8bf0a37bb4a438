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

/// The part of a connection in the quota of its user.
struct share_of_quota {
    explicit share_of_quota(quota& user) : of_user(user) {}

    quota& of_user;
    quota own{~ULONG{0}}; // limited by the user's
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

/// A part of both quotas.
class charged_share {
public:
    charged_share() = default;
    charged_share(share_of_quota& from, ULONG count) : of_user_(from.of_user, count) {
        if (of_user_) own_ = charged(from.own, count);
    }
    explicit operator bool() const { return static_cast<bool>(of_user_); }

private:
    charged of_user_;
    charged own_;
};

} // namespace irpverbs::ual
