#include "user_buffer.hpp"

#include "user_memory.hpp"

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr ULONG buffer_tag = 0x62756943; // "Ciub"

/// The header in front of the copy.
struct alignas(16) origin {
    void* user;
    void* user_data; // the data of a datagram, which the buffer names
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

NTSTATUS shadow_input(IO_STACK_LOCATION* location, SIZE_T size) {
    origin* made = allocate(size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    if (!read_user(made + 1, parameters_of(location).buffer, size, UserMode)) {
        ExFreePoolWithTag(made, buffer_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    return hand_over(location, made);
}

// Only the first part of a larger buffer is used: no block of attributes is as large, and a poll
// may return fewer entries. The buffer is probed now, because entries that a poll removed could not
// be reinserted.
NTSTATUS shadow_output(IO_STACK_LOCATION* location, SIZE_T unit) {
    parameters& with = parameters_of(location);
    with.number = std::min(with.number, most_probed / unit);
    const SIZE_T size = with.number * unit;
    if (!probe_user_write(with.buffer, size)) return STATUS_ACCESS_VIOLATION;
    origin* made = allocate(size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->user = with.buffer;
    return hand_over(location, made);
}

// A message that was too long returns its length, but no bytes.
bool return_receive(const origin* held, NTSTATUS status) {
    if (NT_ERROR(status)) return true;
    const auto* copy = reinterpret_cast<const IB_MAD_RECEIVE*>(held + 1);
    const SIZE_T size = status == STATUS_SUCCESS ? copy->Length : 0;
    IB_MAD_RECEIVE header = *copy;
    header.Data = held->user_data;
    return write_user(held->user_data, copy + 1, size, UserMode) &&
           write_user(held->user, &header, sizeof(header), UserMode);
}

} // namespace

NTSTATUS shadow_user_buffer(IO_STACK_LOCATION* location) {
    if (parameters_of(location).buffer == nullptr) return STATUS_SUCCESS;
    const buffer_use& use = verb_of(location).buffer;
    switch (use.how) {
    case buffer_use::kind::sent_datagram:
        return shadow_send(location);
    case buffer_use::kind::received_datagram:
        return shadow_receive(location);
    case buffer_use::kind::in:
        return shadow_input(location, use.unit);
    case buffer_use::kind::out:
        return shadow_output(location, use.unit);
    case buffer_use::kind::none:
        break;
    }
    return STATUS_SUCCESS;
}

NTSTATUS return_user_buffer(IO_STACK_LOCATION* location, const buffer_use& use, NTSTATUS status,
                            ULONG_PTR information) {
    location->Flags &= static_cast<UCHAR>(~shadowed);
    auto* held = static_cast<origin*>(parameters_of(location).buffer) - 1;
    bool returned = true;
    if (use.how == buffer_use::kind::received_datagram)
        returned = return_receive(held, status);
    else if (use.how == buffer_use::kind::out && !NT_ERROR(status))
        returned = write_user(held->user, held + 1, information * use.unit, UserMode);
    if (!returned) status = STATUS_ACCESS_VIOLATION;
    ExFreePoolWithTag(held, buffer_tag);
    return status;
}

} // namespace irpverbs::ci
