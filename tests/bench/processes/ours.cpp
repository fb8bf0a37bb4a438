// Queue pairs of clients of irpverbsd, on its software fabric.
#include "duels.hpp"
#include "transfers.hpp"

#include <ci/ci.h>
#include <ci/common_buffer.hpp>
#include <ci/data_path.h>
#include <ci/qp_changes.hpp>
#include <ci/support/blocking_verb.hpp>
#include <dispatch/machine.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sched.h>

namespace irpverbs::bench {
namespace {

constexpr ULONG region = 1u << 20;
constexpr ULONG depth = 256;

using ci::detail::verb_result;

template <class Verb>
verb_result must(const Verb& verb) {
    const verb_result made = ci::detail::call_verb(verb);
    expect(made.success(), "a verb");
    return made;
}

// This process's connection to the daemon, and one open HCA of it. It lasts as long as the process.
class client {
public:
    explicit client(const char* hca) {
        expect(NT_SUCCESS(HcaAttach(hca, nullptr)), "HcaAttach");
        ib_guid_t guid = 0;
        ULONG count = 1;
        HcaEnumerate(&guid, &count);
        ca = must([&](IRP* irp) {
                 return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp);
             }).object<IB_CA>();
        pd = must([&](IRP* irp) {
                 return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp);
             }).object<IB_PD>();
        lid = ci::detail::port_block(ca, 1).get()->Lid;
    }

    IB_CA* ca;
    IB_PD* pd;
    ib_lid_t lid;

private:
    dispatch::asio_machine machine_{{.processors = 1}};
    const dispatch::machine::scope inside_{machine_};
};

// All that a peer has to know of an end.
struct place {
    ib_lid_t lid;
    ib_qpn_t qpn;
    ULONGLONG address;
    ULONG key;
};

enum class memory { own, shared }; // private, or a common buffer

// A queue pair with its queues and its memory.
class end {
public:
    end(const client& owner, memory of)
        : owner_(owner), own_(of == memory::own ? region : 0, 3),
          shared_(of == memory::own ? ci::common_buffer() : ci::common_buffer(region)),
          sent_(queue()), received_(queue()) {
        if (of == memory::shared) std::memset(shared_.bytes().data(), 3, region);
        const ib_mr_create_t wanted{bytes(), region, IB_AC_LOCAL_WRITE | IB_AC_REMOTE, 0};
        mr_ = must([&](IRP* irp) {
                  return CiRegisterMr(owner_.pd, &wanted, nullptr, irp);
              }).object<IB_MR>();
        address_ = reinterpret_cast<ULONGLONG>(wanted.vaddr);
        ib_qp_create_t create{};
        create.qp_type = IB_QPT_RELIABLE_CONN;
        create.h_sq_cq = sent_;
        create.h_rq_cq = received_;
        create.sq_depth = create.rq_depth = depth;
        create.sq_sge = create.rq_sge = 1;
        create.sq_max_inline = 64;
        qp_ = must([&](IRP* irp) {
                  return CiCreateQp(owner_.pd, &create, nullptr, irp);
              }).object<IB_QP>();
    }

    place own() const { return {owner_.lid, qp_->Num, address(), mr_->RKey}; }
    void connect(const place& peer) {
        peer_ = peer;
        modify(ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE}));
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = peer.lid;
        path.path_mtu = IB_MTU_4096;
        path.dest_qp = peer.qpn;
        path.rnr_nak_timeout = 1;
        modify(ci::to_rtr(IB_QPT_RELIABLE_CONN, path));
        modify(ci::to_rts(IB_QPT_RELIABLE_CONN, {}));
    }
    // For messages of another length, which come in lists of `batch`.
    void use(ib_wr_type_t type, ULONG length, ULONG batch, ULONG window) {
        batch_ = batch;
        window_ = window;
        segment_ = {address(), length, mr_->LKey};
        into_ = {address(), region, mr_->LKey};
        for (ULONG i = 0; i < batch; ++i) {
            const bool last = i + 1 == batch;
            sends_[i] = {};
            sends_[i].p_next = last ? nullptr : &sends_[i + 1];
            sends_[i].ds_array = &segment_;
            sends_[i].num_ds = 1;
            sends_[i].wr_type = type;
            sends_[i].send_opt =
                (length <= 64 ? IB_SEND_OPT_INLINE : 0u) | (last ? IB_SEND_OPT_SIGNALED : 0u);
            sends_[i].remote_ops = {peer_.address, 0, 0, peer_.key};
        }
    }
    void post_receives(ULONG count) {
        for (ULONG i = 0; i < count; ++i)
            receives_[i] = {i + 1 < count ? &receives_[i + 1] : nullptr, 0, &into_, 1};
        expect(NT_SUCCESS(CiPostRecv(qp_, receives_.data(), nullptr)), "CiPostRecv");
        posted_ += count;
    }
    // Receives remain posted from one measurement to the next.
    void fill_receives() {
        if (posted_ < posted_receives) post_receives(posted_receives - posted_);
    }

    bool send() {
        if (under_way_ + batch_ > window_) return false;
        expect(NT_SUCCESS(CiPostSend(qp_, sends_.data(), nullptr)), "CiPostSend");
        under_way_ += batch_;
        return true;
    }
    void progress() { under_way_ -= take(sent_) * batch_; }
    ULONG receive() {
        const ULONG count = take(received_);
        posted_ -= count;
        if (count != 0) post_receives(count);
        return count;
    }
    void relax() {
        progress();
        if (yields) sched_yield();
    }
    void finish() {
        for (poll_limit limit; under_way_ != 0; limit.count())
            progress();
    }
    // As receive(), but sleeps until there is something.
    ULONG await() {
        for (;;) {
            CiArmCqNow(received_, IB_CQ_ARM_NEXT);
            if (const ULONG count = receive(); count != 0) return count;
            must([&](IRP* irp) { return CiGetCqCompEvent(received_, irp); });
        }
    }

    bool yields = false;

