#include "queue_pair.hpp"

#include "address_vectors.hpp"
#include "completion_queue.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"
#include "qp_attributes.hpp"
#include "qp_operations.hpp"
#include "shared_receives.hpp"

#include <algorithm>
#include <cerrno>

namespace irpverbs::hca_rdma {

namespace {

constexpr int all_attributes = 0x1FFFFF;

ibv_qp_type type_of(ib_qp_type_t type) {
    switch (type) {
    case IB_QPT_RELIABLE_CONN:
        return IBV_QPT_RC;
    case IB_QPT_UNRELIABLE_CONN:
        return IBV_QPT_UC;
    default:
        return IBV_QPT_UD;
    }
}

ibv_qp_init_attr as_libibverbs(const ib_qp_create_t& wanted, void* context) {
    ibv_qp_init_attr made{};
    made.qp_context = context;
    made.send_cq = completion_queue::of(wanted.h_sq_cq).get();
    made.recv_cq = completion_queue::of(wanted.h_rq_cq).get();
    if (wanted.h_srq != nullptr) made.srq = shared_receives::of(wanted.h_srq).get();
    made.cap = {wanted.sq_depth, wanted.rq_depth, wanted.sq_sge, wanted.rq_sge,
                wanted.sq_max_inline};
    made.qp_type = type_of(wanted.qp_type);
    made.sq_sig_all = wanted.sq_signaled != FALSE ? 1 : 0;
    return made;
}

bool is_within_limits(const ib_qp_create_t& wanted, const IB_CA_ATTR& limits) {
    return wanted.sq_depth <= limits.MaxQpWrs && wanted.rq_depth <= limits.MaxQpWrs &&
           wanted.sq_sge <= limits.MaxSges && wanted.rq_sge <= limits.MaxSges;
}

bool has_good_gids(const ib_qp_mod_t& change) {
    return ((change.opts & IB_MOD_QP_PRIMARY_AV) == 0 || has_good_gid(change.primary_av)) &&
           ((change.opts & IB_MOD_QP_ALTERNATE_AV) == 0 || has_good_gid(change.alternate_av));
}

bool needs_migration(const ib_qp_mod_t& change) {
    const bool rearms =
        (change.opts & IB_MOD_QP_APM_STATE) != 0 && change.apm_state == IB_APM_REARM;
    return rearms || (change.opts & IB_MOD_QP_ALTERNATE_AV) != 0;
}

bool equal(const IB_MCAST& one, const IB_MCAST& other) {
    return one.Gid.gid_prefix == other.Gid.gid_prefix && one.Gid.gid_guid == other.Gid.gid_guid &&
           one.Lid == other.Lid;
}

} // namespace

queue_pair::queue_pair(verbs_context& context, HCA_QP& owner)
    : context_(context), owner_(owner), posts_{nullptr, context, 0, 0, 0} {
    ExInitializeRundownProtection(&notifications_);
}

queue_pair::~queue_pair() {
    if (posts_.pair != nullptr) context_.verbs().destroy_qp(posts_.pair);
}

NTSTATUS queue_pair::make(verbs_context& context, const IB_CA_ATTR& limits, HCA_QP& owner,
                          std::unique_ptr<queue_pair>& made) {
    if (!is_within_limits(owner.Create, limits)) return STATUS_INVALID_PARAMETER;
    std::unique_ptr<queue_pair> pair(new queue_pair(context, owner));
    if (const int error = pair->create(limits); error != 0) return context.failure(error);
    owner.Posts.Queue = &pair->posts_;
    pair->set_state(IB_QPS_RESET);
    made = std::move(pair);
    return STATUS_SUCCESS;
}

int queue_pair::create(const IB_CA_ATTR& limits) {
    ibv_qp_init_attr attr = as_libibverbs(owner_.Create, this);
    ibv_qp* made = context_.verbs().create_qp(extension_of(owner_.Pd).domain, &attr);
    if (const int error = failure_of(made); error != 0) return error;
    owner_.Qp = {made->qp_num,          attr.cap.max_send_wr,  attr.cap.max_recv_wr,
                 attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data};
    posts_.pair = made;
    migrates_ = (limits.Capabilities & IB_CA_CAP_AUTO_PATH_MIGRATION) != 0;
    posts_.send_segments = attr.cap.max_send_sge;
    posts_.read_segments = limits.MaxSgesOfRead != 0
                               ? std::min(attr.cap.max_send_sge, limits.MaxSgesOfRead)
                               : attr.cap.max_send_sge;
    posts_.receive_segments = attr.cap.max_recv_sge;
    return 0;
}

void queue_pair::destroy(std::unique_ptr<queue_pair> pair) {
    verbs_context& context = pair->context_;
    if (failure_of(context.verbs().destroy_qp(pair->posts_.pair)) == 0) {
        pair->posts_.pair = nullptr;
        return;
    }
    ExWaitForRundownProtectionRelease(&pair->notifications_);
    context.keep(std::move(pair));
}

// ---- states

// Whether a send queue is drained is read before the next change, except on siw.
void queue_pair::set_state(ib_qp_state_t state) {
    if (state == IB_QPS_SQD) state = context_.is_iwarp() ? IB_QPS_SQD_DRAINED : IB_QPS_SQD_DRAINING;
    HcaSetQpState(&owner_, state);
    const post_functions functions = posts_in(state, owner_.Create.qp_type);
    HcaSetQpPosts(&owner_, functions.send, functions.receive);
}

// siw reports neither the state nor the rights of a queue pair.
void queue_pair::read_state() {
    if (context_.is_iwarp()) return;
    ibv_qp_attr attr{};
    ibv_qp_init_attr unused{};
    const int error =
        failure_of(context_.verbs().query_qp(posts_.pair, &attr, IBV_QP_STATE, &unused));
    if (error == 0) HcaSetQpState(&owner_, state_of(attr));
}

NTSTATUS queue_pair::modify(const ib_qp_mod_t& change) {
    if (!migrates_ && needs_migration(change)) return STATUS_NOT_SUPPORTED;
    if (!has_good_gids(change)) return STATUS_INVALID_PARAMETER;
    if (const NTSTATUS status = check_pkey(change); !NT_SUCCESS(status)) return status;
    ibv_qp_attr attr = hca_rdma::as_libibverbs(change);
    const int error =
        failure_of(context_.verbs().modify_qp(posts_.pair, &attr, static_cast<int>(change.opts)));
    if (error != 0) return status_of_failed(error, change);
    if ((change.opts & IB_MOD_QP_PRIMARY_PORT) != 0) port_ = change.primary_port;
    if ((change.opts & IB_MOD_QP_ACCESS_CTRL) != 0) access_ = change.access_ctrl & IB_AC_REMOTE;
    if ((change.opts & IB_MOD_QP_STATE) != 0) set_state(change.req_state);
    return STATUS_SUCCESS;
}

// The kernel does not check the index for Ethernet. iWARP has no P_Keys.
NTSTATUS queue_pair::check_pkey(const ib_qp_mod_t& change) const {
    if ((change.opts & IB_MOD_QP_PKEY) == 0) return STATUS_SUCCESS;
    const bool names_port = (change.opts & IB_MOD_QP_PRIMARY_PORT) != 0;
    ibv_port_attr port{};
    const int error = failure_of(context_.verbs().query_port(
        context_.get(), names_port ? change.primary_port : port_, &port));
    if (error != 0) return context_.failure(error);
    const unsigned count = std::max<unsigned>(port.pkey_tbl_len, 1);
    return change.pkey_index < count ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

// iWARP connects queue pairs by its own connection management.
NTSTATUS queue_pair::status_of_failed(int error, const ib_qp_mod_t& change) const {
    const bool connects = (change.opts & IB_MOD_QP_STATE) != 0 && change.req_state == IB_QPS_RTS;
    if (error == EINVAL && connects && context_.is_iwarp()) return STATUS_NOT_SUPPORTED;
    return context_.failure(error);
}

NTSTATUS queue_pair::query(ib_qp_attr_t& seen) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr unused{};
    const int error =
        failure_of(context_.verbs().query_qp(posts_.pair, &attr, all_attributes, &unused));
    if (error != 0) return context_.failure(error);
    seen = attributes_of(owner_, attr);
    if (context_.is_iwarp()) {
        seen.state = HcaQpState(&owner_);
        seen.access_ctrl = access_;
    }
    return STATUS_SUCCESS;
}

void queue_pair::report(IB_ASYNC_EVENT event) {
    if (!ExAcquireRundownProtection(&notifications_)) return;
    HcaReportQpEvent(&owner_, event);
    ExReleaseRundownProtection(&notifications_);
}

// ---- multicast

std::vector<queue_pair::attachment>::iterator queue_pair::find(const IB_MCAST& group) {
    return std::ranges::find_if(attachments_,
                                [&](const attachment& each) { return equal(each.group, group); });
}

NTSTATUS queue_pair::attach(const IB_MCAST& group) {
    if (const auto found = find(group); found != attachments_.end()) {
        ++found->count;
        return STATUS_SUCCESS;
    }
    attachments_.reserve(attachments_.size() + 1);
    const ibv_gid gid = hca_rdma::as_libibverbs(group.Gid);
    const int error = failure_of(context_.verbs().attach_mcast(posts_.pair, &gid, group.Lid));
    if (error == 0) attachments_.push_back({group, 1});
    return context_.failure(error);
}

void queue_pair::detach(const IB_MCAST& group) {
    const auto found = find(group);
    if (--found->count != 0) return;
    const ibv_gid gid = hca_rdma::as_libibverbs(group.Gid);
    context_.verbs().detach_mcast(posts_.pair, &gid, group.Lid);
    attachments_.erase(found);
}

} // namespace irpverbs::hca_rdma
