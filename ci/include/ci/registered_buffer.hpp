/// A piece of a memory region, as the argument of a transfer.
#pragma once

#include <ci/memory_region.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::ci {

/// Keeps its region registered; the memory itself is the caller's, and stays valid until the
/// transfer has completed.
class registered_buffer {
public:
    /// An empty one.
    registered_buffer() noexcept = default;

    /// `bytes` lie within the region, which is not empty. More bytes than a work request can name
    /// (4 GiB) make a transfer fail.
    registered_buffer(const memory_region& region, std::span<std::byte> bytes) noexcept
        : region_(detail::access::held(region)), bytes_(bytes), lkey_(region.lkey()) {}

    std::span<std::byte> bytes() const noexcept { return bytes_; }
    ULONG lkey() const noexcept { return lkey_; }

private:
    std::shared_ptr<detail::closing_handle> region_;
    std::span<std::byte> bytes_;
    ULONG lkey_ = 0;
};

/// Memory of the peer: an address in the region that has the key.
struct remote_buffer {
    ULONGLONG address;
    ULONG rkey;
};

} // namespace irpverbs::ci
