// The messages of the boundary between processes, from a peer that is not to be believed: requests
// and posts at the serving end, replies at the client's. The first byte chooses the end, the second
// the verb that the reply is for.
#include <ci/support/posts_crossing.hpp>

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

// ---- posts, in a queue pair of a type that the second byte chooses

unsigned sum;

void read_list(const ib_local_ds_t* list, ULONG count, bool is_inline) {
    for (const ib_local_ds_t& each : std::span(list, count)) {
        sum += each.length + each.lkey;
        for (ULONG i = 0; is_inline && i < each.length; ++i)
            sum += reinterpret_cast<const UCHAR*>(each.vaddr)[i];
    }
}

// Reads all that a driver may. A work request whose id is odd fails.
template <class Work, class Read>
NTSTATUS post(Work* list, Work** failed, const Read& read) {
    for (; list != nullptr; list = list->p_next) {
        *failed = list;
        if ((list->wr_id & 1) != 0) return STATUS_INVALID_PARAMETER;
        read(*list);
    }
    return STATUS_SUCCESS;
}

NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    const bool datagrams = *static_cast<const bool*>(queue);
    return post(list, failed, [=](const ib_send_wr_t& each) {
        read_list(each.ds_array, each.num_ds, (each.send_opt & IB_SEND_OPT_INLINE) != 0);
        if (datagrams && each.wr_type == WR_SEND && each.dgrm.ud.h_av != nullptr)
            sum += each.dgrm.ud.h_av->Attr.dlid;
        if (!datagrams && each.wr_type == WR_BIND_MW && each.bind_mw.h_mw != nullptr)
            sum += each.bind_mw.h_mw->RKey;
    });
}

NTSTATUS post_receive(void*, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    return post(list, failed,
                [](const ib_recv_wr_t& each) { read_list(each.ds_array, each.num_ds, false); });
}

struct posting_objects final : crossing::directory {
    explicit posting_objects(bool of_datagrams) : datagrams(of_datagrams) {
        qp.Create.qp_type = datagrams ? IB_QPT_UNRELIABLE_DGRM : IB_QPT_RELIABLE_CONN;
        qp.Posts = {post_send, post_receive, &datagrams};
        srq.Post = {post_receive, nullptr};
    }
    std::uint64_t handle_of(crossing::object_type, void*) override { return 0; }
    void* object_of(crossing::object_type type, std::uint64_t handle) override {
        if ((handle & 1) == 0) return nullptr;
        if (type == HCA_MN_CREATE_QP) return &qp;
        if (type == HCA_MN_CREATE_SRQ) return &srq;
        if (type == HCA_MN_CREATE_AV) return &av;
        return nullptr; // CiBindMw would require a device
    }
    bool datagrams;
    HCA_QP qp{};
    HCA_SRQ srq{};
    HCA_AV av{};
};

void serve_posts(bool datagrams, crossing::message received) {
    posting_objects names(datagrams);
    crossing::post_server server;
    wire::posted reply{};
    static_cast<void>(server.serve(received, names, reply));
}

void receive_posted(crossing::message received) {
    std::array<std::byte, 256> room{};
    crossing::post_writer writer(room, wire::work::receive, 1, 1);
    writer.add(ib_recv_wr_t{});
    wire::posted reply{};
    static_cast<void>(writer.read_reply(received, reply));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> copy(bytes + 2, bytes + size);
    switch (data[0] & 3) {
    case 0:
        serve(copy);
        break;
    case 1:
        receive(data[1], copy);
        break;
    case 2:
        serve_posts((data[1] & 1) != 0, copy);
        break;
    default:
        receive_posted(copy);
    }
    return 0;
}
