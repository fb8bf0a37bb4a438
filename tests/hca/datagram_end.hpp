// A queue pair of unreliable datagrams on a port of a software HCA, with its memory.
#pragma once

#include "mad_client.hpp"

#include <ci/qp_changes.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace irpverbs::testing {

class datagram_end {
public:
    static constexpr ULONG size = 16'384; // bytes of its region: the first half is sent
    static constexpr ULONG route_size = 40;
    static constexpr ib_qkey_t qkey = 0x11111111; // as ibv_ud_pingpong has it
    static constexpr ULONG depth = 16;

    explicit datagram_end(DEVICE_OBJECT* fdo, UCHAR port = 1) : ca_(fdo), port_(port) {
        ib_qp_create_t wanted = small_qp(cq_, IB_QPT_UNRELIABLE_DGRM);
        wanted.sq_depth = wanted.rq_depth = depth;
        wanted.sq_max_inline = 64;
        qp = create_qp(pd_, wanted);
        std::iota(bytes_.begin(), bytes_.end(), UCHAR{1});
        std::fill(bytes_.begin() + size / 2, bytes_.end(), UCHAR{0xEE});
    }
    ~datagram_end() {
        destroy();
        for (IB_AV* each : ways_)
            EXPECT_EQ(destroy_av(each), STATUS_SUCCESS);
        EXPECT_EQ(deregister_mr(mr_), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd_), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq_), STATUS_SUCCESS);
    }
    datagram_end(const datagram_end&) = delete;
    datagram_end& operator=(const datagram_end&) = delete;

    /// To IB_QPS_RTS.
    datagram_end& start(USHORT pkey_index = 0) {
        EXPECT_EQ(modify_qp(qp, ci::to_init(type, {port_, pkey_index, 0, qkey})), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(qp, ci::to_rtr(type)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(qp, ci::to_rts(type, {.sq_psn = 0xFFFFFE})), STATUS_SUCCESS);
        return *this;
    }
    void destroy() {
        if (qp != nullptr) {
            EXPECT_EQ(destroy_qp(std::exchange(qp, nullptr)), STATUS_SUCCESS);
        }
    }
    IB_CA* ca() const { return ca_; }
    IB_PD* pd() const { return pd_; }
    ib_lid_t lid() const { return port_block(ca_, port_)->Lid; }
    ib_gid_t gid() const { return *IbPortGid(&*port_block(ca_, port_), 0); }
    ib_qp_attr_t attributes() const {
        ib_qp_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryQp(qp, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }

    // ---- address vectors; they end with this
    ib_av_attr_t way_to(ib_lid_t lid) const {
        ib_av_attr_t way{};
        way.dlid = lid;
        way.port_num = port_;
        way.sl = 2;
        return way;
    }
    IB_AV* vector(const ib_av_attr_t& way) { return ways_.emplace_back(create_av(pd_, way)); }

    // ---- work requests
    ib_send_wr_t send(ULONGLONG wr_id, ULONG length, IB_AV* way, ib_qpn_t to) {
        ib_send_wr_t made{};
        segment_ = {address(0), length, mr_->LKey};
        made.wr_id = wr_id;
        made.ds_array = &segment_;
        made.num_ds = 1;
        made.wr_type = WR_SEND;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.dgrm.ud = {way, to, qkey, 0};
        return made;
    }
    ib_send_wr_t send(ULONGLONG wr_id, ULONG length, const datagram_end& to) {
        return send(wr_id, length, vector(way_to(to.lid())), to.qp->Num);
    }
    NTSTATUS post(ib_send_wr_t what) { return CiPostSend(qp, &what, nullptr); }
    NTSTATUS post_receive(ULONGLONG wr_id, ULONG length = 4096, ULONG offset = 0) {
        ib_local_ds_t into{address(size / 2 + offset), length, mr_->LKey};
        ib_recv_wr_t what{nullptr, wr_id, &into, 1};
        return CiPostRecv(qp, &what, nullptr);
    }

    // ---- memory
    std::vector<UCHAR>& bytes() { return bytes_; }
    /// The bytes received behind the space for the route header.
    const UCHAR* received(ULONG offset = 0) const {
        return &bytes_[size / 2 + offset + route_size];
    }
    const UCHAR* route() const { return &bytes_[size / 2]; }
    bool has_bytes_of(const datagram_end& other, ULONG count) const {
        return std::equal(received(), received() + count, other.bytes_.begin());
    }

    // ---- completions
    bool take(IB_WC& entry) const { return take_completion(cq_, entry); }
    bool has_no_completion() const {
        IB_WC entry{};
        return !take(entry);
    }
    /// Waits for the next one.
    IB_WC next() const { return next_completion(cq_); }

    IB_QP* qp = nullptr;

private:
    static constexpr ib_qp_type_t type = IB_QPT_UNRELIABLE_DGRM;

    ULONGLONG address(ULONG offset) const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(&bytes_[offset]));
    }

    open_hca ca_;
    UCHAR port_;
    IB_PD* pd_ = allocate_pd(ca_);
    IB_CQ* cq_ = create_cq(ca_, 64);
    std::vector<UCHAR> bytes_ = std::vector<UCHAR>(size);
    IB_MR* mr_ = register_mr(pd_, bytes_.data(), bytes_.size(), IB_AC_LOCAL_WRITE);
    ib_local_ds_t segment_{};
    std::vector<IB_AV*> ways_;
};

} // namespace irpverbs::testing
