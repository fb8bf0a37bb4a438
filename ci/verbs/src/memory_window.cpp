#include "memory_window.hpp"

#include "open_device.hpp"
#include "own_objects.hpp"
#include "posts.hpp"
#include "queue_pair.hpp"
#include "verb_call.hpp"

#include <limits>
#include <memory>
#include <new>

namespace irpverbs::verbs {

namespace {

IB_MR* own(ibv_mr* shown) { return shown != nullptr ? memory_region::of(shown).mr : nullptr; }

// Programs also name the right of local writes, which is the region's own.
ib_access_t rights_of(const ibv_mw_bind_info& bind) {
    return from_libibverbs_access(bind.mw_access_flags) & ~IB_AC_LOCAL_WRITE;
}

} // namespace

ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type) {
    std::unique_ptr<memory_window> made(new (std::nothrow) memory_window{});
    if (made == nullptr) return nullptr;
    static_assert(int{IB_MWT_TYPE_1} == int{IBV_MW_TYPE_1});
    static_assert(int{IB_MWT_TYPE_2} == int{IBV_MW_TYPE_2});
    made->mw = own_object<IB_MW>(open_device::of(pd->context).ca(),
                                 call(CiAllocateMw, protection_domain::of(pd).own(),
                                      static_cast<ULONG>(type), static_cast<CI_UDATA*>(nullptr)));
    if (made->mw == nullptr) return nullptr;
    made->context = pd->context;
    made->pd = pd;
    made->type = type;
    made->rkey = made->mw->RKey;
    return made.release();
}

int deallocate_window(ibv_mw* shown) {
    auto& ended = memory_window::of(shown);
    const outcome done = destroy_own(CiDeallocateMw, ended.mw);
    if (done) delete &ended;
    return done.error();
}

int bind_window(ibv_qp* qp, ibv_mw* shown, ibv_mw_bind* bind) {
    const ibv_mw_bind_info& range = bind->bind_info;
    if (range.length > std::numeric_limits<ULONG>::max()) return EINVAL;
    const ib_bind_wr_t request{
        bind->wr_id,
        options_of(bind->send_flags),
        own(range.mr),
        rights_of(range),
        shown->rkey,
        {range.addr, static_cast<ULONG>(range.length), range.mr != nullptr ? range.mr->lkey : 0}};
    const NTSTATUS status =
        CiBindMw(memory_window::of(shown).mw, queue_pair::of(qp).qp, &request, &shown->rkey);
    return drop_in::error_of(status);
}

// A consumer owns the lowest byte of a key; providers ignore the others of what it names. Source:
// IBA 10.6.7.1.
ib_send_bind_mw_t binding_of(ibv_mw* shown, std::uint32_t rkey, const ibv_mw_bind_info& bind) {
    constexpr std::uint32_t consumers = 0xFF;
    shown->rkey = (shown->rkey & ~consumers) | (rkey & consumers);
    return {memory_window::of(shown).mw,
            own(bind.mr),
            bind.addr,
            bind.length,
            shown->rkey,
            rights_of(bind)};
}

} // namespace irpverbs::verbs
