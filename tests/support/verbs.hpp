// Verbs as tests call them: one IRP a call, and what became of it.
#pragma once

#include <ci/ci.h>
#include <hca/hca.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace irpverbs::testing {

/// One verb's IRP, from the call to its completion.
class verb_call {
public:
    /// `verb(IRP*)` calls the verb.
    template <class Verb>
    explicit verb_call(const Verb& verb) {
        KeInitializeEvent(&completed_, NotificationEvent, FALSE);
        IoSetCompletionRoutine(irp_, note, this, TRUE, TRUE, TRUE);
        returned_ = verb(irp_);
    }
    ~verb_call() {
        wait();
        EXPECT_EQ(completions_, 1);
        IoFreeIrp(irp_);
    }
    verb_call(const verb_call&) = delete;
    verb_call& operator=(const verb_call&) = delete;

    bool done() { return KeReadStateEvent(&completed_) != 0; }
    BOOLEAN cancel() { return IoCancelIrp(irp_); }
    NTSTATUS returned() const { return returned_; }
    /// Of the completion, which is waited for.
    NTSTATUS status() {
        wait();
        return irp_->IoStatus.Status;
    }
    ULONG_PTR information() {
        wait();
        return irp_->IoStatus.Information;
    }
    template <class Type>
    Type* object() {
        return reinterpret_cast<Type*>(information());
    }

private:
    static NTSTATUS note(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& self = *static_cast<verb_call*>(context);
        ++self.completions_;
        self.pending_returned_ = irp->PendingReturned;
        KeSetEvent(&self.completed_, IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    void wait() {
        KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr);
        // Laws 1 and 3: the value returned is the stored status, or pending, and then it was
        // marked.
        EXPECT_EQ(pending_returned_ != FALSE, returned_ == STATUS_PENDING);
        if (returned_ != STATUS_PENDING) {
            EXPECT_EQ(returned_, irp_->IoStatus.Status);
        }
    }

    IRP* irp_ = IoAllocateIrp(1, FALSE);
    KEVENT completed_;
    BOOLEAN pending_returned_ = FALSE;
    NTSTATUS returned_ = STATUS_UNSUCCESSFUL;
    int completions_ = 0;
};

/// A verb's IRP that nobody waits for: for simulated runs, whose end it must have come to.
class sent_irp {
public:
    sent_irp() { IoSetCompletionRoutine(irp_, note, this, TRUE, TRUE, TRUE); }
    ~sent_irp() { IoFreeIrp(irp_); }
    sent_irp(const sent_irp&) = delete;
    sent_irp& operator=(const sent_irp&) = delete;

    template <class Verb>
    void send(const Verb& verb) {
        returned_ = verb(irp_);
    }
    void cancel() { IoCancelIrp(irp_); }
    bool done() const { return completions_ != 0; }
    NTSTATUS status() const { return irp_->IoStatus.Status; }
    template <class Type>
    Type* object() const {
        return reinterpret_cast<Type*>(irp_->IoStatus.Information);
    }
    /// Laws 1 and 3: completed once, as was returned; marked pending when that was returned.
    void expect_lawful() const {
        EXPECT_EQ(completions_, 1);
        EXPECT_EQ(pending_returned_ != FALSE, returned_ == STATUS_PENDING);
        if (returned_ != STATUS_PENDING) {
            EXPECT_EQ(returned_, status());
        }
    }
    /// Called when it completes.
    void (*on_completion)() = nullptr;

private:
    static NTSTATUS note(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& self = *static_cast<sent_irp*>(context);
        ++self.completions_;
        self.pending_returned_ = irp->PendingReturned;
        if (self.on_completion != nullptr) self.on_completion();
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    IRP* irp_ = IoAllocateIrp(1, FALSE);
    int completions_ = 0;
    BOOLEAN pending_returned_ = FALSE;
    NTSTATUS returned_ = STATUS_UNSUCCESSFUL;
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

/// The whole block of a port's attributes.
class port_block {
public:
    port_block(IB_CA* ca, UCHAR number) : bytes_(4096 / sizeof(std::uint64_t)) {
        verb_call query([&](IRP* irp) {
            return CiQueryPort(ca, number, 4096, reinterpret_cast<IB_PORT_ATTR*>(bytes_.data()),
                               irp);
        });
        EXPECT_STREQ(name_of(query.status()), "STATUS_SUCCESS");
    }
    const IB_PORT_ATTR& operator*() const {
        return *reinterpret_cast<const IB_PORT_ATTR*>(bytes_.data());
    }
    const IB_PORT_ATTR* operator->() const { return &**this; }

private:
    std::vector<std::uint64_t> bytes_;
};

/// The HCAs behind a URI, for the life of the scope.
class attached {
public:
    explicit attached(std::string uri = "software:") : uri_(std::move(uri)) {
        char message[200] = "";
        ULONG count = 0;
        EXPECT_EQ(HcaAttachTelling(uri_.c_str(), &count, message, sizeof(message)), STATUS_SUCCESS)
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
