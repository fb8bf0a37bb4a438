// A daemon that ptrace(2) kills at system calls all over its life, as its client sees it.
#include "surviving_peer.hpp"
#include "traced_program.hpp"

#include <ci/support/blocking_verb.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A client that uses what it can get. All of its verbs complete, and those that end objects
/// succeed, whether the daemon lives or not.
class patient_client {
public:
    explicit patient_client(const std::string& uri) : uri_(uri) {
        attached_ = NT_SUCCESS(HcaAttachEx(uri.c_str(), nullptr, nullptr, 0));
        if (!attached_) return;
        ca_ = make<IB_CA>(
            [&](IRP* irp) { return CiOpenCa(first_hca(), nullptr, nullptr, nullptr, irp); });
        if (ca_ != nullptr) make_objects();
        if (qp_ != nullptr && connect()) transfer();
    }
    ~patient_client() {
        end(qp_, CiDestroyQp);
        end(mr_, CiDeregisterMr);
        end(pd_, CiDeallocatePd);
        end(cq_, CiDestroyCq);
        expect_fatal_event();
        end(ca_, CiCloseCa);
        if (attached_) {
            EXPECT_EQ(HcaDetach(uri_.c_str()), STATUS_SUCCESS);
        }
    }
    patient_client(const patient_client&) = delete;
    patient_client& operator=(const patient_client&) = delete;

    bool has_transferred() const { return transferred_; }

private:
    /// Null: the daemon has ended.
    template <class Object, class Verb>
    Object* make(const Verb& verb) {
        verb_call call(verb);
        const NTSTATUS status = call.status();
        if (NT_SUCCESS(status)) return call.object<Object>();
        expect_end(status);
        return nullptr;
    }
    template <class Object, class Verb>
    void end(Object* object, const Verb& verb) {
        if (object == nullptr) return;
        verb_call call([&](IRP* irp) { return verb(object, nullptr, irp); });
        EXPECT_EQ(call.status(), STATUS_SUCCESS);
    }
    void expect_end(NTSTATUS status) {
        EXPECT_TRUE(status == STATUS_FILE_FORCED_CLOSED || status == STATUS_DEVICE_NOT_CONNECTED)
            << name_of(status);
        ended_ = true;
    }

    void make_objects() {
        fatal_.send([&](IRP* irp) { return CiGetCaFatalEvent(ca_, irp); });
        port_.send([&](IRP* irp) { return CiGetCaPortEvent(ca_, 1, irp); });
        cq_ = make<IB_CQ>(
            [&](IRP* irp) { return CiCreateCq(ca_, 16, nullptr, nullptr, nullptr, irp); });
        if (cq_ == nullptr) return;
        completion_.send([&](IRP* irp) { return CiGetCqCompEvent(cq_, irp); });
        error_.send([&](IRP* irp) { return CiGetCqAsyncEvent(cq_, irp); });
        pd_ = make<IB_PD>([&](IRP* irp) { return CiAllocatePd(ca_, IB_PDT_NORMAL, nullptr, irp); });
        if (pd_ == nullptr) return;
        const ib_mr_create_t region{memory_.data(), memory_.size(),
                                    IB_AC_LOCAL_WRITE | IB_AC_REMOTE, 0};
        mr_ = make<IB_MR>([&](IRP* irp) { return CiRegisterMr(pd_, &region, nullptr, irp); });
        const ib_qp_create_t wanted = small_qp(cq_, IB_QPT_RELIABLE_CONN);
        if (mr_ != nullptr)
            qp_ = make<IB_QP>([&](IRP* irp) { return CiCreateQp(pd_, &wanted, nullptr, irp); });
    }

