/// A common buffer that frees itself.
#pragma once

#include <ci/common_buffer.h>
#include <dispatch/status.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace irpverbs::ci {

/// Memory of CiAllocateCommonBuffer. It is moved, not copied. Its regions have been deregistered
/// before it ends.
class common_buffer {
public:
    /// An empty one.
    common_buffer() noexcept = default;
    /// Throws dispatch::status_error with the status of CiAllocateCommonBuffer.
    explicit common_buffer(std::size_t size) {
        void* made = nullptr;
        const NTSTATUS status = CiAllocateCommonBuffer(size, &made);
        if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
        bytes_ = {static_cast<std::byte*>(made), size};
    }
    common_buffer(common_buffer&& other) noexcept
        : bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}
    common_buffer& operator=(common_buffer&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~common_buffer() { CiFreeCommonBuffer(bytes_.data()); }

    std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<std::byte> bytes_;
};

} // namespace irpverbs::ci