private:
    IB_CQ* queue() const {
        return must([&](IRP* irp) {
                   return CiCreateCq(owner_.ca, 2 * depth, nullptr, nullptr, nullptr, irp);
               })
            .object<IB_CQ>();
    }
    void modify(const ib_qp_mod_t& change) {
        must([&](IRP* irp) { return CiModifyQp(qp_, &change, nullptr, irp); });
    }
    void* bytes() {
        return own_.empty() ? static_cast<void*>(shared_.bytes().data()) : own_.data();
    }
    ULONGLONG address() const { return address_; }
    static ULONG take(IB_CQ* from) {
        std::array<IB_WC, 16> entries;
        ULONG taken = 0;
        CiGetCqResults(from, entries.size(), entries.data(), &taken);
        for (ULONG i = 0; i < taken; ++i)
            expect(entries[i].Status == IB_WC_SUCCESS, "a completion");
        return taken;
    }

    const client& owner_;
    std::vector<UCHAR> own_;
    const ci::common_buffer shared_;
    ULONGLONG address_ = 0;
    IB_CQ* const sent_;
    IB_CQ* const received_;
    IB_MR* mr_ = nullptr;
    IB_QP* qp_ = nullptr;
    place peer_{};
    ib_local_ds_t segment_{};
    ib_local_ds_t into_{};
    std::array<ib_send_wr_t, 16> sends_{};
    std::array<ib_recv_wr_t, posted_receives> receives_{};
    ULONG batch_ = 1;
    ULONG window_ = 1;
    ULONG under_way_ = 0;
    ULONG posted_ = 0;
};

// The ends of this process. The first one holds both ends of a connection, too.
struct ends {
    ends(std::shared_ptr<const client> owner, const meeting& with, memory of)
        : here(std::move(owner)), across(*here, of) {
        across.connect(with.exchange(across.own()));
        across.yields = !with.is_first;
        if (!with.is_first) return;
        left = std::make_unique<end>(*here, of);
        right = std::make_unique<end>(*here, of);
        left->connect(right->own());
        right->connect(left->own());
    }

    std::shared_ptr<const client> here;
    end across; // its peer is in the other process
    std::unique_ptr<end> left;
    std::unique_ptr<end> right;
};

// The messages of a duel.
struct kind {
    ULONG length;
    ULONG batch = 1;
    ULONG window = 16;
};
constexpr kind small{8, 1, 64};
constexpr kind small_list{8, 16, 64};

class ours_duel : public duel {
public:
    ours_duel(std::shared_ptr<ends> all, const meeting& with, kind of, ib_wr_type_t type = WR_SEND)
        : with_(with), all_(std::move(all)), of_(of), type_(type) {}

protected:
    void set_up(end& each) const { each.use(type_, of_.length, of_.batch, of_.window); }

    const meeting& with_;
    const std::shared_ptr<ends> all_;
    const kind of_;
    const ib_wr_type_t type_;
};

// The daemon has the other processor; this process has both ends.
class alone_latency final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void first(std::uint64_t operations) override {
        for (end* each : {all_->left.get(), all_->right.get()}) {
            set_up(*each);
            each->fill_receives();
        }
        for (std::uint64_t i = 0; i < operations; i += 2) {
            pass(*all_->left, *all_->right);
            pass(*all_->right, *all_->left);
        }
    }

private:
    static void pass(end& from, end& to) {
        send_one(from);
        for (poll_limit limit; to.receive() == 0; limit.count()) {
        }
        from.finish();
    }
};

