#include "user_buffer.hpp"

#include "user_memory.hpp"

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr ULONG buffer_tag = 0x62756943; // "Ciub"

/// The header in front of the copy.
struct alignas(16) bounce_header {
    void* user;
    void* user_data; // the data of a datagram, which the buffer names
};

bounce_header* allocate(SIZE_T size) {
    return static_cast<bounce_header*>(
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(bounce_header) + size, buffer_tag));
}

NTSTATUS use_bounce_buffer(IO_STACK_LOCATION* location, bounce_header* made) {
    parameters_of(location).buffer = made + 1;
    location->Flags |= bounced;
    return STATUS_SUCCESS;
}

NTSTATUS bounce_send(IO_STACK_LOCATION* location) {
    IB_MAD_SEND send;
    if (!read_user(&send, parameters_of(location).buffer, sizeof(send), UserMode))
        return STATUS_ACCESS_VIOLATION;
    if (send.Length > max_probed) return STATUS_INVALID_PARAMETER;
    bounce_header* made = allocate(sizeof(send) + send.Length);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* copy = reinterpret_cast<IB_MAD_SEND*>(made + 1);
    if (send.Data != nullptr && !read_user(copy + 1, send.Data, send.Length, UserMode)) {
        ExFreePoolWithTag(made, buffer_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    if (send.Data != nullptr) send.Data = copy + 1;
    *copy = send;
    return use_bounce_buffer(location, made);
}

NTSTATUS bounce_receive(IO_STACK_LOCATION* location) {
    void* user = parameters_of(location).buffer;
    IB_MAD_RECEIVE receive;
    if (!read_user(&receive, user, sizeof(receive), UserMode)) return STATUS_ACCESS_VIOLATION;
    receive.Size = static_cast<ULONG>(std::min<SIZE_T>(receive.Size, max_probed));
    if (!probe_user_write(user, sizeof(receive)) ||
        (receive.Data != nullptr && !probe_user_write(receive.Data, receive.Size)))
        return STATUS_ACCESS_VIOLATION;
    bounce_header* made = allocate(sizeof(receive) + receive.Size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* copy = reinterpret_cast<IB_MAD_RECEIVE*>(made + 1);
    made->user = user;
    made->user_data = receive.Data;
    if (receive.Data != nullptr) receive.Data = copy + 1;
    *copy = receive;
    return use_bounce_buffer(location, made);
}

NTSTATUS bounce_input(IO_STACK_LOCATION* location, SIZE_T size) {
    bounce_header* made = allocate(size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    if (!read_user(made + 1, parameters_of(location).buffer, size, UserMode)) {
        ExFreePoolWithTag(made, buffer_tag);
        return STATUS_ACCESS_VIOLATION;
    }
    return use_bounce_buffer(location, made);
}

// Only the first part of a larger buffer is used: no block of attributes is as large, and a poll
// may return fewer entries. The buffer is probed now, because entries that a poll removed could not
// be reinserted.
NTSTATUS bounce_output(IO_STACK_LOCATION* location, SIZE_T unit) {
    parameters& with = parameters_of(location);
    with.number = std::min(with.number, max_probed / unit);
    const SIZE_T size = with.number * unit;
    if (!probe_user_write(with.buffer, size)) return STATUS_ACCESS_VIOLATION;
    bounce_header* made = allocate(size);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->user = with.buffer;
    return use_bounce_buffer(location, made);
}

// A message that was too long returns its length, but no bytes.
bool return_receive(const bounce_header* held, NTSTATUS status) {
    if (NT_ERROR(status)) return true;
    const auto* copy = reinterpret_cast<const IB_MAD_RECEIVE*>(held + 1);
    const SIZE_T size = status == STATUS_SUCCESS ? copy->Length : 0;
    IB_MAD_RECEIVE header = *copy;
    header.Data = held->user_data;
    return write_user(held->user_data, copy + 1, size, UserMode) &&
           write_user(held->user, &header, sizeof(header), UserMode);
}

} // namespace

NTSTATUS bounce_user_buffer(IO_STACK_LOCATION* location) {
    if (parameters_of(location).buffer == nullptr) return STATUS_SUCCESS;
    const buffer_use& use = verb_of(location).buffer;
    switch (use.how) {
    case buffer_use::kind::sent_datagram:
        return bounce_send(location);
    case buffer_use::kind::received_datagram:
        return bounce_receive(location);
    case buffer_use::kind::in:
        return bounce_input(location, use.unit);
    case buffer_use::kind::out:
        return bounce_output(location, use.unit);
    case buffer_use::kind::none:
        break;
    }
    return STATUS_SUCCESS;
}

NTSTATUS return_user_buffer(IO_STACK_LOCATION* location, const buffer_use& use, NTSTATUS status,
                            ULONG_PTR information) {
    location->Flags &= static_cast<UCHAR>(~bounced);
    auto* held = static_cast<bounce_header*>(parameters_of(location).buffer) - 1;
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
