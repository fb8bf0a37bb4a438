// Calls of verbs in tests: one IRP per call, and its result.
#pragma once

#include <ci/ci.h>
#include <hca/hca.h>

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::testing {

/// The longest wait for a verb's completion in machine time, as a relative timeout (-1 = 100 ns).
inline constexpr LONGLONG completion_timeout = -60LL * 10'000'000;

/// One verb's IRP, from the call to its completion. The destructor waits for the completion and
/// checks laws 1 and 3: one completion, and STATUS_PENDING exactly when the IRP was marked pending.
class verb_call {
public:
    verb_call() : state_(std::make_unique<state>()) {}
    /// `verb(IRP*)` calls the verb.
    template <class Verb>
    explicit verb_call(const Verb& verb) : verb_call() {
        send(verb);
    }
    ~verb_call() {
        if (state_ == nullptr || !state_->sent) return;
        if (std::uncaught_exceptions() > exceptions_) cancel(); // the test was aborted
        if (!wait()) static_cast<void>(state_.release());       // its owner may still complete it
    }
    verb_call(verb_call&&) noexcept = default;
    verb_call& operator=(verb_call&&) = delete;

    template <class Verb>
    void send(const Verb& verb) {
        state_->sent = true;
        state_->returned = verb(state_->irp);
    }
    bool done() const { return state_->completions.load() != 0; }
    /// Waits up to `milliseconds` of machine time for the completion; true if it occurred.
    bool completes_within(LONGLONG milliseconds) {
        LARGE_INTEGER due;
        due.QuadPart = -10'000 * milliseconds;
        return KeWaitForSingleObject(&state_->completed, Executive, KernelMode, FALSE, &due) ==
               STATUS_SUCCESS;
    }
    BOOLEAN cancel() { return IoCancelIrp(state_->irp); }
    NTSTATUS returned() const { return state_->returned; }
    /// Waits for the completion and returns its status; STATUS_PENDING after a timeout.
    NTSTATUS status() { return wait() ? state_->irp->IoStatus.Status : STATUS_PENDING; }
    ULONG_PTR information() { return wait() ? state_->irp->IoStatus.Information : 0; }
    template <class Type>
    Type* object() {
        return reinterpret_cast<Type*>(information());
    }
    /// `call` runs in the completion routine.
    void on_completion(std::function<void()> call) { state_->on_completion = std::move(call); }

private:
    struct state {
        IRP* irp = IoAllocateIrp(1, FALSE);
        KEVENT completed;
        std::atomic<int> completions{0};
        std::function<void()> on_completion;
        NTSTATUS returned = STATUS_UNSUCCESSFUL;
        BOOLEAN pending_returned = FALSE;
        bool sent = false;

        state() {
            KeInitializeEvent(&completed, NotificationEvent, FALSE);
            IoSetCompletionRoutine(irp, note, this, TRUE, TRUE, TRUE);
        }
        ~state() { IoFreeIrp(irp); }
        state(const state&) = delete;
        state& operator=(const state&) = delete;
    };

    static NTSTATUS note(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& self = *static_cast<state*>(context);
        self.pending_returned = irp->PendingReturned;
        ++self.completions;
        if (self.on_completion) self.on_completion();
        KeSetEvent(&self.completed, IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    bool wait() {
        LARGE_INTEGER limit;
        limit.QuadPart = completion_timeout;
        if (KeWaitForSingleObject(&state_->completed, Executive, KernelMode, FALSE, &limit) !=
            STATUS_SUCCESS) {
            ADD_FAILURE() << "the IRP was not completed";
            return false;
        }
        EXPECT_EQ(state_->completions, 1);
        EXPECT_EQ(state_->pending_returned != FALSE, state_->returned == STATUS_PENDING);
        if (state_->returned != STATUS_PENDING) {
            EXPECT_EQ(state_->returned, state_->irp->IoStatus.Status);
        }
        return true;
    }

    std::unique_ptr<state> state_;
    int exceptions_ = std::uncaught_exceptions();
};

inline const char* name_of(NTSTATUS status) {
    const char* name = NtStatusName(status);
    return name != nullptr ? name : "?";
}

inline IB_CA* open_ca(DEVICE_OBJECT* fdo, const IB_CA_DISPATCH* dispatch = nullptr,
                      void* context = nullptr) {
    verb_call open([&](IRP* irp) { return CiOpenCa(fdo, context, dispatch, nullptr, irp); });
    EXPECT_STREQ(name_of(open.status()), "STATUS_SUCCESS");
    return open.object<IB_CA>();
}

inline NTSTATUS close_ca(IB_CA* ca) {
    return verb_call([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); }).status();
}

inline IB_CQ* create_cq(IB_CA* ca, ULONG entries = 4, const IB_CQ_DISPATCH* dispatch = nullptr,
                        void* context = nullptr) {
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca, entries, context, dispatch, nullptr, irp); });
    EXPECT_STREQ(name_of(create.status()), "STATUS_SUCCESS");
    return create.object<IB_CQ>();
}

