#include "posts.hpp"

#include "address_vectors.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"
#include "memory_windows.hpp"

#include <ci/data_path.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

constexpr std::size_t piece_size = 16; // work requests per call of the provider

static_assert(sizeof(ib_local_ds_t) == sizeof(ibv_sge) &&
              alignof(ib_local_ds_t) == alignof(ibv_sge));
static_assert(offsetof(ib_local_ds_t, vaddr) == offsetof(ibv_sge, addr));
static_assert(offsetof(ib_local_ds_t, length) == offsetof(ibv_sge, length));
static_assert(offsetof(ib_local_ds_t, lkey) == offsetof(ibv_sge, lkey));

static_assert(IB_SEND_OPT_FENCE == IBV_SEND_FENCE << 1);
static_assert(IB_SEND_OPT_SIGNALED == IBV_SEND_SIGNALED << 1);
static_assert(IB_SEND_OPT_SOLICITED == IBV_SEND_SOLICITED << 1);
static_assert(IB_SEND_OPT_INLINE == IBV_SEND_INLINE << 1);

constexpr ULONG common_options =
    IB_SEND_OPT_FENCE | IB_SEND_OPT_SIGNALED | IB_SEND_OPT_SOLICITED | IB_SEND_OPT_INLINE;

ibv_sge* as_libibverbs(ib_local_ds_t* segments) { return reinterpret_cast<ibv_sge*>(segments); }

bool has(const ib_send_wr_t& what, ULONG option) { return (what.send_opt & option) != 0; }

// ---- send queues: each function converts what its work requests have

void convert_remote(const ib_send_wr_t& from, ibv_send_wr& to) {
    to.wr.rdma.remote_addr = from.remote_ops.vaddr;
    to.wr.rdma.rkey = from.remote_ops.rkey;
}

void convert_atomic(const ib_send_wr_t& from, ibv_send_wr& to) {
    to.wr.atomic.remote_addr = from.remote_ops.vaddr;
    to.wr.atomic.compare_add = from.remote_ops.atomic1;
    to.wr.atomic.swap = from.remote_ops.atomic2;
    to.wr.atomic.rkey = from.remote_ops.rkey;
}

NTSTATUS convert_peer(const ib_send_wr_t& from, ibv_send_wr& to) {
    if (from.dgrm.ud.h_av == nullptr) return STATUS_INVALID_PARAMETER;
    to.wr.ud.ah = handle_of(from.dgrm.ud.h_av);
    to.wr.ud.remote_qpn = from.dgrm.ud.remote_qp;
    to.wr.ud.remote_qkey = from.dgrm.ud.remote_qkey;
    return STATUS_SUCCESS;
}

NTSTATUS convert_binding(const ib_send_bind_mw_t& from, ibv_send_wr& to) {
    if (from.h_mw == nullptr || from.h_mw->Type != IB_MWT_TYPE_2 || from.h_mr == nullptr)
        return STATUS_INVALID_PARAMETER;
    to.opcode = IBV_WR_BIND_MW;
    to.bind_mw.mw = window_of(from.h_mw);
    to.bind_mw.rkey = from.rkey;
    to.bind_mw.bind_info = {region_of(from.h_mr), from.vaddr, from.length,
                            static_cast<unsigned>(access_flags(from.access_flags))};
    return STATUS_SUCCESS;
}

template <ib_qp_type_t Type>
NTSTATUS convert_send(const ib_send_wr_t& from, ibv_send_wr& to) {
    to.opcode = IBV_WR_SEND;
    if (has(from, IB_SEND_OPT_IMMEDIATE)) {
        to.opcode = IBV_WR_SEND_WITH_IMM;
        to.imm_data = from.immediate_data;
    } else if (has(from, IB_SEND_OPT_INVALIDATE)) {
        if constexpr (Type != IB_QPT_RELIABLE_CONN) return STATUS_INVALID_DEVICE_REQUEST;
        to.opcode = IBV_WR_SEND_WITH_INV;
        to.invalidate_rkey = from.invalidate_rkey;
    }
    if constexpr (Type == IB_QPT_UNRELIABLE_DGRM) return convert_peer(from, to);
    return STATUS_SUCCESS;
}

