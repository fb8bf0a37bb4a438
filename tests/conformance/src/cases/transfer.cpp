// Transfers between two queue pairs of one HCA, and datagrams to itself.
#include "transfers.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::conformance {

namespace transfer_group {
namespace {

constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
constexpr ib_qp_type_t uc = IB_QPT_UNRELIABLE_CONN;
constexpr ib_qp_type_t ud = IB_QPT_UNRELIABLE_DGRM;

bool begins_alike(const transfer_end& one, const transfer_end& other, std::size_t count) {
    return std::equal(one.memory.begin(), one.memory.begin() + count, other.memory.begin());
}

void send_reaches_the_oldest_receive(world& here) {
    for (const ib_qp_type_t type : {rc, uc}) {
        transfer_scene scene(here, type);
        for (const ULONG length : {0u, 1u, 64u, transfer_end::size}) {
            scene.other.memory = {};
            scene.other.post_receive(7, transfer_end::size);
            scene.one.post(scene.one.request(WR_SEND, 1, length));
            EXPECT_EQ(scene.one.expect(1).Opcode, IB_WC_SEND);
            const IB_WC received = scene.other.expect(7);
            EXPECT_EQ(received.Opcode, IB_WC_RECEIVE);
            EXPECT_EQ(received.ByteCount, length);
            EXPECT_EQ(received.Flags & IB_WC_IMMEDIATE_PRESENT, 0u);
            EXPECT_TRUE(begins_alike(scene.one, scene.other, length));
            EXPECT_TRUE(length == transfer_end::size || scene.other.memory[length] == 0);
        }
    }
}

void immediate_data_arrive(world& here) {
    transfer_scene scene(here);
    ib_send_wr_t send = scene.one.request(WR_SEND, 1);
    send.send_opt |= IB_SEND_OPT_IMMEDIATE;
    send.immediate_data = 0x12345678;
    scene.other.post_receive(7);
    scene.one.post(send);
    scene.one.expect(1);
    const IB_WC received = scene.other.expect(7);
    EXPECT_NE(received.Flags & IB_WC_IMMEDIATE_PRESENT, 0u);
    EXPECT_EQ(received.Immediate, 0x12345678u);

    ib_send_wr_t write = scene.one.remote(WR_RDMA_WRITE, 2, scene.other);
    write.send_opt |= IB_SEND_OPT_IMMEDIATE;
    write.immediate_data = 0x9ABCDEF0;
    scene.other.post_receive(8);
    scene.one.post(write);
    scene.one.expect(2);
    const IB_WC written = scene.other.expect(8);
    EXPECT_EQ(written.Opcode, IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE);
    EXPECT_EQ(written.Immediate, 0x9ABCDEF0u);
    EXPECT_EQ(written.ByteCount, 64u);
}

void writes_and_reads_move_bytes(world& here) {
    transfer_scene scene(here);
    scene.one.post(scene.one.remote(WR_RDMA_WRITE, 1, scene.other, transfer_end::size));
    EXPECT_EQ(scene.one.expect(1).Opcode, IB_WC_RDMA_WRITE);
    EXPECT_EQ(scene.one.memory, scene.other.memory);
    std::ranges::reverse(scene.other.memory);
    scene.one.post(scene.one.remote(WR_RDMA_READ, 2, scene.other, transfer_end::size));
    const IB_WC read = scene.one.expect(2);
    EXPECT_EQ(read.Opcode, IB_WC_RDMA_READ);
    EXPECT_EQ(read.ByteCount, transfer_end::size);
    EXPECT_EQ(scene.one.memory, scene.other.memory);
    scene.other.expect_none();
}

ULONGLONG& first_number(transfer_end& of) {
    return *reinterpret_cast<ULONGLONG*>(of.memory.data());
}

void atomics_return_the_original_value(world& here) {
    transfer_scene scene(here);
    IB_CA_ATTR attr{};
    status_of(query_ca(scene.opened, &attr, sizeof(attr)));
    if (attr.Atomicity == IB_ATOMIC_NONE) throw skipped{"the HCA has no atomics"};
    first_number(scene.other) = 100;
    const auto execute = [&](ib_wr_type_t type, ULONGLONG first, ULONGLONG second, ULONG opcode) {
        ib_send_wr_t what = scene.one.remote(type, 1, scene.other, 8);
        what.remote_ops.atomic1 = first;
        what.remote_ops.atomic2 = second;
        scene.one.post(what);
        EXPECT_EQ(scene.one.expect(1).Opcode, opcode);
        return first_number(scene.one);
    };
    EXPECT_EQ(execute(WR_FETCH_ADD, 5, 0, IB_WC_FETCH_AND_ADD), 100u);
    EXPECT_EQ(execute(WR_COMPARE_SWAP, 100, 7, IB_WC_COMPARE_AND_SWAP), 105u) << "unequal";
    EXPECT_EQ(execute(WR_COMPARE_SWAP, 105, 7, IB_WC_COMPARE_AND_SWAP), 105u);
    EXPECT_EQ(first_number(scene.other), 7u);
}

void skip_without_atomic_writes(const transfer_scene& scene) {
    IB_CA_ATTR attr{};
    status_of(query_ca(scene.opened, &attr, sizeof(attr)));
    if ((attr.Extended.Flags & IB_CA_FLAG_ATOMIC_WRITE) == 0)
        throw skipped{"the HCA has no atomic writes"};
}

ib_send_wr_t atomic_write(transfer_scene& scene, ULONGLONG value) {
    ib_send_wr_t what = scene.one.remote(WR_ATOMIC_WRITE, 1, scene.other, 8);
    what.num_ds = 0;
    what.remote_ops.atomic1 = value;
    return what;
}

void atomic_write_writes_its_value(world& here) {
    transfer_scene scene(here);
    skip_without_atomic_writes(scene);
    scene.one.post(atomic_write(scene, 0x1122334455667788));
    EXPECT_EQ(scene.one.expect(1).Opcode, IB_WC_ATOMIC_WRITE);
    EXPECT_EQ(first_number(scene.other), 0x1122334455667788u);
    scene.other.expect_none();
}

void misaligned_atomic_write_is_refused(world& here) {
    transfer_scene scene(here);
    skip_without_atomic_writes(scene);
    const auto before = scene.other.memory;
    ib_send_wr_t what = atomic_write(scene, 5);
    what.remote_ops.vaddr += 4;
    scene.one.post(what);
    scene.one.expect(1, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
    EXPECT_EQ(scene.other.memory, before);
}

void atomic_write_with_segments_is_not_posted(world& here) {
    transfer_scene scene(here);
    skip_without_atomic_writes(scene);
    ib_send_wr_t what = atomic_write(scene, 5);
    what.num_ds = 1;
    EXPECT_STATUS(CiPostSend(scene.one.pair, &what, nullptr), STATUS_INVALID_PARAMETER);
}

void inline_data_are_copied_during_the_call(world& here) {
    transfer_scene scene(here);
    const auto sent = scene.one.memory;
    ib_send_wr_t what = scene.one.request(WR_SEND, 1);
    what.send_opt |= IB_SEND_OPT_INLINE;
    what.ds_array->lkey = 0; // is not read
    scene.other.post_receive(7);
    scene.one.post(what);
    scene.one.memory.fill(0xEE);
    scene.one.expect(1);
    scene.other.expect(7);
    EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + 64, scene.other.memory.begin()));
}

void list_completes_in_order(world& here) {
    transfer_scene scene(here);
    std::array<ib_send_wr_t, 6> list{};
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = scene.one.remote(WR_RDMA_WRITE, i, scene.other, 8);
        list[i].p_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
        if (i % 2 == 0) list[i].send_opt = 0;
    }
    scene.one.post(list[0]);
    for (const ULONGLONG signaled : {1u, 3u, 5u})
        scene.one.expect(signaled);
    scene.one.expect_none();
}

