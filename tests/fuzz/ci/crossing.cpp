// The messages of the boundary between processes, from a peer that is not to be believed: requests
// at the serving end, replies at the client's. The first byte chooses the end, the second the verb
// that the reply is for.
#include <ci/support/crossing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace irpverbs::ci;

/// Some handles are those of objects.
struct some_objects final : crossing::directory {
    std::uint64_t handle_of(crossing::object_type type, void* object) override {
        return object == &place ? type : 0;
    }
    void* object_of(crossing::object_type, std::uint64_t handle) override {
        return (handle & 1) != 0 ? &place : nullptr;
    }
    alignas(16) std::array<std::byte, 1024> place{}; // of any object
};

std::vector<std::byte> memory_of(std::size_t size) { return std::vector<std::byte>(size); }

void serve(crossing::message received) {
    crossing::incoming from;
    if (!NT_SUCCESS(crossing::read_request(received, from))) return;
    some_objects names;
    std::vector<std::byte> memory = memory_of(from.memory);
    crossing::buffers used;
    IO_STACK_LOCATION location{};
    if (!NT_SUCCESS(
            crossing::begin(from, names, names.place.data(), memory.data(), used, location)))
        return;
    // A verb that writes all of its buffer.
    IO_STATUS_BLOCK result{};
    result.Information = used.room;
    if (from.verb->code == HCA_MN_GET_MAD) {
        auto& receive = *static_cast<IB_MAD_RECEIVE*>(used.value);
        std::fill_n(static_cast<std::byte*>(receive.Data), receive.Size, std::byte{1});
        receive.Length = receive.Size;
    } else if (used.room != 0) {
        std::fill_n(static_cast<std::byte*>(used.value), used.room, std::byte{1});
    }
    crossing::outgoing_reply reply;
    crossing::write_reply(*from.verb, from.head.head.id, names.place.data(), result, names, used,
                          reply);
    std::vector<std::byte> whole;
    for (const iovec& each : reply.message.list()) {
        const auto* bytes = static_cast<const std::byte*>(each.iov_base);
        whole.insert(whole.end(), bytes, bytes + each.iov_len);
    }
}

void receive(UCHAR code, crossing::message received) {
    const crossing::traits* verb = crossing::find(code);
    if (verb == nullptr) return;
    some_objects names;
    std::array<std::byte, 256> buffer{};
    IB_MAD_RECEIVE datagram{buffer.data(), static_cast<ULONG>(buffer.size()), 0, 0, {}};
    IO_STACK_LOCATION location{};
    location.MinorFunction = code;
    location.Parameters.Others.Argument1 = names.place.data();
    // The place of a CI_UDATA stays empty.
    const bool is_get = code == HCA_MN_GET_MAD;
    const bool queries = code == HCA_MN_QUERY_CA || code == HCA_MN_QUERY_PORT ||
                         code == HCA_MN_QUERY_CQ || code == HCA_MN_QUERY_QP ||
                         code == HCA_MN_QUERY_MR || code == HCA_MN_QUERY_AV ||
                         code == HCA_MN_QUERY_SRQ || code == HCA_MN_POLL_CQ;
    if (is_get) location.Parameters.Others.Argument2 = &datagram;
    if (queries) {
        const std::size_t unit = code == HCA_MN_POLL_CQ ? sizeof(IB_WC) : 1;
        location.Parameters.Others.Argument2 = buffer.data();
        location.Parameters.Others.Argument3 =
            reinterpret_cast<PVOID>(static_cast<ULONG_PTR>(buffer.size() / unit));
    }
    crossing::result result;
    static_cast<void>(crossing::read_reply(received, location, names, result));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> copy(bytes + 2, bytes + size);
    if ((data[0] & 1) == 0)
        serve(copy);
    else
        receive(data[1], copy);
    return 0;
}
