#include "device_memory.hpp"

#include "handle_table.hpp"

#include <ci/common_buffer.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

// The unit of the copies: devices have words.
constexpr std::size_t word = 4;
constexpr unsigned most_log_alignment = 20;
constexpr std::size_t page = 4096; // the alignment of a common buffer

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

// A daemon has such memory mapped, too. Null without memory.
void* allocate_buffer(std::size_t length) {
    void* made = nullptr;
    return NT_SUCCESS(CiAllocateCommonBuffer(length, &made)) ? made : nullptr;
}

UCHAR* aligned(void* at, std::size_t alignment) {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(at) % alignment;
    return static_cast<UCHAR*>(at) + (beyond == 0 ? 0 : alignment - beyond);
}

} // namespace

ibv_dm* allocate_memory(ibv_context* of, ibv_alloc_dm_attr* attr) {
    if (!is_possible(*attr)) {
        errno = EINVAL;
        return nullptr;
    }
    std::unique_ptr<device_memory> made(new (std::nothrow) device_memory{});
    if (made == nullptr) return nullptr;
    const std::size_t alignment = std::size_t{1} << attr->log_align_req;
    made->buffer = allocate_buffer(attr->length + (alignment > page ? alignment : 0));
    if (made->buffer == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    made->bytes = aligned(made->buffer, alignment);
    made->context = of;
    made->length = attr->length;
    made->memcpy_to_dm = copy_to;
    made->memcpy_from_dm = copy_from;
    made->comp_mask = IBV_DM_MASK_HANDLE;
    try {
        made->handle = handle_table<device_memory>::only().insert(*made);
    } catch (const std::bad_alloc&) {
        CiFreeCommonBuffer(made->buffer);
        errno = ENOMEM;
        return nullptr;
    }
    return made.release();
}

int free_memory(ibv_dm* shown) {
    auto& ended = device_memory::of(shown);
    if (ended.regions != 0) return EBUSY;
    handle_table<device_memory>::only().remove(ended.handle);
    CiFreeCommonBuffer(ended.buffer);
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