inline NTSTATUS destroy_cq(IB_CQ* cq) {
    return verb_call([&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); }).status();
}

/// False: the queue is empty.
inline bool take_completion(IB_CQ* cq, IB_WC& entry) {
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(cq, 1, &entry, &taken), STATUS_SUCCESS);
    return taken != 0;
}

/// Waits for the next completion.
inline IB_WC next_completion(IB_CQ* cq) {
    IB_WC entry{};
    while (!take_completion(cq, entry)) {
        verb_call event([&](IRP* irp) { return CiGetCqCompEvent(cq, irp); });
        verb_call([&](IRP* irp) { return CiArmCq(cq, IB_CQ_ARM_NEXT, irp); }).status();
        if (event.status() != STATUS_SUCCESS) return entry;
    }
    return entry;
}

/// `verb(IRP*)` creates an object, and succeeds.
template <class Object, class Verb>
Object* created(const Verb& verb) {
    verb_call create(verb);
    EXPECT_STREQ(name_of(create.status()), "STATUS_SUCCESS");
    return create.object<Object>();
}

inline IB_PD* allocate_pd(IB_CA* ca) {
    return created<IB_PD>([&](IRP* irp) { return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp); });
}
inline NTSTATUS deallocate_pd(IB_PD* pd) {
    return verb_call([&](IRP* irp) { return CiDeallocatePd(pd, nullptr, irp); }).status();
}

inline IB_MR* register_mr(IB_PD* pd, void* at, ULONGLONG length, ib_access_t access) {
    const ib_mr_create_t wanted{at, length, access, 0};
    return created<IB_MR>([&](IRP* irp) { return CiRegisterMr(pd, &wanted, nullptr, irp); });
}
inline IB_MR* register_smr(IB_PD* pd, IB_MR* other, void* at, ib_access_t access) {
    const ib_smr_create_t wanted{other, at, access};
    return created<IB_MR>([&](IRP* irp) { return CiRegisterSmr(pd, &wanted, nullptr, irp); });
}
inline NTSTATUS modify_mr(IB_MR* mr, const ib_mr_mod_t& change) {
    return verb_call([&](IRP* irp) { return CiModifyMr(mr, &change, nullptr, irp); }).status();
}
inline NTSTATUS modify_pmr(IB_MR* mr, const ib_phys_mod_t& change) {
    return verb_call([&](IRP* irp) { return CiModifyPmr(mr, &change, nullptr, irp); }).status();
}
inline NTSTATUS deregister_mr(IB_MR* mr) {
    return verb_call([&](IRP* irp) { return CiDeregisterMr(mr, nullptr, irp); }).status();
}

inline IB_AV* create_av(IB_PD* pd, const ib_av_attr_t& way) {
    return created<IB_AV>([&](IRP* irp) { return CiCreateAv(pd, &way, nullptr, irp); });
}
inline NTSTATUS destroy_av(IB_AV* av) {
    return verb_call([&](IRP* irp) { return CiDestroyAv(av, nullptr, irp); }).status();
}