// Source: IBA 10.8.2.1 (operations of each service).
template <ib_qp_type_t Type>
NTSTATUS convert_operation(const ib_send_wr_t& from, ibv_send_wr& to) {
    constexpr bool is_connected = Type != IB_QPT_UNRELIABLE_DGRM;
    constexpr bool is_reliable = Type == IB_QPT_RELIABLE_CONN;
    switch (from.wr_type) {
    case WR_SEND:
        return convert_send<Type>(from, to);
    case WR_RDMA_WRITE:
        if (!is_connected) return STATUS_INVALID_DEVICE_REQUEST;
        to.opcode = IBV_WR_RDMA_WRITE;
        if (has(from, IB_SEND_OPT_IMMEDIATE)) {
            to.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
            to.imm_data = from.immediate_data;
        }
        convert_remote(from, to);
        return STATUS_SUCCESS;
    case WR_RDMA_READ:
        to.opcode = IBV_WR_RDMA_READ;
        convert_remote(from, to);
        break;
    case WR_COMPARE_SWAP:
        to.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
        convert_atomic(from, to);
        break;
    case WR_FETCH_ADD:
        to.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        convert_atomic(from, to);
        break;
    case WR_LOCAL_INV:
        if (!is_connected) return STATUS_INVALID_DEVICE_REQUEST;
        to.opcode = IBV_WR_LOCAL_INV;
        to.invalidate_rkey = from.invalidate_rkey;
        return STATUS_SUCCESS;
    case WR_BIND_MW:
        if (!is_connected) return STATUS_INVALID_DEVICE_REQUEST;
        return convert_binding(from.bind_mw, to);
    default:
        return STATUS_NOT_SUPPORTED;
    }
    return is_reliable ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
}

template <ib_qp_type_t Type>
NTSTATUS convert(const post_target& on, const ib_send_wr_t& from, ibv_send_wr& to) {
    const ULONG most = from.wr_type == WR_RDMA_READ ? on.read_segments : on.send_segments;
    if (from.num_ds > most) return STATUS_INVALID_PARAMETER;
    to.wr_id = from.wr_id;
    to.sg_list = as_libibverbs(from.ds_array);
    to.num_sge = static_cast<int>(from.num_ds);
    to.send_flags = provider_flags(from.send_opt);
    return convert_operation<Type>(from, to);
}

int post(const post_target& to, ibv_send_wr* piece, ibv_send_wr** bad) {
    return ibv_post_send(to.pair, piece, bad);
}

// ---- receive queues

template <class Target>
NTSTATUS convert(const Target& on, const ib_recv_wr_t& from, ibv_recv_wr& to) {
    if (from.num_ds > on.receive_segments) return STATUS_INVALID_PARAMETER;
    to.wr_id = from.wr_id;
    to.sg_list = as_libibverbs(from.ds_array);
    to.num_sge = static_cast<int>(from.num_ds);
    return STATUS_SUCCESS;
}

int post(const post_target& to, ibv_recv_wr* piece, ibv_recv_wr** bad) {
    return ibv_post_recv(to.pair, piece, bad);
}

int post(const shared_post_target& to, ibv_recv_wr* piece, ibv_recv_wr** bad) {
    return ibv_post_srq_recv(to.queue, piece, bad);
}

// ---- lists

// A provider's error for a full queue is ENOMEM. siw has neither immediate data nor atomics.
NTSTATUS status_of_failed(const post_target& to, int result, const ib_send_wr_t& what) {
    const int error = failure_of(result);
    const bool is_extra = what.wr_type == WR_COMPARE_SWAP || what.wr_type == WR_FETCH_ADD ||
                          has(what, IB_SEND_OPT_IMMEDIATE);
    if (error == EINVAL && is_extra && to.context.is_iwarp()) return STATUS_NOT_SUPPORTED;
    return to.context.failure(error);
}
template <class Target>
NTSTATUS status_of_failed(const Target& to, int result, const ib_recv_wr_t&) {
    return to.context.failure(failure_of(result));
}

