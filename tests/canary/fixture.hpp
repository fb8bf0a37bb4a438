// The environment of each canary: one device, a few requests, and an oracle that checks their
// results.
#pragma once

#include <dispatch/machine.hpp>
#include <irp/wdm.h>

#include <array>
#include <optional>
#include <string>

namespace canary {

struct request {
    IRP* irp = nullptr;
    int completions = 0;
    NTSTATUS status = STATUS_PENDING;
    bool cancel_requested = false;
};

/// A device whose dispatch routine is the canary's, and up to four requests to it.
class fixture {
public:
    explicit fixture(PDRIVER_DISPATCH dispatch, void* state) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_);
        *static_cast<void**>(device_->DeviceExtension) = state;
        for (request& each : requests_) {
            each.irp = IoAllocateIrp(1, FALSE);
            IoGetNextIrpStackLocation(each.irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
            IoSetCompletionRoutine(each.irp, completed, &each, TRUE, TRUE, TRUE);
        }
    }
    ~fixture() {
        for (request& each : requests_)
            IoFreeIrp(each.irp);
        IoDeleteDevice(device_);
    }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    IRP* irp(std::size_t index) { return requests_[index].irp; }
    NTSTATUS send(std::size_t index) {
        ++sent_;
        return IoCallDriver(device_, requests_[index].irp);
    }
    void cancel(std::size_t index) {
        requests_[index].cancel_requested = true;
        IoCancelIrp(requests_[index].irp);
    }

    /// Checks that each request that was sent completed once, and that only cancelled ones
    /// completed with STATUS_CANCELLED.
    std::optional<std::string> verdict() const {
        int completed = 0;
        for (const request& each : requests_) {
            completed += each.completions != 0;
            if (each.completions > 1) return "a request was completed twice";
            if (each.status == STATUS_CANCELLED && !each.cancel_requested)
                return "a request was cancelled without IoCancelIrp";
        }
        if (completed != sent_)
            return std::to_string(sent_ - completed) + " request(s) never completed";
        return std::nullopt;
    }

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& mine = *static_cast<request*>(context);
        ++mine.completions;
        mine.status = irp->IoStatus.Status;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    std::array<request, 4> requests_;
    int sent_ = 0;
};

template <class State>
State& state_of(DEVICE_OBJECT* device) {
    return *static_cast<State*>(*static_cast<void**>(device->DeviceExtension));
}

inline void complete(IRP* irp, NTSTATUS status) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

inline bool cancel_requested(IRP* irp) {
    return __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
}

/// A spin lock; `lock_scope` holds it for a scope.
struct lock {
    KSPIN_LOCK word;
    lock() { KeInitializeSpinLock(&word); }
};
class lock_scope {
public:
    explicit lock_scope(lock& acquired)
        : lock_(acquired), level_(KeAcquireSpinLockRaiseToDpc(&acquired.word)) {}
    ~lock_scope() { KeReleaseSpinLock(&lock_.word, level_); }
    lock_scope(const lock_scope&) = delete;
    lock_scope& operator=(const lock_scope&) = delete;

private:
    lock& lock_;
    KIRQL level_;
};

} // namespace canary
