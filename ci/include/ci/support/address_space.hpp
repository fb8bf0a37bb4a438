// The memory of other processes, for drivers that copy to and from a client's regions.
#ifndef IRPVERBS_CI_SUPPORT_ADDRESS_SPACE_HPP
#define IRPVERBS_CI_SUPPORT_ADDRESS_SPACE_HPP

#include <ci/support/seq_socket.hpp>
#include <ci/support/store_ring.hpp>
#include <dispatch/ntdef.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace irpverbs::ci {

/// The memory of a process, by a descriptor of its /proc/self/mem. A place is either an address of
/// this process or a foreign one: an address together with its address space, which only the
/// functions below may use. Arithmetic on a foreign place moves its address.
///
/// This process has an address space, too: the system copies what has a place in it, so that a page
/// that is not mapped fails the copy, and does not end the process.
///
/// docs/decisions/process-boundary.md says why this is no process_vm_readv(2), and
/// docs/decisions/unmapped-memory.md when places of this process are in its address space.
class address_space {
public:
    /// Opens this process's memory, for another process to receive. None: it is not permitted.
    static detail::unique_descriptor open_own();
    /// Takes over a descriptor of the memory of process `owner`, open for reading and writing.
    /// Null: it is something else, there are too many spaces, or no memory.
    static std::unique_ptr<address_space> make(detail::unique_descriptor memory, pid_t owner);
    /// The memory of this process, for copies by process_vm_readv(2): a child of fork has its own.
    static const address_space& own();
    /// No copy of one of its places is under way, and none follows.
    ~address_space();
    address_space(const address_space&) = delete;
    address_space& operator=(const address_space&) = delete;

    /// The place of `size` bytes at `address`. Null: no process has such addresses.
    void* place_of(const void* address, std::uint64_t size) const;

    /// `deliver` may pass bytes to the process through that ring, which lasts as long as this.
    void pass_stores_by(crossing::store_producer& ring) const;

    /// Whether its process has ended, or has begun another program: it has no memory. IRQL: <=
    /// DISPATCH_LEVEL; the caller may hold locks.
    bool has_ended() const;

    static bool is_foreign(const void* place) { return reinterpret_cast<std::intptr_t>(place) < 0; }
    /// Copies in ascending order between two places. False: a page is not mapped, or its process
    /// has ended; a part may have been copied. IRQL: <= DISPATCH_LEVEL; the caller may hold locks.
    static bool copy(void* to, const void* from, std::size_t size);
    /// As copy, to memory that its owner reads behind a later completion alone, by that L_Key:
    /// bytes that pass through a ring are there when the owner takes the completion.
    static bool deliver(ULONG key, void* to, const void* from, std::size_t size);
    /// Execute an atomic operation on 8 aligned bytes at a foreign place, and store their former
    /// value in `before`: atomic among the calls of this process, not with the processors. False:
    /// as copy.
    static bool compare_swap(void* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before);
    static bool fetch_add(void* at, ULONGLONG add, ULONGLONG& before);
    /// Writes 8 aligned bytes at a foreign place, as an atomic operation of the above.
    static bool write_word(void* at, ULONGLONG value);

private:
    address_space(detail::unique_descriptor memory, unsigned number);

    const detail::unique_descriptor memory_;
    const unsigned number_;
};

} // namespace irpverbs::ci

#endif
