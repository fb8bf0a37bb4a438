// Rules about ERESOURCEs, push locks and the run-time library's strings.
#include "one_run.hpp"

#include <ntstrsafe.h>

namespace {

using one_run::at;
using one_run::is;
using one_run::report_of;
using one_run::send_once;

struct scoped_resource {
    ERESOURCE resource;
    scoped_resource() { ExInitializeResourceLite(&resource); }
    ~scoped_resource() { ExDeleteResourceLite(&resource); }

    void use() {
        ExAcquireResourceExclusiveLite(&resource, TRUE);
        ExReleaseResourceLite(&resource);
    }
};

TEST(IrqlExApcLte3, Broken_IsReported) {
    EXPECT_TRUE(is(report_of([] {
                       scoped_resource mine;
                       at(DISPATCH_LEVEL, [&] { mine.use(); });
                   }),
                   "IrqlExApcLte3", "ExAcquireResourceExclusiveLite"));
    EXPECT_TRUE(is(report_of([] {
                       EX_PUSH_LOCK lock;
                       ExInitializePushLock(&lock);
                       at(DISPATCH_LEVEL, [&] { ExAcquirePushLockShared(&lock); });
                   }),
                   "IrqlExApcLte3", "ExAcquirePushLockShared"));
}
TEST(IrqlExApcLte3, Kept_IsNotReported) {
    EXPECT_EQ(report_of([] {
                  scoped_resource mine;
                  at(APC_LEVEL, [&] { mine.use(); });
                  ExAcquireResourceSharedLite(&mine.resource, TRUE);
                  at(DISPATCH_LEVEL, [&] { ExReleaseResourceLite(&mine.resource); });
              }),
              "");
}

UNICODE_STRING text = RTL_CONSTANT_STRING(L"12");

void compare() { RtlEqualUnicodeString(&text, &text, TRUE); }
void convert() {
    ULONG number;
    RtlUnicodeStringToInteger(&text, 10, &number);
}
void print() {
    WCHAR to[8];
    RtlStringCbPrintfW(to, sizeof to, L"%d", 1);
}

TEST(StringsOfTheRunTimeLibrary, AtDispatchLevel_AreReported) {
    EXPECT_TRUE(is(report_of([] { at(DISPATCH_LEVEL, compare); }), "IrqlRtlPassive",
                   "RtlEqualUnicodeString"));
    EXPECT_TRUE(is(report_of([] { at(DISPATCH_LEVEL, convert); }), "IrqlRtlPassive",
                   "RtlUnicodeStringToInteger"));
    EXPECT_TRUE(
        is(report_of([] { at(DISPATCH_LEVEL, print); }), "IrqlRtlPassive", "RtlStringCbPrintfW"));
}

// A fast mutex around a comparison is usual; the pageable tables are there.
TEST(StringsOfTheRunTimeLibrary, AtApcLevel_AreNotReported) {
    EXPECT_EQ(report_of([] {
                  at(APC_LEVEL, compare);
                  at(APC_LEVEL, convert);
                  at(DISPATCH_LEVEL, [] {
                      UNICODE_STRING copy = {};
                      RtlCopyUnicodeString(&copy, &text); // at any IRQL
                  });
              }),
              "");
}

std::function<void(ERESOURCE&, EX_PUSH_LOCK&)> routine;

/// The report of a run in which the routine is a dispatch routine of that major function.
std::string report_in_dispatch(UCHAR major,
                               const std::function<void(ERESOURCE&, EX_PUSH_LOCK&)>& used) {
    routine = used;
    return report_of([major] {
        DRIVER_OBJECT driver{};
        PDEVICE_OBJECT device;
        driver.MajorFunction[major] = [](PDEVICE_OBJECT, PIRP irp) -> NTSTATUS {
            scoped_resource mine;
            EX_PUSH_LOCK push_lock;
            ExInitializePushLock(&push_lock);
            routine(mine.resource, push_lock);
            irp->IoStatus.Status = STATUS_SUCCESS;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            return STATUS_SUCCESS;
        };
        IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        PIRP irp = IoAllocateIrp(1, FALSE);
        IoGetNextIrpStackLocation(irp)->MajorFunction = major;
        send_once(device, irp);
    });
}

void use(ERESOURCE& resource, EX_PUSH_LOCK&) {
    ExAcquireResourceSharedLite(&resource, TRUE);
    ExReleaseResourceLite(&resource);
}
void use_push_lock(ERESOURCE&, EX_PUSH_LOCK& lock) {
    ExAcquirePushLockExclusive(&lock);
    ExReleasePushLockExclusive(&lock);
}

TEST(WithinCriticalRegion, Broken_IsReported) {
    EXPECT_TRUE(is(report_in_dispatch(IRP_MJ_READ, use), "WithinCriticalRegion",
                   "ExAcquireResourceSharedLite"));
    EXPECT_TRUE(is(report_in_dispatch(IRP_MJ_READ, use_push_lock), "WithinCriticalRegion",
                   "ExAcquirePushLockExclusive"));
    EXPECT_TRUE(is(report_in_dispatch(IRP_MJ_READ,
                                      [](ERESOURCE& resource, EX_PUSH_LOCK&) {
                                          KeEnterCriticalRegion();
                                          ExAcquireResourceSharedLite(&resource, TRUE);
                                          KeLeaveCriticalRegion();
                                          ExReleaseResourceLite(&resource);
                                      }),
                   "WithinCriticalRegion", "ExReleaseResourceLite"));
}

void within_region(ERESOURCE& resource, EX_PUSH_LOCK& lock) {
    KeEnterCriticalRegion();
    use(resource, lock);
    use_push_lock(resource, lock);
    KeLeaveCriticalRegion();
    ExEnterCriticalRegionAndAcquireResourceExclusive(&resource);
    ExReleaseResourceAndLeaveCriticalRegion(&resource);
    at(APC_LEVEL, [&] { use(resource, lock); });
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, nullptr);
    use(resource, lock);
    KeReleaseMutex(&mutex, FALSE);
}