inline IB_MCAST* attach_mcast(IB_QP* qp, const ib_gid_t& group, ib_lid_t lid) {
    return created<IB_MCAST>(
        [&](IRP* irp) { return CiAttachMcast(qp, &group, lid, nullptr, irp); });
}
inline NTSTATUS detach_mcast(IB_MCAST* mcast) {
    return verb_call([&](IRP* irp) { return CiDetachMcast(mcast, nullptr, irp); }).status();
}

inline IB_SRQ* create_srq(IB_PD* pd, const ib_srq_create_t& wanted) {
    return created<IB_SRQ>([&](IRP* irp) { return CiCreateSrq(pd, &wanted, nullptr, irp); });
}
inline NTSTATUS destroy_srq(IB_SRQ* srq) {
    return verb_call([&](IRP* irp) { return CiDestroySrq(srq, nullptr, irp); }).status();
}
inline NTSTATUS modify_srq(IB_SRQ* srq, const ib_srq_mod_t& change) {
    return verb_call([&](IRP* irp) { return CiModifySrq(srq, &change, nullptr, irp); }).status();
}

/// The parameters of a queue pair with small queues. An XRC initiator has no receives.
inline ib_qp_create_t small_qp(IB_CQ* cq, ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
    ib_qp_create_t wanted{};
    wanted.qp_type = type;
    wanted.h_sq_cq = wanted.h_rq_cq = cq;
    wanted.sq_depth = wanted.rq_depth = 4;
    wanted.sq_sge = wanted.rq_sge = 1;
    if (type != IB_QPT_XRC_INI) return wanted;
    wanted.h_rq_cq = nullptr;
    wanted.rq_depth = wanted.rq_sge = 0;
    return wanted;
}
inline IB_QP* create_qp(IB_PD* pd, const ib_qp_create_t& wanted) {
    return created<IB_QP>([&](IRP* irp) { return CiCreateQp(pd, &wanted, nullptr, irp); });
}
inline NTSTATUS destroy_qp(IB_QP* qp) {
    return verb_call([&](IRP* irp) { return CiDestroyQp(qp, nullptr, irp); }).status();
}
inline NTSTATUS modify_qp(IB_QP* qp, const ib_qp_mod_t& change) {
    return verb_call([&](IRP* irp) { return CiModifyQp(qp, &change, nullptr, irp); }).status();
}

/// A port's attributes with their tables.
class port_block {
public:
    port_block(IB_CA* ca, UCHAR number) : bytes_(size / sizeof(std::uint64_t)) {
        verb_call query([&](IRP* irp) {
            return CiQueryPort(ca, number, size, reinterpret_cast<IB_PORT_ATTR*>(bytes_.data()),
                               irp);
        });
        EXPECT_STREQ(name_of(query.status()), "STATUS_SUCCESS");
    }
    const IB_PORT_ATTR& operator*() const {
        return *reinterpret_cast<const IB_PORT_ATTR*>(bytes_.data());
    }
    const IB_PORT_ATTR* operator->() const { return &**this; }

private:
    static constexpr SIZE_T size = 32'768; // rxe has 1024 GIDs
    std::vector<std::uint64_t> bytes_;
};

/// The HCAs behind a URI, for the life of the scope.
class attached {
public:
    explicit attached(std::string uri = "software:") : uri_(std::move(uri)) {
        char message[200] = "";
        ULONG count = 0;
        EXPECT_EQ(HcaAttachEx(uri_.c_str(), &count, message, sizeof(message)), STATUS_SUCCESS)
            << message;
        guids_.resize(count);
        EXPECT_EQ(HcaEnumerate(guids_.data(), &count), STATUS_SUCCESS);
    }
    ~attached() { EXPECT_EQ(HcaDetach(uri_.c_str()), STATUS_SUCCESS); }
    attached(const attached&) = delete;
    attached& operator=(const attached&) = delete;

    ib_guid_t guid(std::size_t index = 0) const { return guids_.at(index); }
    DEVICE_OBJECT* fdo(std::size_t index = 0) const { return HcaFromGuid(guid(index)); }
    std::size_t count() const { return guids_.size(); }

private:
    std::string uri_;
    std::vector<ib_guid_t> guids_;
};

} // namespace irpverbs::testing
