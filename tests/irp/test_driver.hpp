// A driver that is one function object, and requests that record their results.
#pragma once

#include <irp/pending_irp.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::testing {

class test_device {
public:
    using dispatch_function = std::function<NTSTATUS(irp::pending_irp)>;

    explicit test_device(dispatch_function dispatch) : dispatch_(std::move(dispatch)) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = call;
        EXPECT_EQ(IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                                 &device_),
                  STATUS_SUCCESS);
        *static_cast<test_device**>(device_->DeviceExtension) = this;
    }
    ~test_device() { IoDeleteDevice(device_); }
    test_device(const test_device&) = delete;
    test_device& operator=(const test_device&) = delete;

    DEVICE_OBJECT* get() const { return device_; }

private:
    static NTSTATUS call(DEVICE_OBJECT* device, IRP* irp) {
        return (*static_cast<test_device**>(device->DeviceExtension))
            ->dispatch_(irp::pending_irp(irp));
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    dispatch_function dispatch_;
};

/// An IRP that the test owns and keeps at its completion.
class numbered_request {
public:
    explicit numbered_request(const test_device& device, std::vector<int>* order = nullptr,
                              int number = 0)
        : device_(device), irp_(IoAllocateIrp(device.get()->StackSize, FALSE)), order_(order),
          number_(number) {
        IoGetNextIrpStackLocation(irp_)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        IoSetCompletionRoutine(irp_, done, this, TRUE, TRUE, TRUE);
    }
    ~numbered_request() { IoFreeIrp(irp_); }
    numbered_request(const numbered_request&) = delete;
    numbered_request& operator=(const numbered_request&) = delete;

    NTSTATUS send() { return IoCallDriver(device_.get(), irp_); }
    bool cancel() { return IoCancelIrp(irp_) != FALSE; }
    IRP* irp() const { return irp_; }

    int completions() const { return completions_; }
    NTSTATUS status() const { return status_; }
    ULONG_PTR information() const { return information_; }

private:
    static NTSTATUS done(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& self = *static_cast<numbered_request*>(context);
        self.status_ = irp->IoStatus.Status;
        self.information_ = irp->IoStatus.Information;
        if (self.order_ != nullptr) self.order_->push_back(self.number_);
        ++self.completions_; // last, since the test may free the request once it sees the count
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    const test_device& device_;
    IRP* irp_;
    std::vector<int>* order_;
    int number_;
    std::atomic<int> completions_ = 0;
    NTSTATUS status_ = STATUS_PENDING;
    ULONG_PTR information_ = 0;
};

/// Makes the IRP a request that test_device understands.
inline void ask(IRP* irp) {
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
}

} // namespace irpverbs::testing
