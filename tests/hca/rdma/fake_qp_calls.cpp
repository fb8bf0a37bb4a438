#include "fake_qp_calls.hpp"

#include "async_events.hpp"

namespace irpverbs::testing {

namespace {

bool is_ethernet(const fake_verbs::device& of) {
    return of.ports.front().attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

} // namespace

ibv_pd* qp_calls::alloc_pd(ibv_context* with) {
    return make<ibv_pd>(fake_verbs::alloc_pd, [&](ibv_pd*& made) {
        if (of(with).of->gone) return EIO;
        auto* fresh = new fake_verbs::domain();
        fresh->context = with;
        ++now()->domains_;
        made = fresh;
        return 0;
    });
}

int qp_calls::dealloc_pd(ibv_pd* which) {
    const int result = verb(fake_verbs::dealloc_pd, [&] {
        if (of_domain(which).users != 0) return EBUSY;
        --now()->domains_;
        return 0;
    });
    if (result == 0) delete &of_domain(which);
    return result;
}

// As the kernel does, refuses an address for work requests with another offset in its page, and
// memory without a page.
ibv_mr* qp_calls::reg_mr(ibv_pd* with, void* address, std::size_t length, std::uint64_t iova,
                         int access) {
    return make<ibv_mr>(fake_verbs::reg_mr, [&](ibv_mr*& made) {
        if (of(with->context).of->gone) return EIO;
        if ((access & IBV_ACCESS_ON_DEMAND) != 0) return EINVAL;
        const auto offset = reinterpret_cast<std::uintptr_t>(address) % 4096;
        if (offset != iova % 4096 || offset + length == 0) return EINVAL;
        now()->iovas.push_back(iova);
        now()->registered.push_back(address);
        made = new ibv_mr();
        made->context = with->context;
        made->pd = with;
        made->addr = address;
        made->length = length;
        made->lkey = made->rkey = now()->next_number_++ << 8;
        ++of_domain(with).users;
        ++now()->regions_;
        return 0;
    });
}

// As libibverbs does, refuses values of members that the flags do not name.
int qp_calls::rereg_mr(ibv_mr* which, int flags, ibv_pd* with, void* address, std::size_t length,
                       int access) {
    return verb(fake_verbs::rereg_mr, [&] {
        const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
        const bool has_rights = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
        if (moves != (address != nullptr && length != 0) || (access != 0 && !has_rights))
            return EINVAL;
        if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
            --of_domain(which->pd).users;
            ++of_domain(which->pd = with).users;
        }
        if (moves) {
            which->addr = address;
            which->length = length;
        }
        which->lkey = which->rkey = now()->next_number_++ << 8;
        return 0;
    });
}

int qp_calls::dereg_mr(ibv_mr* which) {
    const int result = verb(fake_verbs::dereg_mr, [&] {
        --of_domain(which->pd).users;
        --now()->regions_;
        return 0;
    });
    if (result == 0) delete which;
    return result;
}

// Ethernet needs a global route.
ibv_ah* qp_calls::create_ah(ibv_pd* with, ibv_ah_attr* attr) {
    return make<ibv_ah>(fake_verbs::create_ah, [&](ibv_ah*& made) {
        const device& by = *of(with->context).of;
        if (by.gone) return EIO;
        if (is_ethernet(by) && attr->is_global == 0) return EINVAL;
        made = new ibv_ah();
        made->context = with->context;
        made->pd = with;
        ++of_domain(with).users;
        ++now()->handles_;
        return 0;
    });
}

int qp_calls::destroy_ah(ibv_ah* which) {
    const int result = verb(fake_verbs::destroy_ah, [&] {
        --of_domain(which->pd).users;
        --now()->handles_;
        return 0;
    });
    if (result == 0) delete which;
    return result;
}

// Queues are larger than requested.
ibv_qp* qp_calls::create_qp(ibv_pd* with, ibv_qp_init_attr* wanted) {
    return make<ibv_qp>(fake_verbs::create_qp, [&](ibv_qp*& made) {
        const device& by = *of(with->context).of;
        const ibv_device_attr& limits = by.attr.orig_attr;
        if (by.gone) return EIO;
        if (wanted->cap.max_send_wr > static_cast<unsigned>(limits.max_qp_wr)) return EINVAL;
        auto* fresh = new pair();
        fresh->context = with->context;
        fresh->qp_context = wanted->qp_context;
        fresh->pd = with;
        fresh->send_cq = wanted->send_cq;
        fresh->recv_cq = wanted->recv_cq;
        fresh->srq = wanted->srq;
        fresh->qp_type = wanted->qp_type;
        fresh->qp_num = now()->next_number_++;
        ++wanted->cap.max_send_wr;
        fresh->cap = wanted->cap;
        ++of_domain(with).users;
        now()->pairs_.push_back(fresh);
        made = fresh;
        return 0;
    });
}

int qp_calls::modify_qp(ibv_qp* which, ibv_qp_attr* attr, int mask) {
    return ask(fake_verbs::modify_qp, which->context, [&](const device&) {
        ibv_qp_attr& its = of(which).attr;
        now()->changes.push_back(*attr);
        now()->masks.push_back(mask);
        if ((mask & IBV_QP_STATE) != 0) {
            if (attr->qp_state == IBV_QPS_RESET) its = {};
            its.qp_state = attr->qp_state;
        }
        if ((mask & IBV_QP_SQ_PSN) != 0) its.sq_psn = attr->sq_psn;
        if ((mask & IBV_QP_PORT) != 0) its.port_num = attr->port_num;
        if ((mask & IBV_QP_ACCESS_FLAGS) != 0) its.qp_access_flags = attr->qp_access_flags;
        if ((mask & IBV_QP_AV) != 0) its.ah_attr = attr->ah_attr;
        return 0;
    });
}

int qp_calls::query_qp(ibv_qp* which, ibv_qp_attr* attr, int, ibv_qp_init_attr*) {
    return ask(fake_verbs::query_qp, which->context, [&](const device&) {
        *attr = of(which).attr;
        return 0;
    });
}

int qp_calls::destroy_qp(ibv_qp* which) {
    pair& ending = of(which);
    const int result = verb(fake_verbs::destroy_qp, [&] {
        std::erase_if(of(which->context).events, [&](const ibv_async_event& each) {
            return hca_rdma::is_of_queue_pair(each.event_type) && each.element.qp == which;
        });
        std::erase(now()->pairs_, &ending);
        --of_domain(which->pd).users;
        return 0;
    });
    if (result != 0) return result;
    wait_until([&] { return ending.events_completed == ending.events_reported; });
    delete &ending;
    return 0;
}

// The kernel attaches a group once, and detaches it once.
int qp_calls::attach_mcast(ibv_qp* which, const ibv_gid*, std::uint16_t lid) {
    return ask(fake_verbs::attach_mcast, which->context, [&](const device&) {
        now()->groups_.insert({which->qp_num, lid});
        return 0;
    });
}
int qp_calls::detach_mcast(ibv_qp* which, const ibv_gid*, std::uint16_t lid) {
    return verb(fake_verbs::detach_mcast, [&] {
        return now()->groups_.erase({which->qp_num, lid}) != 0 ? 0 : EINVAL;
    });
}

int qp_calls::post_send(ibv_qp*, ibv_send_wr* list, ibv_send_wr** bad) {
    return post(fake_verbs::post_send, now()->sends, list, bad);
}
int qp_calls::post_recv(ibv_qp*, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return post(fake_verbs::post_recv, now()->receives, list, bad);
}

} // namespace irpverbs::testing
