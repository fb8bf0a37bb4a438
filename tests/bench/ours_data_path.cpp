// Posts and polls of queue pairs that are connected over the built-in fabric.
#include "measurements.hpp"
#include "ours_hca.hpp"

#include <ci/qp_changes.hpp>
#include <hca/software.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace irpverbs::bench {
namespace {

constexpr ULONG depth = 64;
constexpr ULONG region = 1u << 20;

// Calls a verb that completes inside the call, and returns its object.
template <class Object, class Verb>
Object* made_by(PIRP irp, const Verb& verb) {
    verb(prepared(irp));
    expect(NT_SUCCESS(irp->IoStatus.Status), "verb");
    return reinterpret_cast<Object*>(irp->IoStatus.Information);
}

// One end of a connection, with a registered buffer.
class end {
public:
    explicit end(DEVICE_OBJECT* device) : ca_(device), bytes(region) {
        pd_ = made_by<IB_PD>(
            ca_.irp(), [&](PIRP irp) { CiAllocatePd(ca_.get(), IB_PDT_NORMAL, nullptr, irp); });
        cq_ = made_by<IB_CQ>(ca_.irp(), [&](PIRP irp) {
            CiCreateCq(ca_.get(), 2 * depth, nullptr, nullptr, nullptr, irp);
        });
        ib_mr_create_t wanted{bytes.data(), region, IB_AC_LOCAL_WRITE | IB_AC_REMOTE, 0};
        mr_ =
            made_by<IB_MR>(ca_.irp(), [&](PIRP irp) { CiRegisterMr(pd_, &wanted, nullptr, irp); });
        ib_qp_create_t create{};
        create.qp_type = IB_QPT_RELIABLE_CONN;
        create.h_sq_cq = create.h_rq_cq = cq_;
        create.sq_depth = create.rq_depth = depth;
        create.sq_sge = create.rq_sge = 1;
        create.sq_max_inline = 64;
        qp_ = made_by<IB_QP>(ca_.irp(), [&](PIRP irp) { CiCreateQp(pd_, &create, nullptr, irp); });
    }
    ~end() {
        made_by<void>(ca_.irp(), [&](PIRP irp) { CiDestroyQp(qp_, nullptr, irp); });
        made_by<void>(ca_.irp(), [&](PIRP irp) { CiDeregisterMr(mr_, nullptr, irp); });
        made_by<void>(ca_.irp(), [&](PIRP irp) { CiDestroyCq(cq_, nullptr, irp); });
        made_by<void>(ca_.irp(), [&](PIRP irp) { CiDeallocatePd(pd_, nullptr, irp); });
    }
    end(const end&) = delete;
    end& operator=(const end&) = delete;

    void connect(const end& peer) {
        modify(ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE}));
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = peer.lid();
        path.path_mtu = IB_MTU_4096;
        path.dest_qp = peer.qp_->Num;
        modify(ci::to_rtr(IB_QPT_RELIABLE_CONN, path));
        modify(ci::to_rts(IB_QPT_RELIABLE_CONN, {}));
    }
    IB_QP* qp() const { return qp_; }
    ULONG key() const { return mr_->LKey; }
    ULONGLONG address() const { return reinterpret_cast<ULONGLONG>(bytes.data()); }
    // Takes exactly `count` completions, all of them good.
    void take(ULONG count) const {
        IB_WC entries[depth];
        ULONG taken = 0;
        CiGetCqResults(cq_, count, entries, &taken);
        expect(taken == count && entries[0].Status == IB_WC_SUCCESS, "completion");
    }
    IB_CQ* cq() const { return cq_; }

private:
    void modify(const ib_qp_mod_t& change) {
        made_by<void>(ca_.irp(), [&](PIRP irp) { CiModifyQp(qp_, &change, nullptr, irp); });
    }
    ib_lid_t lid() const {
        IB_PORT_ATTR attr;
        CiQueryPort(ca_.get(), 1, sizeof(attr), &attr, prepared(ca_.irp()));
        return attr.Lid;
    }

    open_ca ca_;
    IB_PD* pd_;
    IB_CQ* cq_;
    IB_MR* mr_;
    IB_QP* qp_;
    std::vector<UCHAR> bytes;
};

