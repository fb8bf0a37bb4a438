#include "user_memory.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace irpverbs::ci {

namespace {

// The kernel copies, and so reports unmapped memory without a signal.
bool copy_across(ssize_t (*copy)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                 unsigned long),
                 void* own, void* users, SIZE_T size) {
    const iovec here{own, size};
    const iovec there{users, size};
    return copy(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

} // namespace

bool read_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode) {
    if (size == 0) return true;
    if (mode == UserMode) return copy_across(process_vm_readv, to, const_cast<void*>(from), size);
    std::memcpy(to, from, size);
    return true;
}

bool write_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode) {
    if (size == 0) return true;
    if (mode == UserMode) return copy_across(process_vm_writev, const_cast<void*>(from), to, size);
    std::memcpy(to, from, size);
    return true;
}

// Reads one byte of each page and writes it back. Offsets are compared, not addresses: behind the
// highest page an address is 0 again.
bool probe_user_write(void* at, SIZE_T size) {
    constexpr SIZE_T page = 4096;
    constexpr SIZE_T max_pages = max_probed / page + 1;
    std::array<char, max_pages> bytes;
    std::array<iovec, max_pages> places;
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    if (size > max_probed || size > UINTPTR_MAX - begin) return false;
    SIZE_T count = 0;
    for (SIZE_T offset = 0; offset < size; offset += page - (begin + offset) % page)
        places[count++] = {reinterpret_cast<void*>(begin + offset), 1};
    const iovec own{bytes.data(), count};
    const auto whole = static_cast<ssize_t>(count);
    return process_vm_readv(getpid(), &own, 1, places.data(), count, 0) == whole &&
           process_vm_writev(getpid(), &own, 1, places.data(), count, 0) == whole;
}

} // namespace irpverbs::ci
