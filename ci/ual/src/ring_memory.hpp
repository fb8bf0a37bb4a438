// Memory that a client shares, counted in its user's quota.
#pragma once

#include "quota.hpp"

#include <ci/support/shared_memory.hpp>

#include <algorithm>

namespace irpverbs::ual {

/// The bytes of the rings of a connection.
using ring_quota = share_of_quota;

class ring_memory {
public:
    using others = ci::detail::shared_memory::others;

    /// Bytes that each piece counts at least: a process may have 65,530 mappings.
    static constexpr std::size_t least_charge = 32 * 1024;

    ring_memory() = default;
    /// Empty: a limit is reached, or there is no memory.
    ring_memory(ring_quota& from, std::size_t size, others rights,
                ci::detail::unique_descriptor& descriptor)
        : charged_(from, charge_of(size)) {
        if (charged_) mapped_ = ci::detail::shared_memory::make(size, rights, descriptor);
    }

    explicit operator bool() const { return static_cast<bool>(mapped_); }
    /// The structure at its begin.
    template <class Part>
    Part& as() const {
        return *reinterpret_cast<Part*>(mapped_.bytes().data());
    }

private:
    static ULONG charge_of(std::size_t size) {
        return static_cast<ULONG>(std::max(size, least_charge));
    }

    charged_share charged_;
    ci::detail::shared_memory mapped_;
};

} // namespace irpverbs::ual
