// The rules about IRQLs, each by one of its functions; irql_test.cpp covers all functions.
#include "verified.hpp"

#include <irp/registry.h>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

template <class Call>
void at(KIRQL level, const Call& call) {
    KIRQL before = PASSIVE_LEVEL;
    KeRaiseIrql(level, &before);
    call();
    KeLowerIrql(before);
}

struct owned_device {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;

    explicit owned_device(KIRQL level = PASSIVE_LEVEL) {
        at(level,
           [&] { IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device); });
    }
};

void delete_at(KIRQL level) {
    const owned_device mine;
    at(level, [&] { IoDeleteDevice(mine.device); });
}
TEST(IrqlIoApcLte, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { delete_at(DISPATCH_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlIoApcLte", violation, 0x00020009));
}
TEST(IrqlIoApcLte, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { delete_at(APC_LEVEL); })));
}

void create_at(KIRQL level) {
    const owned_device mine(level);
    IoDeleteDevice(mine.device);
}
TEST(IrqlIoPassive1, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { create_at(DISPATCH_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlIoPassive1", violation, 0x0002000A));
}
TEST(IrqlIoPassive1, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { create_at(APC_LEVEL); })));
}

void detach_at(KIRQL level) {
    const owned_device bottom;
    const owned_device top;
    IoAttachDeviceToDeviceStack(top.device, bottom.device);
    at(level, [&] { IoDetachDevice(bottom.device); });
    IoDeleteDevice(top.device);
    IoDeleteDevice(bottom.device);
}
TEST(IrqlIoPassive3, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { detach_at(APC_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlIoPassive3", violation, 0x0002000C));
}
TEST(IrqlIoPassive3, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { detach_at(PASSIVE_LEVEL); })));
}

void delete_registry_value_at(KIRQL level) {
    WCHAR path[] = u"Sample";
    WCHAR name[] = u"Depth";
    at(level, [&] { RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, path, name); });
}
TEST(IrqlRtlPassive, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { delete_registry_value_at(APC_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlRtlPassive", violation, 0x0002001E));
}
TEST(IrqlRtlPassive, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { delete_registry_value_at(PASSIVE_LEVEL); })));
}

void initialise_remove_lock_at(KIRQL level) {
    IO_REMOVE_LOCK lock;
    at(level, [&] { IoInitializeRemoveLock(&lock, 0, 0, 0); });
}
TEST(IrqlIoPassive5, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { initialise_remove_lock_at(APC_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlIoPassive5", violation, 0x0002000E));
}
TEST(IrqlIoPassive5, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { initialise_remove_lock_at(PASSIVE_LEVEL); })));
}

void reuse_at(KIRQL level) {
    const request mine;
    at(level, [&] { IoReuseIrp(mine.irp(), STATUS_SUCCESS); });
}
TEST(IrqlIoDispatch, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { reuse_at(CLOCK_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlIoDispatch", violation, 0x00020022));
}
TEST(IrqlIoDispatch, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { reuse_at(DISPATCH_LEVEL); })));
}

void lock_pages_at(KIRQL level) {
    int buffer = 0;
    MDL* pages = IoAllocateMdl(&buffer, sizeof buffer, FALSE, FALSE, nullptr);
    at(level, [&] { MmProbeAndLockPages(pages, KernelMode, IoReadAccess); });
    MmUnlockPages(pages);
    IoFreeMdl(pages);
}
TEST(IrqlMmDispatch, Broken_IsReported) {
    const auto all = found_in([](sim_machine&) { lock_pages_at(CLOCK_LEVEL); });
    EXPECT_TRUE(is(all, "IrqlMmDispatch", violation, 0x0002001A));
}
TEST(IrqlMmDispatch, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { lock_pages_at(DISPATCH_LEVEL); })));
}

} // namespace
