#include "completion_queue.hpp"

#include "open_device.hpp"
#include "own_objects.hpp"
#include "verb_call.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <sched.h>

namespace irpverbs::verbs {

// IB_WC is ibv_wc, so that polls write to the caller's entries.
static_assert(sizeof(IB_WC) == sizeof(ibv_wc) &&
              offsetof(IB_WC, Flags) == offsetof(ibv_wc, wc_flags));
static_assert(offsetof(IB_WC, PathBits) == offsetof(ibv_wc, dlid_path_bits));

namespace {

constexpr unsigned shown_flags = IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_IP_CSUM_OK | IBV_WC_WITH_INV;

// A program that polls never blocks, while its peer may wait for the processor.
constexpr unsigned polls_before_yield = 64;

void completed(void* queue) {
    auto& self = *static_cast<completion_queue*>(queue);
    if (self.channel != nullptr) completion_channel::of(self.channel).events.add(self.completion);
}

void failed(void* queue, IB_ASYNC_EVENT event) {
    auto& self = *static_cast<completion_queue*>(queue);
    self.error.add_to(open_device::of(self.context).events, event);
}

} // namespace

int completion_queue::take(int count, ibv_wc* entries) {
    int taken = 0;
    for (; next_kept_ != kept_.size() && taken != count; ++next_kept_)
        entries[taken++] = kept_[next_kept_];
    if (taken == count) return taken;
    ULONG more = 0;
    const NTSTATUS polled = CiGetCqResults(cq, static_cast<ULONG>(count - taken),
                                           reinterpret_cast<IB_WC*>(entries + taken), &more);
    if (!NT_SUCCESS(polled) && taken == 0) return -1;
    for (ULONG i = 0; i < more; ++i)
        entries[taken++].wc_flags &= shown_flags;
    return taken;
}

int completion_queue::poll(int count, ibv_wc* entries) {
    if (count <= 0) return 0;
    bool idle = false;
    int taken = 0;
    {
        const std::lock_guard guard(poll_lock_);
        taken = take(count, entries);
        empty_polls_ = taken == 0 ? empty_polls_ + 1 : 0;
        idle = empty_polls_ == polls_before_yield;
        if (idle) empty_polls_ = 0;
    }
    if (idle) sched_yield();
    return taken;
}

// Without memory the completions stay: the program may still poll them.
void completion_queue::remove_completions(std::uint32_t qp_num) try {
    const std::lock_guard guard(poll_lock_);
    std::vector<ibv_wc> all;
    all.reserve(kept_.size() - next_kept_ + cq->NumCqes); // those that are kept are taken first
    std::array<ibv_wc, 64> some;
    while (all.size() < all.capacity()) {
        const std::size_t room = std::min(some.size(), all.capacity() - all.size());
        const int count = take(static_cast<int>(room), some.data());
        if (count <= 0) break;
        all.insert(all.end(), some.begin(), some.begin() + count);
    }
    std::erase_if(all, [&](const ibv_wc& each) { return each.qp_num == qp_num; });
    kept_ = std::move(all);
    next_kept_ = 0;
} catch (const std::bad_alloc&) { // of the reservation, before any was taken
}

int completion_queue::arm(bool solicited_only) {
    const ULONG flags = solicited_only ? IB_CQ_ARM_SOLICITED : IB_CQ_ARM_NEXT;
    return drop_in::error_of(CiArmCqNow(cq, flags));
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* entries) {
    return completion_queue::of(cq).poll(count, entries);
}

int request_notification(ibv_cq* cq, int solicited_only) {
    return completion_queue::of(cq).arm(solicited_only != 0);
}

namespace {

void prepare(completion_queue& made, ibv_context* of, const ibv_cq_init_attr_ex& attr) {
    made.context = of;
    made.channel = attr.channel;
    made.cq_context = attr.cq_context;
    made.completion.owner = made.shown();
    made.error.initialise(IB_AE_CQ_ERROR, made.shown());
    pthread_mutex_init(&made.mutex, nullptr);
    pthread_cond_init(&made.cond, nullptr);
}

void count_channel(ibv_comp_channel* channel, int change) {
    if (channel == nullptr) return;
    pthread_mutex_lock(&channel->context->mutex);
    channel->refcnt += change;
    pthread_mutex_unlock(&channel->context->mutex);
}

completion_queue* create(ibv_context* of, const ibv_cq_init_attr_ex& attr) {
    if (attr.comp_vector >= static_cast<unsigned>(of->num_comp_vectors)) {
        errno = EINVAL;
        return nullptr;
    }
    std::unique_ptr<completion_queue> made(new (std::nothrow) completion_queue{});
    if (made == nullptr) return nullptr;
    prepare(*made, of, attr);
    constexpr IB_CQ_DISPATCH up_calls{completed, failed};
    IB_CA* const ca = open_device::of(of).ca();
    made->cq =
        own_object<IB_CQ>(ca, call(CiCreateCq, ca, ULONG{attr.cqe}, static_cast<void*>(made.get()),
                                   &up_calls, static_cast<CI_UDATA*>(nullptr)));
    if (made->cq == nullptr) return nullptr;
    made->cqe = static_cast<int>(made->cq->NumCqes);
    count_channel(attr.channel, 1);
    return made.release();
}

constexpr std::uint32_t known_cq_masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

bool is_supported(const ibv_cq_init_attr_ex& attr) {
    const bool has_flags = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
    return (attr.comp_mask & ~known_cq_masks) == 0 &&
           (attr.wc_flags & ~std::uint64_t{IBV_WC_STANDARD_FLAGS}) == 0 &&
           (!has_flags || (attr.flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) == 0);
}

} // namespace

ibv_cq_ex* create_cq_ex(ibv_context* of, ibv_cq_init_attr_ex* attr) {
    if (!is_supported(*attr)) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    completion_queue* made = create(of, *attr);
    if (made != nullptr) fill_table(*made);
    return made;
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_comp_channel* irpverbs_ibv_create_comp_channel(ibv_context* of) {
    std::unique_ptr<completion_channel> made(new (std::nothrow) completion_channel{});
    if (made == nullptr || !made->events.open()) return nullptr;
    made->context = of;
    made->fd = made->events.descriptor();
    open_device::of(of).hca->add_channel(made->events);
    return made.release();
}

int irpverbs_ibv_destroy_comp_channel(ibv_comp_channel* shown) {
    pthread_mutex_lock(&shown->context->mutex);
    const bool is_used = shown->refcnt != 0;
    pthread_mutex_unlock(&shown->context->mutex);
    if (is_used) return EBUSY;
    auto& ended = completion_channel::of(shown);
    open_device::of(shown->context).hca->remove_channel(ended.events);
    delete &ended;
    return 0;
}

ibv_cq* irpverbs_ibv_create_cq(ibv_context* of, int cqe, void* cq_context,
                               ibv_comp_channel* channel, int comp_vector) {
    if (cqe <= 0 || comp_vector < 0) {
        errno = EINVAL;
        return nullptr;
    }
    ibv_cq_init_attr_ex attr{};
    attr.cqe = static_cast<std::uint32_t>(cqe);
    attr.cq_context = cq_context;
    attr.channel = channel;
    attr.comp_vector = static_cast<std::uint32_t>(comp_vector);
    completion_queue* made = create(of, attr);
    return made != nullptr ? made->shown() : nullptr;
}

int irpverbs_ibv_resize_cq(ibv_cq* cq, int cqe) {
    if (cqe <= 0) return EINVAL;
    const outcome done = call(CiResizeCq, completion_queue::of(cq).cq, static_cast<ULONG>(cqe),
                              static_cast<CI_UDATA*>(nullptr));
    if (done) cq->cqe = static_cast<int>(done.information);
    return done.error();
}

int irpverbs_ibv_destroy_cq(ibv_cq* cq) {
    auto& ended = completion_queue::of(cq);
    const outcome done = destroy_own(CiDestroyCq, ended.cq);
    if (!done) return done.error();
    if (cq->channel != nullptr) {
        const ULONG taken =
            completion_channel::of(cq->channel).events.remove({&ended.completion, 1});
        await_acknowledgements(cq->mutex, cq->cond, cq->comp_events_completed, taken);
    }
    await_acknowledgements(cq->mutex, cq->cond, cq->async_events_completed,
                           ended.error.remove_from(open_device::of(cq->context).events));
    count_channel(cq->channel, -1);
    delete &ended;
    return 0;
}

int irpverbs_ibv_take_cq_event(ibv_comp_channel* channel, ibv_cq** cq) {
    event_queue::event taken;
    const int result = take(completion_channel::of(channel).events, taken);
    if (result == 1) *cq = static_cast<ibv_cq*>(taken.owner);
    return result;
}

} // extern "C"