class alone_stream final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void first(std::uint64_t operations) override {
        set_up(*all_->left);
        set_up(*all_->right);
        all_->right->fill_receives();
        stream_to_itself(*all_->left, *all_->right, operations, of_.batch);
        all_->left->finish();
    }
};

// The daemon and the second one share a processor.
class across_latency final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void prepare() override {
        set_up(all_->across);
        all_->across.fill_receives();
    }
    void first(std::uint64_t operations) override {
        ping(all_->across, operations);
        all_->across.finish();
    }
    void second(std::uint64_t operations) override {
        pong(all_->across, operations);
        all_->across.finish();
    }
};

class across_stream final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void prepare() override {
        set_up(all_->across);
        all_->across.fill_receives();
    }
    void first(std::uint64_t operations) override {
        send_stream(all_->across, with_, operations, of_.batch);
        all_->across.finish();
    }
    void second(std::uint64_t operations) override {
        receive_stream(all_->across, with_, operations);
    }
};

// The target sleeps.
class across_write final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void first(std::uint64_t operations) override {
        end& from = all_->across;
        set_up(from);
        for (std::uint64_t i = 0; i < operations; ++i)
            send_one(from);
        from.finish();
    }
};

// Each one sleeps until the other's message comes, and so does the daemon.
class sleeping_latency final : public ours_duel {
public:
    using ours_duel::ours_duel;
    void prepare() override {
        set_up(all_->across);
        all_->across.fill_receives();
    }
    void first(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            send_one(all_->across);
            all_->across.await();
        }
        all_->across.finish();
    }
    void second(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            all_->across.await();
            send_one(all_->across);
        }
        all_->across.finish();
    }
};

} // namespace

void add_ours(duels& all, const meeting& with, const char* hca) {
    const auto here = std::make_shared<const client>(hca);
    auto from = std::make_shared<ends>(here, with, memory::own);
    const auto add = [&]<class Duel>(std::type_identity<Duel>, const char* name, const char* text,
                                     kind of, ib_wr_type_t type = WR_SEND) {
        all.push_back({name, text, std::make_shared<Duel>(from, with, of, type)});
    };
    constexpr std::type_identity<alone_stream> alone;
    constexpr std::type_identity<across_stream> across;
    constexpr std::type_identity<across_write> write;
    add(std::type_identity<alone_latency>{}, "alone/latency_8",
        "SEND of 8 bytes one way; the daemon has a processor", small);
    add(alone, "alone/stream_8", "SEND of 8 bytes, 64 under way", small);
    add(alone, "alone/stream_8_list_16", "the same in lists of 16", small_list);
    add(alone, "alone/stream_4k", "SEND of 4 KiB, 16 under way", {4096});
    add(alone, "alone/stream_64k", "SEND of 64 KiB, 16 under way", {65536});
    add(alone, "alone/stream_1m", "SEND of 1 MiB, 16 under way", {region});
    add(std::type_identity<across_latency>{}, "across/latency_8",
        "SEND of 8 bytes one way; the daemon and the receiver share a processor", small);
    add(across, "across/stream_8", "SEND of 8 bytes, 64 under way", small);
    add(across, "across/stream_8_list_16", "the same in lists of 16", small_list);
    add(across, "across/stream_4k", "SEND of 4 KiB, 16 under way", {4096});
    add(write, "across/write_64k", "RDMA write of 64 KiB into private memory", {65536},
        WR_RDMA_WRITE);
    add(write, "across/write_1m", "RDMA write of 1 MiB into private memory", {region},
        WR_RDMA_WRITE);
    add(std::type_identity<sleeping_latency>{}, "across/sleeping_8",
        "SEND of 8 bytes one way; all three processes sleep", small);
    from = std::make_shared<ends>(here, with, memory::shared);
    add(alone, "alone/shared_4k", "SEND of 4 KiB between common buffers, 16 under way", {4096});
    add(alone, "alone/shared_64k", "SEND of 64 KiB between common buffers, 16 under way", {65536});
    add(alone, "alone/shared_1m", "SEND of 1 MiB between common buffers, 16 under way", {region});
    add(across, "across/shared_4k", "SEND of 4 KiB between common buffers, 16 under way", {4096});
    add(across, "across/shared_64k", "SEND of 64 KiB between common buffers, 16 under way",
        {65536});
    add(across, "across/shared_1m", "SEND of 1 MiB between common buffers, 16 under way", {region});
    add(write, "across/shared_write_4k", "RDMA write of 4 KiB between common buffers", {4096},
        WR_RDMA_WRITE);
    add(write, "across/shared_write_64k", "RDMA write of 64 KiB between common buffers", {65536},
        WR_RDMA_WRITE);
    add(write, "across/shared_write_1m", "RDMA write of 1 MiB between common buffers", {region},
        WR_RDMA_WRITE);
}

} // namespace irpverbs::bench
