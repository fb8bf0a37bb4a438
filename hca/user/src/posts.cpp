// Posts: each list is a call of the daemon, which returns how many of it were posted.
#include "connection.hpp"
#include "provider/data_path.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>

namespace irpverbs::hca_user {

using ci::crossing::post_writer;
using ci::wire::work;
using dispatch::detail::spin_guard;

namespace {

template <class Work>
Work* advance(Work* list, ULONG count) {
    while (count-- != 0)
        list = list->p_next;
    return list;
}

// The memory of a work request beyond the granted limits is not read. A queue for which no segments
// were requested may have one.
bool has_segments(ULONG count, ULONG granted) { return count <= std::max(granted, ULONG{1}); }

bool is_within_limits(const HCA_QP& qp, const ib_send_wr_t& what) {
    if (ci::crossing::has_data(what.wr_type) && !has_segments(what.num_ds, qp.Qp.SqSge))
        return false;
    return ci::crossing::inline_length(what) <= std::max(qp.Qp.SqMaxInline, ULONG{1});
}

NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    HCA_QP& qp = *static_cast<HCA_QP*>(queue);
    connection& via = connection_of(HCA_MN_CREATE_QP, &qp);
    const bool of_datagrams = qp.Create.qp_type == IB_QPT_UNRELIABLE_DGRM;
    return via.post(work::send, via.handle_of(HCA_MN_CREATE_QP, &qp), list, failed,
                    [&](post_writer& to, const ib_send_wr_t& each) {
                        return is_within_limits(qp, each) && to.add(each, of_datagrams, via);
                    });
}

NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    HCA_QP& qp = *static_cast<HCA_QP*>(queue);
    connection& via = connection_of(HCA_MN_CREATE_QP, &qp);
    return via.post(work::receive, via.handle_of(HCA_MN_CREATE_QP, &qp), list, failed,
                    [&](post_writer& to, const ib_recv_wr_t& each) {
                        return has_segments(each.num_ds, qp.Qp.RqSge) && to.add(each);
                    });
}

NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    HCA_SRQ& srq = *static_cast<HCA_SRQ*>(queue);
    connection& via = connection_of(HCA_MN_CREATE_SRQ, &srq);
    return via.post(work::shared_receive, via.handle_of(HCA_MN_CREATE_SRQ, &srq), list, failed,
                    [&](post_writer& to, const ib_recv_wr_t& each) {
                        return has_segments(each.num_ds, srq.Srq.MaxSge) && to.add(each);
                    });
}

} // namespace

// A work request that is not even added to an empty message is beyond a limit.
template <class Work, class Add>
NTSTATUS connection::post(work what, std::uint64_t queue, Work* list, Work** failed,
                          const Add& add) {
    const spin_guard guard(data_lock_);
    NTSTATUS status = STATUS_SUCCESS;
    while (list != nullptr && NT_SUCCESS(status)) {
        post_writer asked(post_buffer_, what, next_id_.fetch_add(1), queue);
        for (Work* each = list; each != nullptr && add(asked, *each);)
            each = each->p_next;
        ci::wire::posted made{};
        status = asked.count() != 0 ? call(asked, made) : STATUS_INVALID_PARAMETER;
        list = advance(list, made.count);
    }
    if (!NT_SUCCESS(status)) *failed = list;
    return status;
}

NTSTATUS connection::bind(HCA_MW& window, HCA_QP& qp, const ib_bind_wr_t& what, ULONG& rkey) {
    const spin_guard guard(data_lock_);
    post_writer asked(post_buffer_, work::bind, next_id_.fetch_add(1),
                      handle_of(HCA_MN_CREATE_QP, &qp));
    asked.add(what, &window.Mw, *this);
    ci::wire::posted made{};
    const NTSTATUS status = call(asked, made);
    if (NT_SUCCESS(status)) rkey = static_cast<ULONG>(made.rkey);
    return status;
}

void begin_posts(HCA_QP& qp) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_QP, &qp).provider();
    qp.Posts.Queue = &qp;
    HcaSetQpPosts(&qp, by != nullptr && by->post_send != nullptr ? provided::post_send : post_send,
                  by != nullptr && by->post_recv != nullptr ? provided::post_receive
                                                            : post_receive);
}

void begin_posts(HCA_SRQ& srq) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_SRQ, &srq).provider();
    srq.Post.Queue = &srq;
    HcaSetSrqPost(&srq, by != nullptr && by->post_srq_recv != nullptr
                            ? provided::post_shared_receive
                            : post_shared_receive);
}

NTSTATUS bind_mw(HCA_MW* window, HCA_QP* qp, const ib_bind_wr_t* what, ULONG* rkey) {
    connection& via = connection_of(HCA_MN_ALLOCATE_MW, window);
    if (via.provider() != nullptr && via.provider()->bind_mw != nullptr)
        return provided::bind_mw(*via.provider(), window, qp, what, rkey);
    return via.bind(*window, *qp, *what, *rkey);
}

} // namespace irpverbs::hca_user
