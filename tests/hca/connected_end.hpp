// One end of a connection of queue pairs on the software fabric, with its memory.
#pragma once

#include "mad_client.hpp"

#include <ci/qp_changes.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace irpverbs::testing {

class connected_end {
public:
    static constexpr ULONG size = 100'000; // bytes of its region: more packets than one burst
    static constexpr ULONG first_psn = 0xFFFFF0;

    explicit connected_end(DEVICE_OBJECT* fdo, ib_qp_type_t type = IB_QPT_RELIABLE_CONN)
        : ca_(fdo), type_(type) {
        ib_qp_create_t wanted = small_qp(cq_, type);
        wanted.sq_depth = 16;
        wanted.sq_sge = 2;
        if (type != IB_QPT_XRC_INI) {
            wanted.rq_depth = 16;
            wanted.rq_sge = 2;
        }
        wanted.sq_max_inline = 16;
        qp = create_qp(pd_, wanted);
    }
    ~connected_end() {
        destroy();
        deregister();
        EXPECT_EQ(deallocate_pd(pd_), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq_), STATUS_SUCCESS);
    }
    connected_end(const connected_end&) = delete;
    connected_end& operator=(const connected_end&) = delete;

    /// Both ends have been made before one connects.
    void connect(const connected_end& peer) { connect(peer.way(), peer.qp->Num); }
    void connect(ib_lid_t lid, ib_qpn_t peer) {
        ib_av_attr_t way{};
        way.dlid = lid;
        connect(way, peer);
    }
    void connect(const ib_av_attr_t& way, ib_qpn_t peer, IB_MTU mtu = IB_MTU_1024,
                 ULONG peers_psn = first_psn) {
        EXPECT_EQ(modify_qp(qp, ci::to_init(type_, {.access = IB_AC_REMOTE})), STATUS_SUCCESS);
        ci::rtr_attributes path;
        path.av = way;
        path.av.port_num = 1;
        path.dest_qp = peer;
        path.path_mtu = mtu;
        path.rq_psn = peers_psn;
        path.rnr_nak_timeout = 1;
        EXPECT_EQ(modify_qp(qp, ci::to_rtr(type_, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(qp, ci::to_rts(type_, {.sq_psn = first_psn})), STATUS_SUCCESS);
    }
    /// Loads an alternate path, and requests that both ends become armed.
    NTSTATUS rearm(const ib_av_attr_t& alternate, USHORT pkey_index = 0) {
        ib_qp_mod_t change{};
        change.opts = IB_MOD_QP_ALTERNATE_AV | IB_MOD_QP_APM_STATE;
        change.apm_state = IB_APM_REARM;
        change.alternate_av = alternate;
        change.alternate_pkey_index = pkey_index;
        change.alternate_local_ack_timeout = 14;
        return modify_qp(qp, change);
    }
    NTSTATUS migrate() {
        ib_qp_mod_t change{};
        change.opts = IB_MOD_QP_APM_STATE;
        change.apm_state = IB_APM_MIGRATED;
        return modify_qp(qp, change);
    }
    void destroy() {
        if (qp != nullptr) {
            EXPECT_EQ(destroy_qp(std::exchange(qp, nullptr)), STATUS_SUCCESS);
        }
    }
    void deregister() {
        if (registered_) {
            EXPECT_EQ(deregister_mr(mr_), STATUS_SUCCESS);
        }
        registered_ = false;
    }
    IB_CA* ca() const { return ca_; }
    IB_PD* pd() const { return pd_; }
    ib_lid_t lid() const { return ca_.lid(); }
    /// The way to its port: by LID, or by GID on Ethernet, which has none.
    ib_av_attr_t way() const {
        ib_av_attr_t made{};
        made.dlid = lid();
        if (made.dlid != 0) return made;
        made.grh_valid = TRUE;
        made.grh.dest_gid = *IbPortGid(&*port_block(ca_, 1), 0);
        return made;
    }
    ib_qp_attr_t attributes() const {
        ib_qp_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryQp(qp, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }

    // ---- memory
    std::vector<UCHAR>& bytes() { return bytes_; }
    void fill() { std::iota(bytes_.begin(), bytes_.end(), UCHAR{1}); }
    bool has_bytes_of(const connected_end& other, ULONG count) const {
        return std::equal(bytes_.begin(), bytes_.begin() + count, other.bytes_.begin());
    }
    ULONGLONG address() const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(bytes_.data()));
    }
    ULONG key() const { return lkey_; }
    /// The first 8 bytes.
    ULONGLONG& number() { return *reinterpret_cast<ULONGLONG*>(bytes_.data()); }

    // ---- work requests
    ib_send_wr_t send(ULONGLONG wr_id, ULONG length) {
        ib_send_wr_t made{};
        segment_ = {address(), length, lkey_};
        made.wr_id = wr_id;
        made.ds_array = &segment_;
        made.num_ds = 1;
        made.wr_type = WR_SEND;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        return made;
    }
    ib_send_wr_t remote(ib_wr_type_t type, ULONGLONG wr_id, const connected_end& on, ULONG length) {
        ib_send_wr_t made = send(wr_id, length);
        made.wr_type = type;
        made.remote_ops = {on.address(), 0, 0, on.lkey_};
        return made;
    }
    NTSTATUS post(ib_send_wr_t what) { return CiPostSend(qp, &what, nullptr); }
    NTSTATUS post_receive(ULONGLONG wr_id, ULONG length, ULONG offset = 0) {
        ib_local_ds_t into{address() + offset, length, lkey_};
        ib_recv_wr_t what{nullptr, wr_id, &into, 1};
        return CiPostRecv(qp, &what, nullptr);
    }

    // ---- completions
    bool take(IB_WC& entry) const { return take_completion(cq_, entry); }
    bool has_no_completion() const {
        IB_WC entry{};
        return !take(entry);
    }
    /// The number of completions in the queue.
    ULONG queued() const {
        IB_CQ_ATTR attr{};
        EXPECT_EQ(
            verb_call([&](IRP* irp) { return CiQueryCq(cq_, sizeof(attr), &attr, irp); }).status(),
            STATUS_SUCCESS);
        return attr.Filled;
    }
    void drain() const {
        IB_WC entry{};
        while (take(entry)) {
        }
    }
    /// Waits for the next one.
    IB_WC next() const { return next_completion(cq_); }

    IB_QP* qp = nullptr;

private:
    open_hca ca_;
    ib_qp_type_t type_;
    IB_PD* pd_ = allocate_pd(ca_);
    IB_CQ* cq_ = create_cq(ca_, 64);
    std::vector<UCHAR> bytes_ = std::vector<UCHAR>(size);
    IB_MR* mr_ = register_mr(pd_, bytes_.data(), bytes_.size(), IB_AC_REMOTE | IB_AC_LOCAL_WRITE);
    ULONG lkey_ = mr_->LKey;
    bool registered_ = true;
    ib_local_ds_t segment_{};
};

} // namespace irpverbs::testing
