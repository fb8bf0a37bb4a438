#include "queue_pair.hpp"

#include "completion_queue.hpp"
#include "memory.hpp"
#include "open_device.hpp"
#include "own_objects.hpp"
#include "qp_attributes.hpp"
#include "shared_receive_queue.hpp"
#include "verb_call.hpp"
#include "xrc_domain.hpp"

#include <algorithm>
#include <new>

namespace irpverbs::verbs {

namespace {

void qp_event_occurred(void* queue, IB_ASYNC_EVENT event) {
    auto& self = *static_cast<queue_pair*>(queue);
    self.events.add_to(open_device::of(self.qp_base.context).events, event);
}

IB_CQ* own(ibv_cq* shown) { return shown != nullptr ? completion_queue::of(shown).cq : nullptr; }

constexpr std::uint32_t known_qp_masks = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                         IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                         IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

constexpr std::uint64_t datagram_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr std::uint64_t unreliable_ops =
    datagram_ops | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr std::uint64_t reliable_ops = unreliable_ops | IBV_QP_EX_WITH_RDMA_READ |
                                       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

constexpr std::uint64_t window_ops =
    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;

std::uint64_t supported_ops(ibv_qp_type type, const IB_CA_ATTR& of) {
    if (type == IBV_QPT_UD) return datagram_ops;
    if (type == IBV_QPT_XRC_RECV) return 0;
    constexpr ULONG windows = IB_CA_CAP_MEMORY_WINDOWS_2A | IB_CA_CAP_MEMORY_WINDOWS_2B;
    const bool has_windows = (of.Capabilities & windows) != 0;
    const std::uint64_t more = has_windows ? window_ops : 0;
    if (type == IBV_QPT_UC) return unreliable_ops | more;
    const bool has_atomic_write = (of.Extended.Flags & IB_CA_FLAG_ATOMIC_WRITE) != 0;
    return reliable_ops | more | (has_atomic_write ? IBV_QP_EX_WITH_ATOMIC_WRITE : 0);
}

bool names(const ibv_qp_init_attr_ex& attr, std::uint32_t mask) {
    return (attr.comp_mask & mask) != 0;
}

// Operations that are refused here are never called: an extended queue pair has functions for all
// others.
bool is_supported(const ibv_qp_init_attr_ex& attr, const IB_CA_ATTR& by) {
    return (attr.comp_mask & ~known_qp_masks) == 0 &&
           (!names(attr, IBV_QP_INIT_ATTR_CREATE_FLAGS) || attr.create_flags == 0) &&
           (!names(attr, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
            (attr.send_ops_flags & ~supported_ops(attr.qp_type, by)) == 0);
}

// As the providers of rdma-core, which put inline data in the place of segments: there is room for
// as many bytes, also without a request. rdma_xclient counts on it.
ULONG inline_room(const ibv_qp_cap& wanted, ULONG limit) {
    const ULONGLONG segments = ULONGLONG{wanted.max_send_sge} * sizeof(ibv_sge);
    return std::max(wanted.max_inline_data,
                    static_cast<ULONG>(std::min<ULONGLONG>(segments, limit)));
}

void set_sends(ib_qp_create_t& create, const ibv_qp_init_attr_ex& attr, ULONG most_inline) {
    create.h_sq_cq = own(attr.send_cq);
    create.sq_depth = attr.cap.max_send_wr;
    create.sq_sge = attr.cap.max_send_sge;
    create.sq_max_inline = inline_room(attr.cap, most_inline);
    create.sq_signaled = attr.sq_sig_all != 0;
}

void set_receives(ib_qp_create_t& create, const ibv_qp_init_attr_ex& attr) {
    create.h_rq_cq = own(attr.recv_cq);
    if (attr.srq != nullptr) {
        create.h_srq = shared_receive_queue::of(attr.srq).srq;
    } else {
        create.rq_depth = attr.cap.max_recv_wr;
        create.rq_sge = attr.cap.max_recv_sge;
    }
}

// Attributes of a queue that the type does not have are ignored, as by libibverbs.
ib_qp_create_t creation_of(queue_pair& made, const ibv_qp_init_attr_ex& attr, ib_qp_type_t type,
                           ULONG most_inline) {
    ib_qp_create_t create{};
    create.qp_context = &made;
    create.dispatch.AsyncEvent = qp_event_occurred;
    create.qp_type = type;
    if (type == IB_QPT_XRC_TGT)
        create.h_xrcd = xrc_domain::of(attr.xrcd).own();
    else
        set_sends(create, attr, most_inline);
    if (type != IB_QPT_XRC_TGT && type != IB_QPT_XRC_INI) set_receives(create, attr);
    return create;
}

// Null: the attributes lack the domain that the type needs.
IB_PD* domain_of(const ibv_qp_init_attr_ex& attr) {
    if (attr.qp_type == IBV_QPT_XRC_RECV)
        return names(attr, IBV_QP_INIT_ATTR_XRCD) ? xrc_domain::of(attr.xrcd).protection()
                                                  : nullptr;
    return attr.pd != nullptr ? protection_domain::of(attr.pd).own() : nullptr;
}

void prepare(queue_pair& made, ibv_context* of, const ibv_qp_init_attr_ex& attr) {
    ibv_qp& shown = made.qp_base;
    shown.context = of;
    shown.qp_context = attr.qp_context;
    shown.pd = attr.pd;
    shown.send_cq = attr.send_cq;
    shown.recv_cq = attr.recv_cq;
    shown.srq = attr.srq;
    shown.qp_type = attr.qp_type;
    shown.state = IBV_QPS_RESET;
    pthread_mutex_init(&shown.mutex, nullptr);
    pthread_cond_init(&shown.cond, nullptr);
    made.signals_all = attr.sq_sig_all != 0;
    made.events.initialise(IB_AE_PATH_MIGRATED, &shown);
}

ibv_qp_cap granted(const IB_QP& qp) {
    return {qp.SqDepth, qp.RqDepth, qp.SqSge, qp.RqSge, qp.SqMaxInline};
}

// Throws std::bad_alloc.
void make_extended(queue_pair& made) {
    made.builder = std::make_unique<work_request_builder>(*made.qp);
    fill_table(made);
}

// Writes what was granted to `attr`. Returns null and sets errno. Throws std::bad_alloc.
queue_pair* create(ibv_context* of, ibv_qp_init_attr_ex& attr) {
    ib_qp_type_t type = 0;
    const bool has_type = type_from_libibverbs(attr.qp_type, type);
    IB_PD* const domain = domain_of(attr);
    if (!has_type || !is_supported(attr, open_device::of(of).limits()) || domain == nullptr) {
        errno = has_type && domain != nullptr ? EOPNOTSUPP : EINVAL;
        return nullptr;
    }
    auto made = std::make_unique<queue_pair>();
    prepare(*made, of, attr);
    const ib_qp_create_t create =
        creation_of(*made, attr, type, open_device::of(of).limits().MaxInlineData);
    made->qp = own_object<IB_QP>(open_device::of(of).ca(), call(CiCreateQp, domain, &create,
                                                                static_cast<CI_UDATA*>(nullptr)));
    if (made->qp == nullptr) return nullptr;
    made->qp_base.qp_num = made->qp_base.handle = made->qp->Num;
    attr.cap = granted(*made->qp);
    return made.release();
}

void remove_completions(const ibv_qp& of) {
    if (of.send_cq != nullptr) completion_queue::of(of.send_cq).remove_completions(of.qp_num);
    if (of.recv_cq != nullptr && of.recv_cq != of.send_cq)
        completion_queue::of(of.recv_cq).remove_completions(of.qp_num);
}

/// The attributes that the kernel's interface leaves out for a type, since it is one half of a
/// connection: programs name them for both halves.
constexpr int attributes_left_out(ibv_qp_type type) {
    if (type == IBV_QPT_XRC_SEND) return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (type == IBV_QPT_XRC_RECV)
        return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    return 0;
}

int destroy(queue_pair& ended) {
    const outcome done = destroy_own(CiDestroyQp, ended.qp);
    if (!done) return done.error();
    ibv_qp& shown = ended.qp_base;
    await_acknowledgements(shown.mutex, shown.cond, shown.events_completed,
                           ended.events.remove_from(open_device::of(shown.context).events));
    remove_completions(shown);
    delete &ended;
    return 0;
}

} // namespace

ibv_qp* create_qp_ex(ibv_context* of, ibv_qp_init_attr_ex* attr) try {
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) attr->pd = nullptr;
    queue_pair* made = create(of, *attr);
    if (made == nullptr) return nullptr;
    if (names(*attr, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) {
        try {
            make_extended(*made);
        } catch (const std::bad_alloc&) {
            destroy(*made);
            throw;
        }
    }
    return &made->qp_base;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_qp* irpverbs_ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
    ibv_qp_init_attr_ex extended{};
    extended.qp_context = attr->qp_context;
    extended.send_cq = attr->send_cq;
    extended.recv_cq = attr->recv_cq;
    extended.srq = attr->srq;
    extended.cap = attr->cap;
    extended.qp_type = attr->qp_type;
    extended.sq_sig_all = attr->sq_sig_all;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
    ibv_qp* made = create_qp_ex(pd->context, &extended);
    if (made != nullptr) attr->cap = extended.cap;
    return made;
}

ibv_qp_ex* irpverbs_ibv_qp_to_qp_ex(ibv_qp* qp) {
    auto& self = queue_pair::of(qp);
    return self.builder != nullptr ? &self : nullptr;
}

int irpverbs_ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
    ib_qp_mod_t change{};
    mask &= ~attributes_left_out(qp->qp_type);
    if (!change_from_libibverbs(*attr, mask, change)) return invalid_arguments.error();
    const outcome done =
        call(CiModifyQp, queue_pair::of(qp).qp, &change, static_cast<CI_UDATA*>(nullptr));
    if (!done || (mask & IBV_QP_STATE) == 0) return done.error();
    qp->state = attr->qp_state;
    if (qp->state == IBV_QPS_RESET) remove_completions(*qp);
    return 0;
}

int irpverbs_ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
    ib_qp_attr_t seen{};
    const outcome done = call(CiQueryQp, queue_pair::of(qp).qp, sizeof(seen), &seen,
                              static_cast<CI_UDATA*>(nullptr));
    if (!done) return done.error();
    *attr = as_libibverbs(seen);
    qp->state = attr->qp_state;
    *init_attr = {qp->qp_context,
                  qp->send_cq,
                  qp->recv_cq,
                  qp->srq,
                  attr->cap,
                  qp->qp_type,
                  queue_pair::of(qp).signals_all};
    return 0;
}

int irpverbs_ibv_destroy_qp(ibv_qp* qp) { return destroy(queue_pair::of(qp)); }

int irpverbs_ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) { return 0; }

} // extern "C"