template <class Request>
Request* skip(Request* from, std::ptrdiff_t count) {
    while (count-- > 0)
        from = from->p_next;
    return from;
}

// A provider reads the key that a window has before its binding, and leaves the new one to the
// caller. So a binding is the last of its piece.
bool ends_piece(const ib_send_wr_t& what) { return what.wr_type == WR_BIND_MW; }
bool ends_piece(const ib_recv_wr_t&) { return false; }

void note_posted(const ib_send_wr_t& last) {
    if (last.wr_type == WR_BIND_MW) window_of(last.bind_mw.h_mw)->rkey = last.bind_mw.rkey;
}
void note_posted(const ib_recv_wr_t&) {}

/// Posts the list in pieces, which are converted on the stack. `convert_one(from, to)` returns a
/// status.
template <class Theirs, class Target, class Request, class Convert>
NTSTATUS post_list(const Target& to, Request* list, Request** failed, const Convert& convert_one) {
    NTSTATUS status = STATUS_SUCCESS;
    while (list != nullptr && status == STATUS_SUCCESS) {
        std::array<Theirs, piece_size> piece; // converted from `list` to `rest`
        Request* rest = list;
        Request* last = nullptr;
        std::size_t count = 0;
        while (rest != nullptr && count < piece_size) {
            status = convert_one(to, *rest, piece[count]);
            if (status != STATUS_SUCCESS) break;
            piece[count].next = &piece[count] + 1;
            ++count;
            last = std::exchange(rest, rest->p_next);
            if (ends_piece(*last)) break;
        }
        if (count != 0) {
            piece[count - 1].next = nullptr;
            Theirs* bad = piece.data();
            if (const int result = post(to, piece.data(), &bad); result != 0) {
                *failed = skip(list, bad - piece.data());
                return status_of_failed(to, result, **failed);
            }
            note_posted(*last);
        }
        list = rest;
    }
    if (status != STATUS_SUCCESS) *failed = list;
    return status;
}

template <ib_qp_type_t Type>
NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    const auto& to = *static_cast<const post_target*>(queue);
    return post_list<ibv_send_wr>(to, list, failed, convert<Type>);
}

template <class Target>
NTSTATUS post_receives(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const auto& to = *static_cast<const Target*>(queue);
    return post_list<ibv_recv_wr>(to, list, failed, convert<Target>);
}
constexpr PFN_HCA_POST_RECV post_receive = post_receives<post_target>;

template <class Request>
NTSTATUS refuse(void*, Request* list, Request** failed) {
    *failed = list;
    return STATUS_INVALID_DEVICE_STATE;
}

PFN_HCA_POST_SEND post_send_of(ib_qp_type_t type) {
    switch (type) {
    case IB_QPT_RELIABLE_CONN:
        return post_send<IB_QPT_RELIABLE_CONN>;
    case IB_QPT_UNRELIABLE_CONN:
        return post_send<IB_QPT_UNRELIABLE_CONN>;
    default:
        return post_send<IB_QPT_UNRELIABLE_DGRM>;
    }
}

} // namespace

NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    return post_receives<shared_post_target>(queue, list, failed);
}

bool may_send(ib_qp_state_t state) {
    return state != IB_QPS_RESET && state != IB_QPS_INIT && state != IB_QPS_RTR;
}

unsigned provider_flags(ib_send_opt_t options) { return (options & common_options) >> 1; }

post_functions posts_in(ib_qp_state_t state, ib_qp_type_t type) {
    switch (state) {
    case IB_QPS_RESET:
        return {refuse<ib_send_wr_t>, refuse<ib_recv_wr_t>};
    case IB_QPS_INIT:
    case IB_QPS_RTR:
        return {refuse<ib_send_wr_t>, post_receive};
    default:
        return {post_send_of(type), post_receive};
    }
}

} // namespace irpverbs::hca_rdma