TEST(WithinCriticalRegion, Kept_IsNotReported) {
    EXPECT_EQ(report_in_dispatch(IRP_MJ_READ, within_region), "");
    EXPECT_EQ(report_in_dispatch(IRP_MJ_PNP, use), ""); // the thread is one of the system
    EXPECT_EQ(report_of([] { scoped_resource().use(); }), "");
}

void leave_held(ERESOURCE& resource, EX_PUSH_LOCK&) {
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(&resource, TRUE);
    KeLeaveCriticalRegion();
}
void leave_push_lock_held(ERESOURCE&, EX_PUSH_LOCK& lock) {
    KeEnterCriticalRegion();
    ExAcquirePushLockShared(&lock);
    KeLeaveCriticalRegion();
}

TEST(ExclusiveResourceAccess, Broken_IsReported) {
    EXPECT_TRUE(is(report_in_dispatch(IRP_MJ_READ, leave_held), "ExclusiveResourceAccess",
                   "lock acquired at"));
    EXPECT_TRUE(is(report_in_dispatch(IRP_MJ_READ, leave_push_lock_held), "ExclusiveResourceAccess",
                   "lock acquired at"));
}

TEST(ExclusiveResourceAccess, Kept_IsNotReported) {
    EXPECT_EQ(report_in_dispatch(IRP_MJ_READ, within_region), "");
    EXPECT_EQ(report_in_dispatch(IRP_MJ_READ,
                                 [](ERESOURCE& resource, EX_PUSH_LOCK&) {
                                     static char owner;
                                     KeEnterCriticalRegion();
                                     ExAcquireResourceSharedLite(&resource, TRUE);
                                     ExSetResourceOwnerPointer(&resource, &owner);
                                     KeLeaveCriticalRegion();
                                 }),
              "");
}

} // namespace
