#include <ci/support/address_space.hpp>

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <new>
#include <string>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace irpverbs::ci {

namespace {

// A foreign place: the highest bit, the number of its space, its address.
constexpr unsigned address_bits = 48;
constexpr std::uint64_t address_mask = (std::uint64_t{1} << address_bits) - 1;
constexpr std::uint64_t foreign_bit = std::uint64_t{1} << 63;
constexpr unsigned max_spaces = 4096;
constexpr unsigned own_space = max_spaces; // the number behind those of the others

constexpr int no_descriptor = -1;

/// The descriptors of the spaces, by number, plus one.
std::array<std::atomic<int>, max_spaces> descriptors;

/// The rings for their stores, by number, or null.
std::array<std::atomic<crossing::store_producer*>, max_spaces> rings;

constexpr std::size_t word_size = 8;
constexpr std::size_t words_of_page = 4096 / word_size;

/// One lock for each word of a page: processes that share a page have it at different addresses,
/// but each word has one place in its page. A page that is slow to appear delays few others.
std::array<KSPIN_LOCK, words_of_page> word_locks;

std::size_t number_of(std::uint64_t place) { return (place & ~foreign_bit) >> address_bits; }

int descriptor_of(std::uint64_t place) {
    const std::size_t number = number_of(place);
    return number < max_spaces ? descriptors[number].load(std::memory_order_relaxed) - 1
                               : no_descriptor;
}

crossing::store_producer* ring_of(std::uint64_t place) {
    const std::size_t number = number_of(place);
    return number < max_spaces ? rings[number].load(std::memory_order_acquire) : nullptr;
}

std::uint64_t word_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

bool is_own(const void* place) {
    return address_space::is_foreign(place) && number_of(word_of(place)) == own_space;
}

/// For system calls alone: the memory may not be mapped.
void* address_of_own(const void* place) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(word_of(place) & address_mask));
}

