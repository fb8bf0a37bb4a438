// Small driver stacks for tests of the verifier, and the findings in them.
#pragma once

#include <support/findings.hpp>
#include <support/irp_stack.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/testing/choices.hpp>
#include <irp/verifier.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace irpverbs::testing {

/// Keeps memory that a broken driver lost reachable for the leak checker.
inline void* keep_lost(void* memory) {
    static auto& lost = *new std::vector<void*>; // never destroyed
    lost.push_back(memory);
    return memory;
}

/// A driver with one device, whose dispatch routine is a lambda.
class lambda_driver {
public:
    using routine = std::function<NTSTATUS(DEVICE_OBJECT*, IRP*)>;

    explicit lambda_driver(routine dispatch) : dispatch_(std::move(dispatch)) {
        for (PDRIVER_DISPATCH& each : driver_.MajorFunction)
            each = run;
        IoCreateDevice(&driver_, sizeof(extension), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &device_);
        if (device_ != nullptr) extension_of(device_).driver = this;
    }
    lambda_driver(lambda_driver& below, routine dispatch) : lambda_driver(std::move(dispatch)) {
        lower_ = IoAttachDeviceToDeviceStack(device_, below.device());
    }
    ~lambda_driver() {
        if (lower_ != nullptr) IoDetachDevice(lower_);
        if (device_ != nullptr) IoDeleteDevice(device_);
    }
    lambda_driver(const lambda_driver&) = delete;
    lambda_driver& operator=(const lambda_driver&) = delete;

    DEVICE_OBJECT* device() const { return device_; }
    DEVICE_OBJECT* lower() const { return lower_; }
    void forget_device() { device_ = nullptr; }
    DRIVER_OBJECT& driver_object() { return driver_; }
    /// The remove lock in the device's extension; not initialised yet.
    IO_REMOVE_LOCK& remove_lock() const { return extension_of(device_).lock; }

private:
    struct extension {
        lambda_driver* driver;
        IO_REMOVE_LOCK lock;
    };

    static extension& extension_of(DEVICE_OBJECT* device) {
        return *static_cast<extension*>(device->DeviceExtension);
    }
    static NTSTATUS run(DEVICE_OBJECT* device, IRP* irp) {
        return extension_of(device).driver->dispatch_(device, irp);
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    DEVICE_OBJECT* lower_ = nullptr;
    routine dispatch_;
};

inline NTSTATUS succeed_at_once(DEVICE_OBJECT*, IRP* irp) { return complete(irp, STATUS_SUCCESS); }

/// A dispatch routine that stores its IRP in `place` and pends it.
inline lambda_driver::routine pend_in(IRP*& place) {
    return [&place](DEVICE_OBJECT*, IRP* irp) {
        IoMarkIrpPending(irp);
        place = irp;
        return STATUS_PENDING;
    };
}

/// An IRP that its originator reclaims by its completion routine and frees in the destructor.
class request {
public:
    explicit request(CCHAR depth = 1, UCHAR major = IRP_MJ_INTERNAL_DEVICE_CONTROL)
        : irp_(IoAllocateIrp(depth, FALSE)) {
        IoGetNextIrpStackLocation(irp_)->MajorFunction = major;
        IoSetCompletionRoutine(irp_, reclaim, this, TRUE, TRUE, TRUE);
    }
    ~request() {
        if (irp_ != nullptr) IoFreeIrp(irp_);
    }
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    NTSTATUS send(const lambda_driver& to) { return IoCallDriver(to.device(), irp_); }
    IRP* irp() const { return irp_; }
    int completions() const { return completions_; }
    NTSTATUS status() const { return status_; }
    /// Another owner frees the IRP.
    void release() { irp_ = nullptr; }

private:
    static NTSTATUS reclaim(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto& self = *static_cast<request*>(context);
        ++self.completions_;
        self.status_ = irp->IoStatus.Status;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    IRP* irp_;
    int completions_ = 0;
    NTSTATUS status_ = STATUS_UNSUCCESSFUL;
};

/// A report about an IRP has the stack of the violation and an earlier one: where the IRP was sent,
/// completed or freed, or the lock was acquired.
inline void expect_both_stacks(const std::vector<reported_finding>& all) {
    for (const reported_finding& each : all) {
        const bool about_an_irp = !each.rule.empty() && !each.history.empty();
        EXPECT_TRUE(!about_an_irp || each.stacks.size() >= 2) << each.report;
    }
}

/// Runs `body(sim_machine&)` in one schedule of the simulator and returns the findings.
template <class Body>
std::vector<reported_finding> found_with(const std::string& options, const Body& body) {
    const irp::verifier_scope verified(options);
    const findings seen(dispatch::detail::enabled_checks.load());
    {
        dispatch::random_choices chance(1);
        dispatch::sim_machine sim(chance);
        const dispatch::machine::scope here(sim);
        const findings::on_this_machine collected(seen);
        try {
            body(sim);
        } catch (const stopped&) { // reported already
        }
    }
    std::vector<reported_finding> all = seen.all();
    expect_both_stacks(all);
    return all;
}

/// Runs with the verifier's checks that do not change behaviour.
template <class Body>
std::vector<reported_finding> found_in(const Body& body) {
    return found_with("default", body);
}

inline std::string text_of(const std::vector<reported_finding>& all) {
    std::string text;
    for (const reported_finding& each : all)
        text += each.report;
    return text;
}

/// Tests that the first finding is of that rule.
inline ::testing::AssertionResult is(const std::vector<reported_finding>& all,
                                     const std::string& rule, ULONG code, ULONG_PTR id) {
    if (all.empty()) return ::testing::AssertionFailure() << "nothing was found";
    if (all[0].rule != rule || all[0].code != code || all[0].parameters[0] != id)
        return ::testing::AssertionFailure() << "another finding:\n" << text_of(all);
    return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult nothing(const std::vector<reported_finding>& all) {
    if (all.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << text_of(all);
}

} // namespace irpverbs::testing
