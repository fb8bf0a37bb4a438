#include "fake_srq_calls.hpp"

#include "async_events.hpp"

namespace irpverbs::testing {

// Queues are larger than requested.
ibv_srq* srq_calls::create_srq(ibv_pd* with, ibv_srq_init_attr* wanted) {
    return make<ibv_srq>(fake_verbs::create_srq, [&](ibv_srq*& made) {
        const device& by = *of(with->context).of;
        if (by.gone) return EIO;
        if (wanted->attr.max_wr > static_cast<unsigned>(by.attr.orig_attr.max_srq_wr) ||
            wanted->attr.max_sge > static_cast<unsigned>(by.attr.orig_attr.max_srq_sge))
            return EINVAL;
        auto* fresh = new shared();
        fresh->context = with->context;
        fresh->srq_context = wanted->srq_context;
        fresh->pd = with;
        ++wanted->attr.max_wr;
        fresh->attr = wanted->attr;
        fresh->attr.srq_limit = 0;
        ++static_cast<fake_verbs::domain*>(with)->users;
        now()->shared_.push_back(fresh);
        made = fresh;
        return 0;
    });
}

int srq_calls::modify_srq(ibv_srq* which, ibv_srq_attr* attr, int mask) {
    return ask(fake_verbs::modify_srq, which->context, [&](const device& by) {
        ibv_srq_attr& its = of(which).attr;
        if ((mask & IBV_SRQ_MAX_WR) != 0) {
            if (attr->max_wr > static_cast<unsigned>(by.attr.orig_attr.max_srq_wr)) return EINVAL;
            its.max_wr = attr->max_wr + 1;
        }
        if ((mask & IBV_SRQ_LIMIT) != 0) {
            if (attr->srq_limit > its.max_wr) return EINVAL;
            its.srq_limit = attr->srq_limit;
        }
        return 0;
    });
}

int srq_calls::query_srq(ibv_srq* which, ibv_srq_attr* attr) {
    return ask(fake_verbs::query_srq, which->context, [&](const device&) {
        *attr = of(which).attr;
        return 0;
    });
}

int srq_calls::destroy_srq(ibv_srq* which) {
    shared& ending = of(which);
    const int result = verb(fake_verbs::destroy_srq, [&] {
        std::erase_if(of(which->context).events, [&](const ibv_async_event& each) {
            return hca_rdma::is_of_shared_receives(each.event_type) && each.element.srq == which;
        });
        std::erase(now()->shared_, &ending);
        --static_cast<fake_verbs::domain*>(which->pd)->users;
        return 0;
    });
    if (result != 0) return result;
    wait_until([&] { return ending.events_completed == ending.events_reported; });
    delete &ending;
    return 0;
}

int srq_calls::post_srq_recv(ibv_srq*, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return post(fake_verbs::post_recv, now()->receives, list, bad);
}

} // namespace irpverbs::testing