// As pread and pwrite, from and to addresses of this process.
ssize_t read_own(int, void* to, std::size_t size, off_t address) {
    const iovec here{to, size};
    const iovec there{reinterpret_cast<void*>(address), size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

ssize_t write_own(int, const void* from, std::size_t size, off_t address) {
    const iovec here{const_cast<void*>(from), size};
    const iovec there{reinterpret_cast<void*>(address), size};
    return process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

/// Transfers all bytes by a system call that may transfer fewer.
template <class Byte, class Call>
bool transfer(Byte* bytes, std::size_t size, std::uint64_t place, const Call& call) {
    const int descriptor = descriptor_of(place);
    auto address = static_cast<off_t>(place & address_mask);
    while (size != 0) {
        const ssize_t done = call(descriptor, bytes, size, address);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        address += done;
        size -= static_cast<std::size_t>(done);
    }
    return true;
}

bool read_foreign(void* to, std::uint64_t place, std::size_t size) {
    return transfer(static_cast<std::byte*>(to), size, place,
                    number_of(place) == own_space ? read_own : pread);
}

bool write_foreign(std::uint64_t place, const void* from, std::size_t size) {
    return transfer(static_cast<const std::byte*>(from), size, place,
                    number_of(place) == own_space ? write_own : pwrite);
}

bool copy_between(std::uint64_t to, std::uint64_t from, std::size_t size) {
    std::array<std::byte, 16384> part;
    while (size != 0) {
        const std::size_t now = std::min(size, part.size());
        if (!read_foreign(part.data(), from, now) || !write_foreign(to, part.data(), now))
            return false;
        to += now;
        from += now;
        size -= now;
    }
    return true;
}

/// Replaces a word by what `change` makes of it.
template <class Change>
bool change_word(void* at, ULONGLONG& before, const Change& change) {
    const std::uint64_t place = word_of(at);
    const dispatch::detail::spin_guard guard(word_locks[place / word_size % words_of_page]);
    if (!read_foreign(&before, place, sizeof(before))) return false;
    const ULONGLONG after = change(before);
    return after == before || write_foreign(place, &after, sizeof(after));
}

// A file of another kind might delay or mislead its reader: only procfs makes this name and type.
bool is_memory_of(int descriptor, pid_t owner) {
    struct statfs where {};
    if (fstatfs(descriptor, &where) != 0 || where.f_type != PROC_SUPER_MAGIC) return false;
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) return false;
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const std::string expected = "/proc/" + std::to_string(owner) + "/mem";
    std::array<char, 64> name{};
    const ssize_t length = readlink(link.c_str(), name.data(), name.size());
    return length > 0 && expected == std::string_view(name.data(), static_cast<size_t>(length));
}

// Returns max_spaces if all numbers are in use.
unsigned take_number(int descriptor) {
    for (unsigned number = 0; number < max_spaces; ++number) {
        int none = 0;
        if (descriptors[number].compare_exchange_strong(none, descriptor + 1)) return number;
    }
    return max_spaces;
}

} // namespace

detail::unique_descriptor address_space::open_own() {
    return detail::unique_descriptor(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
}

std::unique_ptr<address_space> address_space::make(detail::unique_descriptor memory,
                                                   pid_t owner) try {
    if (!memory || !is_memory_of(memory.get(), owner)) return nullptr;
    const unsigned number = take_number(memory.get());
    if (number == max_spaces) return nullptr;
    std::unique_ptr<address_space> made(new (std::nothrow)
                                            address_space(std::move(memory), number));
    if (made == nullptr) descriptors[number].store(0);
    return made;
} catch (const std::bad_alloc&) {
    return nullptr;
}

const address_space& address_space::own() {
    static const address_space made({}, own_space);
    return made;
}

address_space::address_space(detail::unique_descriptor memory, unsigned number)
    : memory_(std::move(memory)), number_(number) {}

address_space::~address_space() {
    if (number_ == own_space) return;
    rings[number_].store(nullptr);
    descriptors[number_].store(0);
}

void address_space::pass_stores_by(crossing::store_producer& ring) const {
    rings[number_].store(&ring, std::memory_order_release);
}

void* address_space::place_of(const void* address, std::uint64_t size) const {
    const std::uint64_t first = word_of(address);
    if (first > address_mask || size > address_mask - first) return nullptr;
    const std::uint64_t space = std::uint64_t{number_} << address_bits;
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(foreign_bit | space | first));
}

// The kernel reads nothing of a process without memory, and fails at a page that is not mapped.
bool address_space::has_ended() const {
    std::byte any{};
    return memory_ && pread(memory_.get(), &any, 1, 0) == 0;
}

// The calls check both of their addresses, so a place of this process may be either.
bool address_space::copy(void* to, const void* from, std::size_t size) {
    if (is_own(to) && is_foreign(from))
        to = address_of_own(to);
    else if (is_own(from) && is_foreign(to))
        from = address_of_own(from);
    if (is_foreign(to) && is_foreign(from)) return copy_between(word_of(to), word_of(from), size);
    if (is_foreign(to)) return write_foreign(word_of(to), from, size);
    if (is_foreign(from)) return read_foreign(to, word_of(from), size);
    if (size != 0) std::memmove(to, from, size);
    return true;
}

// The first bytes for each page are written to it: the client would end where it is not mapped.
bool address_space::deliver(ULONG key, void* to, const void* from, std::size_t size) {
    crossing::store_producer* const ring = is_foreign(to) ? ring_of(word_of(to)) : nullptr;
    if (ring == nullptr || size > crossing::store_ring::max_bytes) return copy(to, from, size);
    const std::uint64_t address = word_of(to) & address_mask;
    std::array<std::byte, crossing::store_ring::max_bytes> bytes;
    if (!copy(bytes.data(), from, size)) return false;
    if (ring->append(key, address, std::span(bytes).first(size))) return true;
    if (!write_foreign(word_of(to), bytes.data(), size)) return false;
    ring->show(key, address);
    return true;
}

bool address_space::compare_swap(void* at, ULONGLONG compare, ULONGLONG swap, ULONGLONG& before) {
    return change_word(at, before,
                       [=](ULONGLONG value) { return value == compare ? swap : value; });
}

bool address_space::fetch_add(void* at, ULONGLONG add, ULONGLONG& before) {
    return change_word(at, before, [=](ULONGLONG value) { return value + add; });
}

bool address_space::write_word(void* at, ULONGLONG value) {
    ULONGLONG before = 0;
    return change_word(at, before, [=](ULONGLONG) { return value; });
}

} // namespace irpverbs::ci