// All further work requests are flushed, in the order in which they were posted. soft-RoCE does not
// notice receives until the next flush.
void expect_flushed(const world& here, transfer_end& end) {
    EXPECT_EQ(end.pair.attributes().state, IB_QPS_ERROR);
    end.post_receive(21);
    end.post_receive(22);
    if (is_rxe(here)) {
        EXPECT_STATUS(status_of(flush_qp(end.pair)), STATUS_SUCCESS);
    }
    end.expect(21, IB_WC_FLUSHED);
    end.expect(22, IB_WC_FLUSHED);
    ib_send_wr_t late = end.request(WR_SEND, 23);
    late.send_opt = 0;
    end.post(late);
    end.expect(23, IB_WC_FLUSHED);
}

void wrong_rkey_fails(world& here) {
    for (const ib_wr_type_t type : {WR_RDMA_WRITE, WR_RDMA_READ}) {
        transfer_scene scene(here);
        ib_send_wr_t what = scene.one.remote(type, 1, scene.other);
        what.remote_ops.rkey ^= 0x5A00;
        scene.one.post(what);
        scene.one.expect(1, IB_WC_REMOTE_ACCESS_ERROR);
        expect_flushed(here, scene.one);
        EXPECT_TRUE(scene.other.memory[0] == 0);
    }
}

