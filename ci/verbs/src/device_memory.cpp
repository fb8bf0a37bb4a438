#include "device_memory.hpp"

#include "handle_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

// The unit of the copies: devices have words.
constexpr std::size_t word = 4;
constexpr unsigned most_log_alignment = 20;

bool contains(const device_memory& memory, std::uint64_t offset, std::size_t length) {
    return offset <= memory.length && length <= memory.length - offset;
}

bool may_be_copied(const device_memory& memory, std::uint64_t offset, std::size_t length) {
    return contains(memory, offset, length) && offset % word == 0 && length % word == 0;
}

int copy_to(ibv_dm* shown, std::uint64_t offset, const void* from, std::size_t length) {
    const device_memory& memory = device_memory::of(shown);
    if (!may_be_copied(memory, offset, length)) return EINVAL;
    std::memcpy(memory.bytes + offset, from, length);
    return 0;
}

int copy_from(void* to, ibv_dm* shown, std::uint64_t offset, std::size_t length) {
    const device_memory& memory = device_memory::of(shown);
    if (!may_be_copied(memory, offset, length)) return EINVAL;
    std::memcpy(to, memory.bytes + offset, length);
    return 0;
}

bool is_possible(const ibv_alloc_dm_attr& attr) {
    return attr.comp_mask == 0 && attr.length != 0 && attr.length <= most_device_memory &&
           attr.log_align_req <= most_log_alignment;
}

void* allocate_bytes(std::size_t length, std::size_t alignment) {
    void* bytes = nullptr;
    if (posix_memalign(&bytes, alignment, length) != 0) return nullptr;
    std::memset(bytes, 0, length);
    return bytes;
}

} // namespace

ibv_dm* allocate_memory(ibv_context* of, ibv_alloc_dm_attr* attr) {
    if (!is_possible(*attr)) {
        errno = EINVAL;
        return nullptr;
    }
    std::unique_ptr<device_memory> made(new (std::nothrow) device_memory{});
    if (made == nullptr) return nullptr;
    const std::size_t alignment = std::max(sizeof(void*), std::size_t{1} << attr->log_align_req);
    made->bytes = static_cast<UCHAR*>(allocate_bytes(attr->length, alignment));
    if (made->bytes == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    made->context = of;
    made->length = attr->length;
    made->memcpy_to_dm = copy_to;
    made->memcpy_from_dm = copy_from;
    made->comp_mask = IBV_DM_MASK_HANDLE;
    try {
        made->handle = handle_table<device_memory>::only().insert(*made);
    } catch (const std::bad_alloc&) {
        std::free(made->bytes);
        errno = ENOMEM;
        return nullptr;
    }
    return made.release();
}

int free_memory(ibv_dm* shown) {
    auto& ended = device_memory::of(shown);
    if (ended.regions != 0) return EBUSY;
    handle_table<device_memory>::only().remove(ended.handle);
    std::free(ended.bytes);
    delete &ended;
    return 0;
}

ibv_mr* register_memory(ibv_pd* pd, ibv_dm* shown, std::uint64_t offset, std::size_t length,
                        unsigned access) {
    auto& memory = device_memory::of(shown);
    if ((access & IBV_ACCESS_ZERO_BASED) == 0 || !contains(memory, offset, length)) {
        errno = EINVAL;
        return nullptr;
    }
    UCHAR* first = memory.bytes + offset;
    memory_region* made =
        register_region({pd, first, length, access, reinterpret_cast<std::uintptr_t>(first)});
    if (made == nullptr) return nullptr;
    made->addr = nullptr; // the program can't reach it
    made->memory = &memory;
    ++memory.regions;
    return made;
}

} // namespace irpverbs::verbs