    // The queue pair is its own peer. False: the daemon has ended.
    bool connect() {
        const ci::detail::port_block port(ca_, 1);
        if (port.get() == nullptr) return false;
        constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = port.get()->Lid;
        path.dest_qp = qp_->Num;
        for (const ib_qp_mod_t& each : {ci::to_init(type, {.access = IB_AC_REMOTE}),
                                        ci::to_rtr(type, path), ci::to_rts(type, {})}) {
            const NTSTATUS status = modify_qp(qp_, each);
            if (NT_SUCCESS(status)) continue;
            expect_end(status);
            return false;
        }
        return true;
    }

    void transfer() {
        for (int i = 0; i < 20 && post() && await_completions(); ++i)
            transferred_ = true;
    }
    bool post() {
        ib_local_ds_t all{reinterpret_cast<std::uintptr_t>(memory_.data()), 8, mr_->LKey};
        ib_recv_wr_t receive{nullptr, 1, &all, 1};
        ib_send_wr_t send{};
        send.ds_array = &all;
        send.num_ds = 1;
        send.wr_type = WR_SEND;
        send.send_opt = IB_SEND_OPT_SIGNALED;
        return is_success(CiArmCqNow(cq_, IB_CQ_ARM_NEXT)) &&
               is_success(CiPostRecv(qp_, &receive, nullptr)) &&
               is_success(CiPostSend(qp_, &send, nullptr));
    }
    bool await_completions() {
        for (ULONG done = 0; done < 2;) {
            IB_WC entry{};
            ULONG taken = 0;
            if (!is_success(CiGetCqResults(cq_, 1, &entry, &taken))) return false;
            done += taken;
        }
        return true;
    }
    bool is_success(NTSTATUS status) {
        if (NT_SUCCESS(status)) return true;
        expect_end(status);
        return false;
    }

    void expect_fatal_event() {
        if (!ended_ || ca_ == nullptr) return;
        EXPECT_EQ(fatal_.status(), STATUS_SUCCESS);
    }

    const std::string uri_;
    alignas(8) std::array<UCHAR, 4096> memory_{};
    bool attached_ = false;
    bool ended_ = false;
    bool transferred_ = false;
    IB_CA* ca_ = nullptr;
    IB_CQ* cq_ = nullptr;
    IB_PD* pd_ = nullptr;
    IB_MR* mr_ = nullptr;
    IB_QP* qp_ = nullptr;
    verb_call fatal_; // completed by the end of the daemon, or of its object, as the others are
    verb_call port_;
    verb_call completion_;
    verb_call error_;
};

class daemon_sweep {
public:
    /// The number of points of a daemon that outlives its client.
    long count_points() { return run(0); }
    void kill_at(long point) {
        SCOPED_TRACE("killed at point " + std::to_string(point));
        const int before = own_descriptors() + own_mappings("irpverbs-");
        run(point);
        EXPECT_EQ(own_descriptors() + own_mappings("irpverbs-"), before);
    }
    long transferred() const { return transferred_; }
    long interrupted() const { return interrupted_; }

private:
    long run(long point) {
        const std::string socket = directory_.file("socket");
        traced_program daemon({SERVED_DAEMON, socket}, traced_program::points::system_calls, point);
        if (!daemon.program().read_line().empty()) {
            const patient_client client("user:" + socket);
            transferred_ += client.has_transferred() ? 1 : 0;
        }
        interrupted_ += daemon.has_ended() ? 1 : 0;
        daemon.program().send_signal(SIGKILL);
        EXPECT_TRUE(was_killed(daemon.wait()));
        return daemon.reached();
    }

    private_directory directory_;
    const client machine_;
    long transferred_ = 0;
    long interrupted_ = 0;
};

TEST(KilledDaemon, AtAnySystemCall_AllVerbsOfItsClientComplete) {
    daemon_sweep here;
    const long all = here.count_points();
    const long count = sweep_points(all, 80, [&](long point) { here.kill_at(point); });
    EXPECT_GT(here.interrupted(), count / 4); // their number differs from run to run
    EXPECT_GT(here.transferred(), 1);
    RecordProperty("points", std::to_string(all));
}

} // namespace