// Two ends with lists of work requests: the last one of a list is signaled.
template <ULONG Batch>
class connection {
public:
    explicit connection(ib_wr_type_t type, ULONG length, ib_send_opt_t options = 0)
        : from_segment_{from.address(), length, from.key()}, to_segment_{to.address(), length,
                                                                         to.key()} {
        from.connect(to);
        to.connect(from);
        for (ULONG i = 0; i < Batch; ++i) {
            const bool last = i + 1 == Batch;
            sends_[i] = {};
            sends_[i].p_next = last ? nullptr : &sends_[i + 1];
            sends_[i].ds_array = &from_segment_;
            sends_[i].num_ds = 1;
            sends_[i].wr_type = type;
            sends_[i].send_opt = options | (last ? ib_send_opt_t{IB_SEND_OPT_SIGNALED} : 0u);
            sends_[i].remote_ops = {to.address(), 0, 0, to.key()};
            receives_[i] = {last ? nullptr : &receives_[i + 1], i, &to_segment_, 1};
        }
    }
    void send() {
        CiPostRecv(to.qp(), receives_, nullptr);
        CiPostSend(from.qp(), sends_, nullptr);
        to.take(Batch);
        from.take(1);
    }
    void write() {
        CiPostSend(from.qp(), sends_, nullptr);
        from.take(1);
    }
    bool has_arrived(ULONG length) const {
        return std::memcmp(reinterpret_cast<void*>(from.address()),
                           reinterpret_cast<void*>(to.address()), length) == 0;
    }

    software_hca hca;
    end from{hca.device()};
    end to{hca.last_device()};

private:
    ib_local_ds_t from_segment_;
    ib_local_ds_t to_segment_;
    ib_send_wr_t sends_[Batch];
    ib_recv_wr_t receives_[Batch];
};

template <ULONG Batch, class Call>
void measure(run& sample, ib_wr_type_t type, ULONG length, ib_send_opt_t options,
             const Call& call) {
    connection<Batch> pair(type, length, options);
    std::memset(reinterpret_cast<void*>(pair.from.address()), 3, length);
    call(pair);
    expect(pair.has_arrived(length), "bytes");
    const std::uint64_t operations = sample.in_batches_of(Batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += Batch)
        call(pair);
    sample.stop();
}

template <ULONG Batch>
void send_inline(run& sample) {
    measure<Batch>(sample, WR_SEND, 8, IB_SEND_OPT_INLINE, [](auto& pair) { pair.send(); });
}

template <ULONG Batch, ULONG Length>
void write(run& sample) {
    measure<Batch>(sample, WR_RDMA_WRITE, Length, 0, [](auto& pair) { pair.write(); });
}

void poll_empty(run& sample) {
    const software_hca hca;
    const end one(hca.device());
    const std::uint64_t operations = sample.operations();
    IB_WC entry;
    ULONG sum = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        ULONG taken = 0;
        CiGetCqResults(one.cq(), 1, &entry, &taken);
        sum += taken;
    }
    sample.stop();
    expect(sum == 0, "CiGetCqResults");
}

} // namespace

void add_ours_data_path(catalog& all) {
    all.add("ours/send_8", "CiPostRecv, CiPostSend of 8 inline bytes, and both polls",
            send_inline<1>);
    all.add("ours/send_8_list_32", "the same in lists of 32", send_inline<32>);
    all.add("ours/write_8", "CiPostSend of an RDMA write of 8 bytes, and its poll", write<1, 8>);
    all.add("ours/write_8_list_32", "the same in lists of 32", write<32, 8>);
    all.add("ours/write_4k", "an RDMA write of 4 KiB, and its poll", write<1, 4096>);
    all.add("ours/write_64k", "an RDMA write of 64 KiB, and its poll", write<1, 65536>);
    all.add("ours/write_1m", "an RDMA write of 1 MiB, and its poll", write<1, region>);
    all.add("ours/poll_empty", "CiGetCqResults of an empty queue", poll_empty);
}

} // namespace irpverbs::bench
