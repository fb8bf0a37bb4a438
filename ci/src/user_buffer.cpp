#include "user_buffer.hpp"

#include "user_memory.hpp"

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr ULONG buffer_tag = 0x62756943; // "Ciub"

/// Before the copy.
struct alignas(16) origin {
    void* user;
    void* user_data; // that the buffer names: of a datagram
};

origin* allocate(SIZE_T size) {
    return static_cast<origin*>(
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(origin) + size, buffer_tag));
}

NTSTATUS hand_over(IO_STACK_LOCATION* location, origin* made) {
    parameters_of(location).buffer = made + 1;
    location->Flags |= shadowed;
    return STATUS_SUCCESS;
}

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
    case HCA_MN_MODIFY_MAD_AGENT:
        return {.in = true};
    default:
        return {};
    }
}

SIZE_T size_of_input(UCHAR minor) {
    return minor == HCA_MN_MODIFY_CA     ? sizeof(IB_MODIFY_CA)
           : minor == HCA_MN_MODIFY_PORT ? sizeof(IB_MODIFY_PORT)
                                         : sizeof(IB_MAD_KEYS);
}

NTSTATUS shadow_send(IO_STACK_LOCATION* location) {
    IB_MAD_SEND send;
    if (!read_user(&send, parameters_of(location).buffer, sizeof(send), UserMode))
        return STATUS_ACCESS_VIOLATION;
    if (send.Length > most_probed) return STATUS_INVALID_PARAMETER;
    origin* made = allocate(sizeof(send) + send.Length);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* copy = reinterpret_cast<IB_MAD_SEND*>(made + 1);
    if (send.Data != nullptr && !read_user(copy + 1, send.Data, send.Length, UserMode)) {
        ExFreePoolWithTag(made, buffer_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    if (send.Data != nullptr) send.Data = copy + 1;
    *copy = send;
    return hand_over(location, made);
}

NTSTATUS shadow_receive(IO_STACK_LOCATION* location) {
    void* user = parameters_of(location).buffer;
    IB_MAD_RECEIVE receive;
    if (!read_user(&receive, user, sizeof(receive), UserMode)) return STATUS_ACCESS_VIOLATION;
    receive.Size = static_cast<ULONG>(std::min<SIZE_T>(receive.Size, most_probed));
    if (!probe_user_write(user, sizeof(receive)) ||
        (receive.Data != nullptr && !probe_user_write(receive.Data, receive.Size)))
        return STATUS_ACCESS_VIOLATION;
    origin* made = allocate(sizeof(receive) + receive.Size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* copy = reinterpret_cast<IB_MAD_RECEIVE*>(made + 1);
    made->user = user;
    made->user_data = receive.Data;
    if (receive.Data != nullptr) receive.Data = copy + 1;
    *copy = receive;
    return hand_over(location, made);
}

// A message that was too long is told of, and none of it is there.
bool return_receive(const origin* held, NTSTATUS status) {
    if (NT_ERROR(status)) return true;
    const auto* copy = reinterpret_cast<const IB_MAD_RECEIVE*>(held + 1);
    const SIZE_T size = status == STATUS_SUCCESS ? copy->Length : 0;
    IB_MAD_RECEIVE told = *copy;
    told.Data = held->user_data;
    return write_user(held->user_data, copy + 1, size, UserMode) &&
           write_user(held->user, &told, sizeof(told), UserMode);
}

} // namespace

NTSTATUS shadow_user_buffer(IO_STACK_LOCATION* location) {
    if (parameters_of(location).buffer == nullptr) return STATUS_SUCCESS;
    if (location->MinorFunction == HCA_MN_SEND_MAD) return shadow_send(location);
    if (location->MinorFunction == HCA_MN_GET_MAD) return shadow_receive(location);
    const direction way = direction_of(location->MinorFunction);
    parameters& with = parameters_of(location);
    if (!way.in && !way.out) return STATUS_SUCCESS;
    // A larger buffer is used in part: no block of attributes is as large, and a poll may take
    // less.
    if (way.out) with.number = std::min(with.number, most_probed / way.unit);
    const SIZE_T size = way.in ? size_of_input(location->MinorFunction) : with.number * way.unit;
    // Now: what a poll took out could not be put back.
    if (way.out && !probe_user_write(with.buffer, size)) return STATUS_ACCESS_VIOLATION;
    origin* made = allocate(size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->user = with.buffer;
    if (way.in && !read_user(made + 1, with.buffer, size, UserMode)) {
        ExFreePoolWithTag(made, buffer_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    return hand_over(location, made);
}

NTSTATUS return_user_buffer(IO_STACK_LOCATION* location, NTSTATUS status, ULONG_PTR information) {
    location->Flags &= static_cast<UCHAR>(~shadowed);
    const direction way = direction_of(location->MinorFunction);
    auto* held = static_cast<origin*>(parameters_of(location).buffer) - 1;
    const SIZE_T size = way.out && !NT_ERROR(status) ? information * way.unit : 0;
    const bool returned = location->MinorFunction == HCA_MN_GET_MAD
                              ? return_receive(held, status)
                              : write_user(held->user, held + 1, size, UserMode);
    if (!returned) status = STATUS_ACCESS_VIOLATION;
    ExFreePoolWithTag(held, buffer_tag);
    return status;
}

} // namespace irpverbs::ci
