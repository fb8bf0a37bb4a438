// The serving end of ci/support/crossing.hpp. Nothing of a request is believed: each size is that
// of its verb, and pointers are those of this end.
#include "rows.hpp"

#include <ci/user_data.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace irpverbs::ci::crossing {

namespace {

constexpr std::size_t aligned(std::size_t size) { return (size + 15) / 16 * 16; }

std::size_t room_for(const buffer_use& use, std::uint64_t number) {
    switch (use.how) {
    case buffer_use::kind::out:
        return std::min<std::uint64_t>(number, wire::max_block / use.unit) * use.unit;
    case buffer_use::kind::received_datagram:
        return sizeof(IB_MAD_RECEIVE) + std::min<std::uint64_t>(number, wire::max_datagram);
    default:
        return 0;
    }
}

bool has_good_value(const row& verb, const wire::request& head) {
    const buffer_use::kind how = verb_of_code(verb.code).buffer.how;
    if (how == buffer_use::kind::sent_datagram)
        return head.value_size >= sizeof(IB_MAD_SEND) &&
               head.value_size <= sizeof(IB_MAD_SEND) + wire::max_datagram;
    const bool reads = how == buffer_use::kind::in || verb.attributes_in != nullptr;
    return head.value_size == (reads ? verb.value.size : 0);
}

bool has_good_user_data(const row& verb, const wire::request& head) {
    if (verb.user_data == user_data_place::none) return head.user_in == 0 && head.user_out == 0;
    return head.user_in <= CI_UDATA_MAXIMUM_SIZE && head.user_out <= CI_UDATA_MAXIMUM_SIZE;
}

/// Hands out parts of the memory of a request.
class arena {
public:
    explicit arena(void* memory) : next_(static_cast<std::byte*>(memory)) {}

    std::byte* take(std::size_t size) {
        std::byte* const taken = next_;
        next_ += aligned(size);
        return taken;
    }
    std::byte* copy(message from) {
        std::byte* const made = take(from.size());
        if (!from.empty()) std::memcpy(made, from.data(), from.size());
        return made;
    }

private:
    std::byte* next_;
};

// The data follow the structure.
bool point_at_sent_data(void* value, std::size_t size) {
    auto& send = *static_cast<IB_MAD_SEND*>(value);
    send.Data = &send + 1;
    return send.Length == size - sizeof(send);
}

void point_at_received_data(void* buffer, std::size_t room) {
    auto& receive = *static_cast<IB_MAD_RECEIVE*>(buffer);
    receive.Data = &receive + 1;
    receive.Size = static_cast<ULONG>(room - sizeof(receive));
}

NTSTATUS make_value(const row& verb, const incoming& from, directory& names, arena& memory,
                    buffers& made) {
    const buffer_use& use = verb_of_code(verb.code).buffer;
    if (!from.value.empty()) {
        made.value = memory.copy(from.value);
        if (use.how == buffer_use::kind::sent_datagram)
            return point_at_sent_data(made.value, from.value.size()) ? STATUS_SUCCESS
                                                                     : STATUS_INFO_LENGTH_MISMATCH;
        return verb.value.to_objects(made.value, names) ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
    }
    made.room = room_for(use, from.head.number);
    if (made.room != 0) made.value = memory.take(made.room);
    if (use.how == buffer_use::kind::received_datagram)
        point_at_received_data(made.value, made.room);
    return STATUS_SUCCESS;
}

CI_UDATA* make_user_data(const row& verb, const incoming& from, arena& memory, buffers& made) {
    if (verb.user_data == user_data_place::none ||
        (from.head.user_in == 0 && from.head.user_out == 0))
        return nullptr;
    made.has_user_data = true;
    made.user_in = memory.copy(from.user_in);
    made.user_out = memory.take(from.head.user_out);
    made.user_room = from.head.user_out;
    return new (made.user_data.data())
        CI_UDATA{made.user_in, made.user_out, from.user_in.size(), made.user_room};
}

void fill(const row& verb, const incoming& from, void* object, const buffers& made, CI_UDATA* user,
          IO_STACK_LOCATION& location) {
    const auto word = reinterpret_cast<ULONG_PTR>(user);
    void* const buffer = verb.user_data == user_data_place::buffer ? user : made.value;
    location.MinorFunction = verb.code;
    location.Flags = 0;
    const bool last = verb.user_data == user_data_place::last_word;
    if (verb.does == action::creates) {
        create_words_of(&location) = {object, buffer, nullptr, last ? user : nullptr};
        create_count_of(&location) = static_cast<ULONG>(from.head.number);
        return;
    }
    const buffer_use& use = verb_of_code(verb.code).buffer;
    const ULONG_PTR number =
        use.how == buffer_use::kind::out ? made.room / use.unit : from.head.number;
    parameters_of(&location) = {object, buffer, number, last ? word : from.head.port};
}

// Writes handles in the place of objects. Cut attributes are completed for that.
void hide_objects(const row& verb, void* block, std::size_t size, directory& names) {
    if (verb.value.size == 0 || size == 0) return;
    alignas(16) std::array<std::byte, sizeof(outgoing::value)> whole{};
    const std::size_t head = std::min(size, verb.value.size);
    std::memcpy(whole.data(), block, head);
    verb.value.to_handles(whole.data(), names);
    std::memcpy(block, whole.data(), head);
}

// Clears what is left of this process's memory and addresses in the buffer.
void hide_memory(const row& verb, void* block, std::size_t size) {
    if (size == 0) return;
    if (verb_of_code(verb.code).buffer.how == buffer_use::kind::received_datagram)
        static_cast<IB_MAD_RECEIVE*>(block)->Data = nullptr;
    if (verb.clear_gaps != nullptr) verb.clear_gaps(block, size);
}

// Bytes of the buffer that the verb has written.
std::size_t written_size(const row& verb, const IO_STATUS_BLOCK& result, const buffers& used) {
    const buffer_use& use = verb_of_code(verb.code).buffer;
    if (used.room == 0) return 0;
    if (use.how == buffer_use::kind::received_datagram) {
        const ULONG length = static_cast<const IB_MAD_RECEIVE*>(used.value)->Length;
        return NT_ERROR(result.Status)
                   ? 0
                   : sizeof(IB_MAD_RECEIVE) + (result.Status == STATUS_SUCCESS ? length : 0);
    }
    return NT_ERROR(result.Status)
               ? 0
               : std::min<std::size_t>(result.Information * use.unit, used.room);
}

} // namespace