void range_beyond_the_region_fails(world& here) {
    transfer_scene scene(here);
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    what.remote_ops.vaddr += transfer_end::size - 63;
    scene.one.post(what);
    scene.one.expect(1, IB_WC_REMOTE_ACCESS_ERROR);
}

void wrong_lkey_fails(world& here) {
    transfer_scene scene(here);
    ib_send_wr_t what = scene.one.request(WR_SEND, 1);
    what.ds_array->lkey ^= 0x5A00;
    scene.other.post_receive(7);
    scene.one.post(what);
    scene.one.expect(
        1, status_here(here, IB_WC_LOCAL_PROTECTION_ERROR, IB_WC_LOCAL_QP_OPERATION_ERROR));
    expect_flushed(here, scene.one);
}

void message_longer_than_its_receive_fails(world& here) {
    transfer_scene scene(here);
    scene.other.post_receive(7, 8);
    scene.one.post(scene.one.request(WR_SEND, 1, 64));
    scene.one.expect(
        1, status_here(here, IB_WC_REMOTE_INVALID_REQUEST_ERROR, IB_WC_REMOTE_OPERATION_ERROR));
    scene.other.expect(7,
                       status_here(here, IB_WC_LOCAL_LENGTH_ERROR, IB_WC_LOCAL_QP_OPERATION_ERROR));
    expect_flushed(here, scene.one);
    expect_flushed(here, scene.other);
}

void missing_receive_fails_after_its_retries(world& here) {
    const ca opened(here);
    const pd domain(opened);
    transfer_end one(opened, domain, rc);
    transfer_end other(opened, domain, rc);
    one.connect(other, {.sq_psn = 0xFFFFF0, .rnr_retry_cnt = 1});
    other.connect(one);
    one.post(one.request(WR_SEND, 1));
    one.expect(1, IB_WC_RNR_RETRY_EXCEEDED);
    expect_flushed(here, one);
}

void flush_completes_outstanding_receives(world& here) {
    transfer_scene scene(here);
    for (const ULONGLONG id : {1u, 2u, 3u})
        scene.one.post_receive(id);
    EXPECT_STATUS(status_of(flush_qp(scene.one.pair)), STATUS_SUCCESS);
    for (const ULONGLONG id : {1u, 2u, 3u})
        scene.one.expect(id, IB_WC_FLUSHED);
    expect_flushed(here, scene.one);
}

/// A datagram queue pair that sends to itself.
struct datagram_scene {
    explicit datagram_scene(const world& here)
        : opened(here), own(opened, domain, ud), way(way_to_own_port(opened)),
          av(reinterpret_cast<IB_AV*>(must(create_av(domain, &way)))) {
        own.connect(own);
    }
    ~datagram_scene() { EXPECT_STATUS(verb_call(destroy_av(av)).status(), STATUS_SUCCESS); }
    datagram_scene(const datagram_scene&) = delete;
    datagram_scene& operator=(const datagram_scene&) = delete;

    ib_send_wr_t request(ULONGLONG wr_id, ULONG length) {
        ib_send_wr_t made = own.request(WR_SEND, wr_id, length);
        made.dgrm.ud = {av, own.pair->Num, 0x1234, 0};
        return made;
    }

    ca opened;
    pd domain{opened};
    transfer_end own;
    ib_av_attr_t way;
    IB_AV* av;
};

