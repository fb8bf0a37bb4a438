#include "user_buffer.hpp"

#include "user_memory.hpp"

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr ULONG tag = 0x62756943; // "Ciub"

/// Before the copy.
struct alignas(16) origin {
    void* user;
};

struct direction {
    bool in = false;
    bool out = false;
    SIZE_T unit = 1; // what the verb's number and Information count
};

direction direction_of(UCHAR minor) {
    switch (minor) {
    case HCA_MN_QUERY_CA:
    case HCA_MN_QUERY_PORT:
    case HCA_MN_QUERY_CQ:
        return {.out = true};
    case HCA_MN_POLL_CQ:
        return {.out = true, .unit = sizeof(IB_WC)};
    case HCA_MN_MODIFY_CA:
    case HCA_MN_MODIFY_PORT:
        return {.in = true};
    default:
        return {};
    }
}

SIZE_T size_of_input(UCHAR minor) {
    return minor == HCA_MN_MODIFY_CA ? sizeof(IB_MODIFY_CA) : sizeof(IB_MODIFY_PORT);
}

} // namespace

NTSTATUS shadow_user_buffer(IO_STACK_LOCATION* location) {
    const direction way = direction_of(location->MinorFunction);
    parameters& with = parameters_of(location);
    if ((!way.in && !way.out) || with.buffer == nullptr) return STATUS_SUCCESS;
    // A larger buffer is used in part: no block of attributes is as large, and a poll may take
    // less.
    if (way.out) with.number = std::min(with.number, most_probed / way.unit);
    const SIZE_T size = way.in ? size_of_input(location->MinorFunction) : with.number * way.unit;
    // Now: what a poll took out could not be put back.
    if (way.out && !probe_user_write(with.buffer, size)) return STATUS_ACCESS_VIOLATION;
    auto* made =
        static_cast<origin*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(origin) + size, tag));
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->user = with.buffer;
    if (way.in && !read_user(made + 1, with.buffer, size, UserMode)) {
        ExFreePoolWithTag(made, tag);
        return STATUS_ACCESS_VIOLATION;
    }
    with.buffer = made + 1;
    location->Flags |= shadowed;
    return STATUS_SUCCESS;
}

NTSTATUS return_user_buffer(IO_STACK_LOCATION* location, NTSTATUS status, ULONG_PTR information) {
    location->Flags &= static_cast<UCHAR>(~shadowed);
    const direction way = direction_of(location->MinorFunction);
    auto* held = static_cast<origin*>(parameters_of(location).buffer) - 1;
    const SIZE_T size = way.out && !NT_ERROR(status) ? information * way.unit : 0;
    if (!write_user(held->user, held + 1, size, UserMode)) status = STATUS_ACCESS_VIOLATION;
    ExFreePoolWithTag(held, tag);
    return status;
}

} // namespace irpverbs::ci
