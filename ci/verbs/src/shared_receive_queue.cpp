#include "shared_receive_queue.hpp"

#include "completion_queue.hpp"
#include "memory.hpp"
#include "open_device.hpp"
#include "own_objects.hpp"
#include "verb_call.hpp"
#include "xrc_domain.hpp"

#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

void srq_event_occurred(void* queue, IB_ASYNC_EVENT event) {
    auto& self = *static_cast<shared_receive_queue*>(queue);
    self.events.add_to(open_device::of(self.context).events, event);
}

void prepare(shared_receive_queue& made, ibv_pd* pd, void* srq_context) {
    made.context = pd->context;
    made.srq_context = srq_context;
    made.pd = pd;
    made.events.initialise(IB_AE_PATH_MIGRATED, static_cast<ibv_srq*>(&made));
    pthread_mutex_init(&made.mutex, nullptr);
    pthread_cond_init(&made.cond, nullptr);
}

// Writes what was granted to `attr`.
ibv_srq* create(ibv_pd* pd, void* srq_context, ibv_srq_attr& attr, IB_XRCD* xrcd = nullptr,
                IB_CQ* cq = nullptr) {
    std::unique_ptr<shared_receive_queue> made(new (std::nothrow) shared_receive_queue{});
    if (made == nullptr) return nullptr;
    prepare(*made, pd, srq_context);
    const ib_srq_create_t create{made.get(), {srq_event_occurred}, attr.max_wr, attr.max_sge, xrcd,
                                 cq};
    made->srq = own_object<IB_SRQ>(open_device::of(pd->context).ca(),
                                   call(CiCreateSrq, protection_domain::of(pd).own(), &create,
                                        static_cast<CI_UDATA*>(nullptr)));
    if (made->srq == nullptr) return nullptr;
    attr.max_wr = made->srq->MaxWr;
    attr.max_sge = made->srq->MaxSge;
    return made.release();
}

constexpr std::uint32_t xrc_masks =
    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

} // namespace

// The header sends requests for a basic queue to ibv_create_srq.
ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* attr) {
    const bool has_type = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
    if (!has_type || attr->srq_type != IBV_SRQT_XRC || (attr->comp_mask & ~xrc_masks) != 0) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (attr->comp_mask != xrc_masks) {
        errno = EINVAL;
        return nullptr;
    }
    return create(attr->pd, attr->srq_context, attr->attr, xrc_domain::of(attr->xrcd).own(),
                  completion_queue::of(attr->cq).cq);
}

int srq_number(ibv_srq* srq, std::uint32_t* number) {
    *number = shared_receive_queue::of(srq).srq->Num;
    return *number != 0 ? 0 : EOPNOTSUPP;
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_srq* irpverbs_ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
    return create(pd, attr->srq_context, attr->attr);
}

int irpverbs_ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
    const ib_srq_mod_t change{static_cast<ULONG>(mask), attr->max_wr, attr->srq_limit};
    static_assert(IB_MOD_SRQ_MAX_WR == IBV_SRQ_MAX_WR && IB_MOD_SRQ_LIMIT == IBV_SRQ_LIMIT);
    return call(CiModifySrq, shared_receive_queue::of(srq).srq, &change,
                static_cast<CI_UDATA*>(nullptr))
        .error();
}

int irpverbs_ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
    ib_srq_attr_t seen{};
    const outcome done = call(CiQuerySrq, shared_receive_queue::of(srq).srq, sizeof(seen), &seen,
                              static_cast<CI_UDATA*>(nullptr));
    if (done) *attr = {seen.max_wr, seen.max_sge, seen.srq_limit};
    return done.error();
}

int irpverbs_ibv_destroy_srq(ibv_srq* srq) {
    auto& ended = shared_receive_queue::of(srq);
    const outcome done = destroy_own(CiDestroySrq, ended.srq);
    if (!done) return done.error();
    await_acknowledgements(srq->mutex, srq->cond, srq->events_completed,
                           ended.events.remove_from(open_device::of(srq->context).events));
    delete &ended;
    return 0;
}

} // extern "C"