NTSTATUS read_request(message received, incoming& made) {
    if (received.size() < sizeof(made.head)) return STATUS_INFO_LENGTH_MISMATCH;
    std::memcpy(&made.head, received.data(), sizeof(made.head));
    const wire::request& head = made.head;
    made.verb = find(head.head.verb);
    if (made.verb == nullptr) return STATUS_INVALID_DEVICE_REQUEST;
    const row& verb = row_of(head.head.verb);
    if (!has_good_value(verb, head) || !has_good_user_data(verb, head))
        return STATUS_INFO_LENGTH_MISMATCH;
    const message rest = received.subspan(sizeof(head));
    const std::size_t value_end = wire::padded(head.value_size);
    if (rest.size() != value_end + wire::padded(head.user_in)) return STATUS_INFO_LENGTH_MISMATCH;
    made.value = rest.first(head.value_size);
    made.user_in = rest.subspan(value_end, head.user_in);
    made.memory = aligned(head.value_size) + aligned(head.user_in) + aligned(head.user_out) +
                  aligned(room_for(verb_of_code(verb.code).buffer, head.number));
    return STATUS_SUCCESS;
}

NTSTATUS begin(const incoming& from, directory& names, void* object, void* memory, buffers& made,
               IO_STACK_LOCATION& location) {
    const row& verb = row_of(from.verb->code);
    arena rest(memory);
    const NTSTATUS status = make_value(verb, from, names, rest, made);
    if (!NT_SUCCESS(status)) return status;
    CI_UDATA* const user = make_user_data(verb, from, rest, made);
    fill(verb, from, object, made, user, location);
    return STATUS_SUCCESS;
}

void write_reply(const traits& of, std::uint64_t id, void* object, const IO_STATUS_BLOCK& result,
                 directory& names, buffers& used, outgoing_reply& made) {
    const row& verb = row_of(of.code);
    made.head.head = {wire::kind::reply, verb.code, {}, 0, id};
    made.head.status = result.Status;
    made.head.information = result.Information;
    const bool granted = object != nullptr && grants(verb) && NT_SUCCESS(result.Status);
    if (granted)
        made.head.object_size = static_cast<std::uint32_t>(
            codec_of(verb.type()).export_granted(object, made.object.data()));
    const std::size_t block = written_size(verb, result, used);
    made.head.block_size = static_cast<std::uint32_t>(block);
    hide_objects(verb, used.value, block, names);
    hide_memory(verb, used.value, block);
    std::size_t user_size = 0;
    if (used.has_user_data) {
        user_size = reinterpret_cast<const CI_UDATA*>(used.user_data.data())->OutputSize;
        made.head.user_out =
            static_cast<std::uint32_t>(std::min<std::size_t>(user_size, UINT32_MAX));
    }
    made.message.add(&made.head, sizeof(made.head));
    made.message.add(made.object.data(), made.head.object_size);
    made.message.add(used.value, block);
    made.message.add(used.user_out, std::min(user_size, used.user_room));
}

} // namespace irpverbs::ci::crossing
