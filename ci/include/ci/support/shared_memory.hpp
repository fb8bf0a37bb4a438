// Memory that two processes share: the rings between a daemon and its clients, and common buffers.
#ifndef IRPVERBS_CI_SUPPORT_SHARED_MEMORY_HPP
#define IRPVERBS_CI_SUPPORT_SHARED_MEMORY_HPP

#include <ci/support/seq_socket.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace irpverbs::ci::detail {

/// A mapping of a sealed memfd(2). The descriptor may be closed while the mapping exists. A child
/// of fork(2) does not have the mapping.
class shared_memory {
public:
    enum class others { may_read, may_write };

    shared_memory() = default;
    shared_memory(shared_memory&& other) noexcept
        : bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}
    shared_memory& operator=(shared_memory&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~shared_memory();

    /// Makes zeroed memory of `size` bytes, which this process may write, and which has this name
    /// in /proc/self/maps. `made` is its descriptor, for another process: the size can't change,
    /// and with others::may_read the kernel refuses every further mapping that could be written. An
    /// empty mapping: there is no memory or descriptor left, or the kernel has no such seal
    /// (Linux 5.1).
    static shared_memory make(std::size_t size, others rights, unique_descriptor& made,
                              const char* name = "irpverbs-ring");
    /// Whether no access to the memory of a received descriptor can end this process. A descriptor
    /// of another kind is not accessed.
    static bool is_always_accessible(const unique_descriptor& received);
    /// Maps the whole of a received descriptor. An empty mapping: it may become
    /// inaccessible, or can't be mapped so.
    static shared_memory map(const unique_descriptor& received, others own_rights);

    explicit operator bool() const { return !bytes_.empty(); }
    std::span<std::byte> bytes() const { return bytes_; }

private:
    explicit shared_memory(std::span<std::byte> bytes) : bytes_(bytes) {}
    static shared_memory map_bytes(int descriptor, std::size_t size, int protection);

    std::span<std::byte> bytes_;
};

} // namespace irpverbs::ci::detail

#endif