constexpr ULONG grh_bytes = 40;

// The receive's bytes follow 40 bytes for the GRH.
void datagram_reaches_its_queue_pair(world& here) {
    datagram_scene scene(here);
    std::array<UCHAR, 16> sent{1, 2, 3};
    std::copy(sent.begin(), sent.end(), scene.own.memory.begin());
    scene.own.post_receive(7, grh_bytes + 16);
    scene.own.post(scene.request(1, 16));
    IB_WC first = scene.own.next();
    IB_WC second = scene.own.next();
    if (first.WrId == 7) std::swap(first, second);
    EXPECT_EQ(first.WrId, 1u);
    EXPECT_EQ(first.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(second.WrId, 7u);
    EXPECT_EQ(second.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(second.ByteCount, grh_bytes + 16);
    EXPECT_EQ(second.SourceQp, scene.own.pair->Num);
    EXPECT_EQ((second.Flags & IB_WC_GRH_PRESENT) != 0, scene.way.grh_valid != FALSE);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), scene.own.memory.begin() + grh_bytes));
}

void posts_depend_on_the_state(world& here) {
    const ca opened(here);
    const pd domain(opened);
    transfer_end end(opened, domain, rc);
    ib_local_ds_t into = *end.request(WR_SEND, 0).ds_array;
    ib_recv_wr_t receive{nullptr, 1, &into, 1};
    const auto expect = [&](NTSTATUS sends, NTSTATUS receives) {
        ib_send_wr_t send = end.request(WR_SEND, 1);
        ib_send_wr_t* failed = nullptr;
        const NTSTATUS status = CiPostSend(end.pair, &send, &failed);
        if (status == STATUS_NOT_SUPPORTED)
            throw skipped{"CiPostSend returns STATUS_NOT_SUPPORTED"};
        EXPECT_STATUS(status, sends);
        EXPECT_EQ(failed, &send);
        EXPECT_STATUS(CiPostRecv(end.pair, &receive, nullptr), receives);
    };
    expect(STATUS_INVALID_DEVICE_STATE, STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(end.pair.modify(ci::to_init(rc, {})), STATUS_SUCCESS);
    end.skip_without_posts();
    expect(STATUS_INVALID_DEVICE_STATE, STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av = way_to_own_port(opened);
    path.dest_qp = end.pair->Num;
    EXPECT_STATUS(end.pair.modify(ci::to_rtr(rc, path)), STATUS_SUCCESS);
    expect(STATUS_INVALID_DEVICE_STATE, STATUS_SUCCESS);
}

void bad_work_request_ends_the_list(world& here) {
    transfer_scene scene(here);
    std::array<ib_local_ds_t, 64> segments{};
    std::array<ib_send_wr_t, 3> list{};
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = scene.one.remote(WR_RDMA_WRITE, i, scene.other, 8);
        list[i].p_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    }
    const auto refuses = [&](NTSTATUS expected) {
        ib_send_wr_t* failed = nullptr;
        const NTSTATUS status = CiPostSend(scene.one.pair, list.data(), &failed);
        EXPECT_STATUS(status, expected);
        EXPECT_EQ(failed, &list[1]);
        scene.one.expect(0);
    };
    scene.one.post(scene.one.remote(WR_RDMA_WRITE, 9, scene.other, 8)); // skips without posts
    scene.one.expect(9);
    list[1].ds_array = segments.data();
    list[1].num_ds = scene.one.pair->SqSge + 1;
    if (list[1].num_ds <= segments.size()) refuses(STATUS_INVALID_PARAMETER);
    list[1].num_ds = 1;
    list[1].wr_type = 99;
    refuses(STATUS_NOT_SUPPORTED);
    scene.one.expect_none();
}

void other_services_have_fewer_operations(world& here) {
    const transfer_scene connection(here, uc);
    const datagram_scene datagrams(here);
    const auto refuses = [&](const transfer_end& end, ib_wr_type_t type) {
        ib_send_wr_t what{};
        what.wr_type = type;
        const NTSTATUS status = CiPostSend(end.pair, &what, nullptr);
        EXPECT_STATUS(status, STATUS_INVALID_DEVICE_REQUEST) << type;
    };
    datagrams.own.skip_without_posts();
    for (const ib_wr_type_t type : {WR_RDMA_READ, WR_COMPARE_SWAP, WR_FETCH_ADD}) {
        refuses(connection.one, type);
        refuses(datagrams.own, type);
    }
    refuses(datagrams.own, WR_RDMA_WRITE);
}

constexpr const char* one_completion = "A work request that was posted generates one completion, "
                                       "unless it succeeds and is not signaled.";
constexpr const char* in_order =
    "Posts a list of work requests to the send queue, in order, up to the first that fails.";
constexpr const char* flushed =
    "In IB_QPS_ERROR and IB_QPS_SQERR work requests are posted, and flushed.";

constexpr test_case cases[] = {
    {"Transfer.Send_ReachesTheOldestReceive", one_completion, nothing, kind::steps,
     send_reaches_the_oldest_receive},
    {"Transfer.ImmediateData_Arrive", one_completion, nothing, kind::steps, immediate_data_arrive},
    {"Transfer.WritesAndReads_MoveBytes", one_completion, nothing, kind::steps,
     writes_and_reads_move_bytes},
    {"Transfer.Atomics_ReturnTheOriginalValue", one_completion, nothing, kind::steps,
     atomics_return_the_original_value},
    {"Transfer.AtomicWrite_WritesItsValue",
     "it writes atomic1 at once to 8 bytes aligned to 8, to which the peer grants "
     "IB_AC_RDMA_WRITE, and completes IB_WC_ATOMIC_WRITE when they are written.",
     nothing, kind::steps, atomic_write_writes_its_value},
    {"Transfer.MisalignedAtomicWrite_IsRefused", "to 8 bytes aligned to 8", nothing, kind::steps,
     misaligned_atomic_write_is_refused},
    {"Transfer.AtomicWriteWithSegments_IsNotPosted", "or an atomic write has data segments.",
     nothing, kind::steps, atomic_write_with_segments_is_not_posted},
    {"Transfer.InlineData_AreCopiedDuringTheCall",
     "of a send or write: data are copied during the call", nothing, kind::steps,
     inline_data_are_copied_during_the_call},
    {"Transfer.Datagram_ReachesItsQueuePair", one_completion, nothing, kind::steps,
     datagram_reaches_its_queue_pair},
    {"Transfer.WrongRKey_Fails", flushed, nothing, kind::steps, wrong_rkey_fails},
    {"Transfer.RangeBeyondTheRegion_Fails", one_completion, nothing, kind::steps,
     range_beyond_the_region_fails},
    {"Transfer.WrongLKey_Fails", flushed, nothing, kind::steps, wrong_lkey_fails},
    {"Transfer.MessageLongerThanItsReceive_Fails", flushed, nothing, kind::steps,
     message_longer_than_its_receive_fails},
    {"Transfer.MissingReceive_FailsAfterItsRetries", flushed, nothing, kind::steps,
     missing_receive_fails_after_its_retries},
    {"FlushQp.OutstandingReceives_AreFlushed",
     "Completes all outstanding work requests IB_WC_FLUSHED, as CiModifyQp to IB_QPS_ERROR does.",
     nothing, kind::steps, flush_completes_outstanding_receives},
    {"PostSend.List_CompletesInOrder", in_order, nothing, kind::steps, list_completes_in_order},
    {"PostSend.BadWorkRequest_EndsTheList", in_order, nothing, kind::steps,
     bad_work_request_ends_the_list},
    {"PostSend.State_DecidesWhetherItPosts",
     "STATUS_INVALID_DEVICE_STATE: the state is IB_QPS_RESET, IB_QPS_INIT or IB_QPS_RTR.", nothing,
     kind::steps, posts_depend_on_the_state},
    {"PostSend.OtherServices_HaveFewerOperations",
     "STATUS_INVALID_DEVICE_REQUEST: the type of the queue pair has no such work request, or no "
     "send queue.",
     nothing, kind::steps, other_services_have_fewer_operations},
};

} // namespace
} // namespace transfer_group

const std::span<const test_case> transfer_cases = transfer_group::cases;

} // namespace irpverbs::conformance
