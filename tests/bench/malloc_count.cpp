// Replaces the C library's allocator by one that counts and then calls it. Linked only into the
// exact program, since counting would slow down the peers in the other.
#include "malloc_count.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<std::uint64_t> count{0};

void counted() { count.fetch_add(1, std::memory_order_relaxed); }

} // namespace

namespace irpverbs::bench {

std::uint64_t allocations() { return count.load(std::memory_order_relaxed); }

} // namespace irpverbs::bench

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
    counted();
    return __libc_malloc(size);
}
void* calloc(std::size_t items, std::size_t size) {
    counted();
    return __libc_calloc(items, size);
}
void* realloc(void* old, std::size_t size) {
    counted();
    return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    counted();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    counted();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
    counted();
    *result = __libc_memalign(alignment, size);
    return *result ? 0 : ENOMEM;
}

} // extern "C"
