#include "posts.hpp"

#include "address.hpp"
#include "memory_window.hpp"
#include "queue_pair.hpp"
#include "shared_receive_queue.hpp"
#include "verb_call.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace irpverbs::verbs {

namespace {

// Segments are passed as they are.
static_assert(sizeof(ib_local_ds_t) == sizeof(ibv_sge));
static_assert(offsetof(ib_local_ds_t, vaddr) == offsetof(ibv_sge, addr));
static_assert(offsetof(ib_local_ds_t, length) == offsetof(ibv_sge, length));
static_assert(offsetof(ib_local_ds_t, lkey) == offsetof(ibv_sge, lkey));

struct operation {
    ib_wr_type_t type;
    ib_send_opt_t options;
};

// Index: ibv_wr_opcode. 0: it does not exist, or not here.
constexpr std::array<operation, IBV_WR_ATOMIC_WRITE + 1> operations{
    operation{WR_RDMA_WRITE, 0},
    {WR_RDMA_WRITE, IB_SEND_OPT_IMMEDIATE},
    {WR_SEND, 0},
    {WR_SEND, IB_SEND_OPT_IMMEDIATE},
    {WR_RDMA_READ, 0},
    {WR_COMPARE_SWAP, 0},
    {WR_FETCH_ADD, 0},
    {WR_LOCAL_INV, 0},
    {WR_BIND_MW, 0},
    {WR_SEND, IB_SEND_OPT_INVALIDATE},
    {}, // IBV_WR_TSO
    {}, // IBV_WR_DRIVER1
    {},
    {},
    {},
    {WR_ATOMIC_WRITE, 0},
};

template <class To, class From>
void set_common(To& to, const From& from) {
    to.wr_id = from.wr_id;
    to.ds_array = reinterpret_cast<ib_local_ds_t*>(from.sg_list);
    to.num_ds = static_cast<ULONG>(from.num_sge);
}

// The value is read at once, as inline data are. Returns false if it does not have 8 bytes.
bool translate_atomic_write(const ibv_send_wr& from, ib_send_wr_t& to) {
    ULONGLONG value = 0;
    if (from.num_sge != 1 || from.sg_list->length != sizeof(value)) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(from.sg_list->addr), sizeof(value));
    to.num_ds = 0;
    to.remote_ops = {from.wr.rdma.remote_addr, value, 0, from.wr.rdma.rkey};
    return true;
}

// Returns false for an operation that does not exist.
bool translate(const ibv_send_wr& from, ibv_qp_type type, ib_send_wr_t& to) {
    const auto index = static_cast<std::size_t>(from.opcode);
    if (index >= operations.size() || operations[index].type == 0) return false;
    if ((from.send_flags & IBV_SEND_IP_CSUM) != 0) return false;
    set_common(to, from);
    to.wr_type = operations[index].type;
    to.send_opt = options_of(from.send_flags) | operations[index].options;
    to.immediate_data = from.imm_data; // or the key to be invalidated
    to.remote_srq = type == IBV_QPT_XRC_SEND ? from.qp_type.xrc.remote_srqn : 0;
    if (type == IBV_QPT_UD) {
        const bool has_way = from.wr.ud.ah != nullptr;
        to.dgrm.ud = {has_way ? address_handle::of(from.wr.ud.ah).av : nullptr,
                      from.wr.ud.remote_qpn, from.wr.ud.remote_qkey, 0};
    } else if (to.wr_type == WR_BIND_MW) {
        to.bind_mw = binding_of(from.bind_mw.mw, from.bind_mw.rkey, from.bind_mw.bind_info);
    } else if (to.wr_type == WR_ATOMIC_WRITE) {
        return translate_atomic_write(from, to);
    } else if (to.wr_type == WR_COMPARE_SWAP || to.wr_type == WR_FETCH_ADD) {
        to.remote_ops = {from.wr.atomic.remote_addr, from.wr.atomic.compare_add,
                         from.wr.atomic.swap, from.wr.atomic.rkey};
    } else {
        to.remote_ops = {from.wr.rdma.remote_addr, 0, 0, from.wr.rdma.rkey};
    }
    return true;
}

/// Work requests that one call posts.
constexpr std::size_t most_in_batch = 8;

/// Posts a list in batches. `translate(from, to)` returns false for a work request that can't be
/// posted; `post(batch, &failed)` posts a batch.
template <class To, class From, class Translate, class Post>
int post_list(From* list, From** failed, const Translate& translate, const Post& post) {
    std::array<To, most_in_batch> batch;
    while (list != nullptr) {
        From* next = list;
        std::size_t count = 0;
        bool is_good = true;
        while (next != nullptr && count != batch.size() &&
               (is_good = translate(*next, batch[count]))) {
            if (count != 0) batch[count - 1].p_next = &batch[count];
            batch[count++].p_next = nullptr;
            next = next->next;
        }
        To* first_failed = nullptr;
        const NTSTATUS status = count != 0 ? post(batch.data(), &first_failed) : STATUS_SUCCESS;
        if (!NT_SUCCESS(status)) {
            for (const To* each = batch.data(); each != first_failed; ++each)
                list = list->next;
            *failed = list;
            return drop_in::error_of(status);
        }
        if (!is_good) {
            *failed = next;
            return EINVAL;
        }
        list = next;
    }
    return 0;
}

bool translate_receive(const ibv_recv_wr& from, ib_recv_wr_t& to) {
    set_common(to, from);
    return true;
}

} // namespace

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** failed) {
    return post_list<ib_send_wr_t>(
        list, failed,
        [type = qp->qp_type](const ibv_send_wr& from, ib_send_wr_t& to) {
            return translate(from, type, to);
        },
        [qp = queue_pair::of(qp).qp](ib_send_wr_t* batch, ib_send_wr_t** first_failed) {
            return CiPostSend(qp, batch, first_failed);
        });
}

int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** failed) {
    return post_list<ib_recv_wr_t>(
        list, failed, translate_receive,
        [qp = queue_pair::of(qp).qp](ib_recv_wr_t* batch, ib_recv_wr_t** first_failed) {
            return CiPostRecv(qp, batch, first_failed);
        });
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** failed) {
    return post_list<ib_recv_wr_t>(list, failed, translate_receive,
                                   [srq = shared_receive_queue::of(srq).srq](
                                       ib_recv_wr_t* batch, ib_recv_wr_t** first_failed) {
                                       return CiPostSrqRecv(srq, batch, first_failed);
                                   });
}

} // namespace irpverbs::verbs
