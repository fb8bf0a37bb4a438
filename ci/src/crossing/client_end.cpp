// The client end of ci/support/crossing.hpp.
#include "rows.hpp"

#include <ci/user_data.h>

#include <algorithm>
#include <cstring>

namespace irpverbs::ci::crossing {

namespace {

parameters words_of(const IO_STACK_LOCATION& location) {
    return parameters_of(const_cast<IO_STACK_LOCATION*>(&location));
}

CI_UDATA* user_data_of(const row& verb, const parameters& with) {
    switch (verb.user_data) {
    case user_data_place::buffer:
        return static_cast<CI_UDATA*>(with.buffer);
    case user_data_place::last_word:
        return reinterpret_cast<CI_UDATA*>(with.port);
    case user_data_place::none:
        break;
    }
    return nullptr;
}

// Copies the value that the verb reads to `made`, with handles.
NTSTATUS write_value(const row& verb, const void* value, directory& names, outgoing& made) {
    std::memcpy(made.value.data(), value, verb.value.size);
    if (!verb.value.to_handles(made.value.data(), names)) return STATUS_INVALID_HANDLE;
    made.head.value_size = static_cast<std::uint32_t>(verb.value.size);
    made.message.add(made.value.data(), verb.value.size);
    return STATUS_SUCCESS;
}

NTSTATUS write_datagram(const void* buffer, outgoing& made) {
    const auto& send = *static_cast<const IB_MAD_SEND*>(buffer);
    if (send.Length > wire::max_datagram) return STATUS_INVALID_PARAMETER;
    IB_MAD_SEND sent = send;
    sent.Data = nullptr;
    static_assert(sizeof(sent) % 8 == 0 && sizeof(sent) <= sizeof(made.value));
    std::memcpy(made.value.data(), &sent, sizeof(sent));
    made.head.value_size = static_cast<std::uint32_t>(sizeof(sent) + send.Length);
    made.message.add(made.value.data(), sizeof(sent));
    made.message.add(send.Data, send.Length);
    return STATUS_SUCCESS;
}

// Adds what the verb reads from its buffer.
NTSTATUS write_buffer(const row& verb, const parameters& with, directory& names, outgoing& made) {
    const buffer_use& use = verb_of_code(verb.code).buffer;
    if (verb.attributes_in != nullptr)
        return write_value(verb, verb.attributes_in(with.object), names, made);
    if (use.how == buffer_use::kind::in) return write_value(verb, with.buffer, names, made);
    if (use.how == buffer_use::kind::sent_datagram) return write_datagram(with.buffer, made);
    if (use.how == buffer_use::kind::received_datagram)
        made.head.number = static_cast<const IB_MAD_RECEIVE*>(with.buffer)->Size;
    return STATUS_SUCCESS;
}

NTSTATUS write_user_data(const CI_UDATA* user, outgoing& made) {
    if (user == nullptr) return STATUS_SUCCESS;
    if (user->InputSize > CI_UDATA_MAXIMUM_SIZE || user->OutputSize > CI_UDATA_MAXIMUM_SIZE)
        return STATUS_INVALID_BUFFER_SIZE;
    made.head.user_in = static_cast<std::uint32_t>(user->InputSize);
    made.head.user_out = static_cast<std::uint32_t>(user->OutputSize);
    made.message.add(user->pInputBuffer, user->InputSize);
    return STATUS_SUCCESS;
}

/// The parts of a reply.
struct received {
    wire::reply head;
    message object;
    message block;
    message user;
};

// Takes `size` bytes and their padding off the front of `rest`. False: it is too short.
bool take(message& rest, std::size_t size, message& taken) {
    if (size > rest.size() || wire::padded(size) > rest.size()) return false;
    taken = rest.first(size);
    rest = rest.subspan(wire::padded(size));
    return true;
}

bool split(message all, std::size_t user_room, received& made) {
    if (all.size() < sizeof(made.head)) return false;
    std::memcpy(&made.head, all.data(), sizeof(made.head));
    message rest = all.subspan(sizeof(made.head));
    return take(rest, made.head.object_size, made.object) &&
           take(rest, made.head.block_size, made.block) &&
           take(rest, std::min<std::size_t>(made.head.user_out, user_room), made.user) &&
           rest.empty();
}

bool return_datagram(message block, void* buffer) {
    auto& into = *static_cast<IB_MAD_RECEIVE*>(buffer);
    if (block.empty()) return true;
    IB_MAD_RECEIVE received{};
    if (block.size() < sizeof(received)) return false;
    std::memcpy(&received, block.data(), sizeof(received));
    const message data = block.subspan(sizeof(received));
    if (data.size() > into.Size || (!data.empty() && data.size() != received.Length)) return false;
    into.Length = received.Length;
    into.Lost = received.Lost;
    into.From = received.From;
    std::memcpy(into.Data, data.data(), data.size());
    return true;
}

// Copies attributes with objects in the place of handles; a block may be cut.
void return_attributes(const row& verb, message block, void* buffer, directory& names) {
    alignas(16) std::array<std::byte, sizeof(outgoing::value)> whole{};
    const std::size_t head = std::min(block.size(), verb.value.size);
    std::memcpy(whole.data(), block.data(), head);
    verb.value.to_objects(whole.data(), names); // an object that is being destroyed becomes null
    std::memcpy(buffer, whole.data(), head);
    std::memcpy(static_cast<std::byte*>(buffer) + head, block.data() + head, block.size() - head);
}

bool return_block(const row& verb, const received& reply, const parameters& with,
                  directory& names) {
    const buffer_use& use = verb_of_code(verb.code).buffer;
    if (use.how == buffer_use::kind::received_datagram)
        return return_datagram(reply.block, with.buffer);
    if (use.how != buffer_use::kind::out) return reply.block.empty();
    if (reply.block.size() > with.number * use.unit ||
        reply.block.size() != reply.head.information * use.unit)
        return false;
    if (reply.block.empty()) return true;
    if (verb.value.size != 0)
        return_attributes(verb, reply.block, with.buffer, names);
    else
        std::memcpy(with.buffer, reply.block.data(), reply.block.size());
    return true;
}

} // namespace

CI_UDATA* user_data_of(const IO_STACK_LOCATION& location) {
    return user_data_of(row_of(location.MinorFunction), words_of(location));
}

bool set_user_data(IO_STACK_LOCATION& location, CI_UDATA* user_data) {
    switch (row_of(location.MinorFunction).user_data) {
    case user_data_place::buffer:
        location.Parameters.Others.Argument2 = user_data;
        return true;
    case user_data_place::last_word:
        location.Parameters.Others.Argument4 = user_data;
        return true;
    case user_data_place::none:
        break;
    }
    return false;
}

ULONG& entries_of(IO_STACK_LOCATION& location) { return create_count_of(&location); }

void parts::add(const void* data, std::size_t size) {
    static constexpr std::array<std::byte, 8> zeros{};
    if (size == 0) return;
    list_[count_++] = {const_cast<void*>(data), size};
    const std::size_t padding = wire::padded(size) - size;
    if (padding != 0) list_[count_++] = {const_cast<std::byte*>(zeros.data()), padding};
    size_ += wire::padded(size);
}

NTSTATUS write_request(const IO_STACK_LOCATION& location, directory& names, std::uint64_t id,
                       std::uint64_t object, outgoing& made) {
    const row& verb = row_of(location.MinorFunction);
    const parameters with = words_of(location);
    const bool creates = verb.does == action::creates;
    made.head.head = {wire::kind::request, verb.code, {}, 0, id};
    made.head.object = object;
    made.head.number =
        creates ? create_count_of(const_cast<IO_STACK_LOCATION*>(&location)) : with.number;
    if (!creates && verb.user_data != user_data_place::last_word)
        made.head.port = static_cast<std::uint32_t>(with.port);
    made.message.add(&made.head, sizeof(made.head));
    const NTSTATUS status = write_buffer(verb, with, names, made);
    return NT_SUCCESS(status) ? write_user_data(user_data_of(verb, with), made) : status;
}

bool read_reply(message reply, IO_STACK_LOCATION& location, directory& names, result& made) {
    const row& verb = row_of(location.MinorFunction);
    const parameters with = words_of(location);
    CI_UDATA* const user = user_data_of(verb, with);
    received parts{};
    if (!split(reply, user != nullptr ? user->OutputSize : 0, parts) ||
        parts.head.head.what != wire::kind::reply || parts.head.head.verb != verb.code ||
        parts.head.status == STATUS_PENDING)
        return false;
    if (!parts.object.empty() &&
        (!grants(verb) ||
         !codec_of(verb.type())
              .import_granted(with.object, parts.object.data(), parts.object.size())))
        return false;
    if (!return_block(verb, parts, with, names)) return false;
    if (user != nullptr) {
        if (!parts.user.empty())
            std::memcpy(user->pOutputBuffer, parts.user.data(), parts.user.size());
        user->OutputSize = parts.head.user_out;
    }
    made = {parts.head.status, parts.head.information};
    return true;
}

} // namespace irpverbs::ci::crossing
