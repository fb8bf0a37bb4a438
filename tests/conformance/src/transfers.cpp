#include "transfers.hpp"

#include "completions.hpp"

#include <hca/hca.h>

#include <numeric>
#include <string_view>

namespace irpverbs::conformance {

namespace {

constexpr ib_access_t all_rights = IB_AC_REMOTE | IB_AC_LOCAL_WRITE;

ib_qp_create_t wanted_pair(IB_CQ* queue, ib_qp_type_t type, IB_SRQ* shared) {
    ib_qp_create_t wanted = small_queue_pair(queue, queue, type);
    wanted.sq_depth = wanted.rq_depth = 8;
    wanted.sq_sge = wanted.rq_sge = 2;
    wanted.sq_max_inline = 64;
    wanted.h_srq = shared;
    if (shared != nullptr || type == IB_QPT_XRC_INI) wanted.rq_depth = wanted.rq_sge = 0;
    if (type == IB_QPT_XRC_INI) wanted.h_rq_cq = nullptr;
    return wanted;
}

ib_access_t rights_of(IB_CA* of) {
    IB_CA_ATTR attr{};
    status_of(query_ca(of, &attr, sizeof(attr)));
    return attr.Atomicity == IB_ATOMIC_NONE ? all_rights & ~ib_access_t{IB_AC_ATOMIC} : all_rights;
}

void change(const qp& pair, const ib_qp_mod_t& by) {
    if (const NTSTATUS status = pair.modify(by); status != STATUS_SUCCESS) {
        ADD_FAILURE() << name_of(status) << " in the change to state " << by.req_state;
        throw abandoned();
    }
}

} // namespace

transfer_end::transfer_end(const ca& opened, const pd& domain, ib_qp_type_t its_type,
                           IB_SRQ* shared)
    : type(its_type), queue(opened.get(), 32),
      region(domain, {memory.data(), memory.size(), rights_of(opened), 0}),
      pair(domain, wanted_pair(queue, its_type, shared)), ca_(opened) {}

void transfer_end::connect(const transfer_end& peer, const ci::rts_attributes& with) {
    connect_queue_pair(ca_, pair, type, peer.pair->Num, with);
}

void connect_queue_pair(IB_CA* of, const qp& pair, ib_qp_type_t type, ib_qpn_t peer,
                        const ci::rts_attributes& with) {
    ci::rtr_attributes path;
    path.av = way_to_own_port(of);
    path.dest_qp = peer;
    path.rq_psn = transfer_end::first_psn;
    path.resp_res = 4;
    path.rnr_nak_timeout = 1;
    change(pair, ci::to_init(type, {.access = IB_AC_REMOTE, .qkey = 0x1234}));
    change(pair, ci::to_rtr(type, path));
    change(pair, ci::to_rts(type, with));
}

ib_send_wr_t transfer_end::request(ib_wr_type_t what, ULONGLONG wr_id, ULONG length) {
    segment_ = {address(), length, region->LKey};
    ib_send_wr_t made{};
    made.wr_id = wr_id;
    made.wr_type = what;
    made.ds_array = &segment_;
    made.num_ds = 1;
    made.send_opt = IB_SEND_OPT_SIGNALED;
    return made;
}

ib_send_wr_t transfer_end::remote(ib_wr_type_t what, ULONGLONG wr_id, const transfer_end& on,
                                  ULONG length) {
    ib_send_wr_t made = request(what, wr_id, length);
    made.remote_ops = {on.address(), 0, 0, on.region->RKey};
    return made;
}

void transfer_end::post(ib_send_wr_t what) const {
    const NTSTATUS status = CiPostSend(pair, &what, nullptr);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiPostSend returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(status, STATUS_SUCCESS);
}

void transfer_end::skip_without_posts() const {
    ib_recv_wr_t nothing{};
    if (CiPostRecv(pair, &nothing, nullptr) == STATUS_NOT_SUPPORTED)
        throw skipped{"CiPostRecv returns STATUS_NOT_SUPPORTED"};
}

void transfer_end::post_receive(ULONGLONG wr_id, ULONG length) {
    ib_local_ds_t into{address(), length, region->LKey};
    ib_recv_wr_t what{nullptr, wr_id, &into, 1};
    const NTSTATUS status = CiPostRecv(pair, &what, nullptr);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiPostRecv returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(status, STATUS_SUCCESS);
}

void transfer_end::post_shared_receive(IB_SRQ* to, ULONGLONG wr_id, ULONG length) {
    ib_local_ds_t into{address(), length, region->LKey};
    ib_recv_wr_t what{nullptr, wr_id, &into, 1};
    const NTSTATUS status = CiPostSrqRecv(to, &what, nullptr);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiPostSrqRecv returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(status, STATUS_SUCCESS);
}

IB_WC transfer_end::next() const { return next_completion(queue); }

IB_WC next_completion(IB_CQ* queue) {
    for (;;) {
        if (const std::vector<IB_WC> found = results(queue, 1); !found.empty()) return found[0];
        verb_call event(get_comp_event(queue));
        arm(queue, IB_CQ_ARM_NEXT);
        if (event.status() != STATUS_SUCCESS) throw abandoned();
    }
}

IB_WC transfer_end::expect(ULONGLONG wr_id, ULONG status) const {
    const IB_WC found = next();
    EXPECT_EQ(found.WrId, wr_id);
    EXPECT_EQ(found.Status, status) << "work request " << wr_id;
    EXPECT_EQ(found.QpNumber, pair->Num);
    return found;
}

void transfer_end::expect_none() const { EXPECT_TRUE(results(queue, 1).empty()); }

transfer_scene::transfer_scene(const world& here, ib_qp_type_t type)
    : opened(here), one(opened, domain, type), other(opened, domain, type) {
    one.connect(other);
    other.connect(one);
    std::iota(one.memory.begin(), one.memory.end(), UCHAR{1});
}

bool is_rxe(const world& here) {
    std::array<char, 64> name{};
    HcaName(here.guid(), name.data(), static_cast<ULONG>(name.size()));
    return std::string_view(name.data()).starts_with("rxe");
}

ULONG status_here(const world& here, ULONG iba, ULONG rxe) { return is_rxe(here) ? rxe : iba; }

} // namespace irpverbs::conformance
