// A request on a file under every schedule: cancel, completion and close race, and the driver sees
// one end of the request, then one CLOSE.
#include "file_driver.hpp"

#include <support/exhaustive_gtest.hpp>

#include <irp/verifier.hpp>

#include <algorithm>
#include <map>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

using status_counts = std::map<NTSTATUS, int>;

explore_options bounded() {
    explore_options options;
    options.random_runs = options.pct_runs = 200;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    return options;
}

void cancel_complete_close(sim_machine& sim, status_counts& ends) {
    file_driver driver;
    IO_STATUS_BLOCK result = untouched;
    char buffer[8];
    opened_file file;
    EXPECT_EQ(file.read(buffer, 8, result), STATUS_PENDING);
    HANDLE const handle = file.handle();
    sim.spawn("cancel", [&] {
        IO_STATUS_BLOCK cancelled{};
        const NTSTATUS status = NtCancelIoFileEx(handle, &result, &cancelled);
        EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_NOT_FOUND ||
                    status == STATUS_INVALID_HANDLE);
    });
    sim.spawn("complete", [&] { driver.complete(STATUS_SUCCESS, 8); });
    sim.spawn("close", [&] { file.close(); });
    sim.run();
    EXPECT_TRUE(result.Status == STATUS_SUCCESS || result.Status == STATUS_CANCELLED);
    EXPECT_EQ(result.Information, result.Status == STATUS_SUCCESS ? 8u : 0u);
    EXPECT_EQ(driver.majors,
              (std::vector<UCHAR>{IRP_MJ_CREATE, IRP_MJ_READ, IRP_MJ_CLEANUP, IRP_MJ_CLOSE}));
    EXPECT_EQ(driver.device()->ReferenceCount, 0);
    ++ends[result.Status];
}

TEST(FileRaces, CancelCompleteAndCloseRace_RequestEndsOnceThenClose) {
    status_counts ends;
    explore_options options = bounded();
    options.required_probes = {"file.completed_under_cancel"};
    expect_exhausted(options, [&](sim_machine& sim) { cancel_complete_close(sim, ends); });
    EXPECT_GT(ends[STATUS_SUCCESS], 0);
    EXPECT_GT(ends[STATUS_CANCELLED], 0);
}

TEST(FileRaces, CancelCompleteAndCloseRaceVerified_FindsNothing) {
    const irpverbs::irp::verifier_scope verified("default");
    status_counts ends;
    explore_options options;
    options.random_runs = options.pct_runs = 300;
    expect_explored(options, [&](sim_machine& sim) { cancel_complete_close(sim, ends); });
}

void two_cancellers(sim_machine& sim) {
    file_driver driver;
    IO_STATUS_BLOCK results[2] = {untouched, untouched};
    char buffer[8];
    const opened_file file;
    for (IO_STATUS_BLOCK& each : results)
        EXPECT_EQ(file.read(buffer, 8, each), STATUS_PENDING);
    for (int i = 0; i < 2; ++i)
        sim.spawn("cancel", [&] {
            IO_STATUS_BLOCK cancelled{};
            NtCancelIoFileEx(file.handle(), nullptr, &cancelled);
        });
    sim.run();
    for (const IO_STATUS_BLOCK& each : results)
        EXPECT_EQ(each.Status, STATUS_CANCELLED);
}

TEST(FileRaces, TwoCancellersRace_EachRequestIsCancelledOnce) {
    expect_exhausted(bounded(), two_cancellers);
}

// Tests that an IRP that is cancelled on its way to the driver is not lost.
void cancel_during_send(sim_machine& sim) {
    file_driver driver;
    IO_STATUS_BLOCK result = untouched;
    char buffer[8];
    const opened_file file;
    sim.spawn("read", [&] { file.read(buffer, 8, result); });
    sim.spawn("cancel", [&] {
        IO_STATUS_BLOCK cancelled{};
        NtCancelIoFileEx(file.handle(), nullptr, &cancelled);
    });
    sim.run();
    EXPECT_TRUE(result.Status != STATUS_PENDING || driver.complete());
    EXPECT_NE(result.Status, STATUS_PENDING);
}

TEST(FileRaces, CancelDuringSend_RequestEndsOnce) {
    expect_exhausted(bounded(), cancel_during_send);
}

void synchronous_readers(sim_machine& sim) {
    file_driver driver;
    const opened_file file(u"\\Device\\Test", read_write, FILE_SYNCHRONOUS_IO_NONALERT);
    IO_STATUS_BLOCK results[2] = {untouched, untouched};
    char buffer[8];
    for (IO_STATUS_BLOCK& each : results)
        sim.spawn("read", [&] { EXPECT_EQ(file.read(buffer, 8, each), STATUS_SUCCESS); });
    int served = 0;
    sim.spawn("serve", [&] {
        LARGE_INTEGER millisecond;
        millisecond.QuadPart = -10'000;
        while (served < 2) {
            if (driver.complete()) {
                ++served;
                EXPECT_TRUE(driver.queue.empty()); // the other waits for its turn
            }
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
        }
    });
    sim.run();
}

TEST(FileRaces, TwoReadersOfSynchronousFile_TakeTurns) {
    explore_options options;
    options.random_runs = options.pct_runs = 200;
    expect_explored(options, synchronous_readers);
}

// A run that fails leaves its file open: the next runs are not disturbed.
void fail_with_open_file(sim_machine& sim) {
    struct scene {
        file_driver driver;
        opened_file file;
        IO_STATUS_BLOCK result = untouched;
        char buffer[8];
    };
    static auto& lost = *new std::vector<scene*>; // with their runs
    scene& here = *lost.emplace_back(new scene);
    EXPECT_EQ(here.file.read(here.buffer, 8, here.result), STATUS_PENDING);
    sim.spawn("fail", [] { KeBugCheckEx(MANUALLY_INITIATED_CRASH, 0, 0, 0, 0); });
    sim.run();
}

TEST(FileRaces, RunsThatFailWithOpenFile_LeaveTheCampaignIntact) {
    explore_options options;
    options.random_runs = 50;
    options.pct_runs = 0;
    options.stop_at_failure = false;
    options.shrink_budget = 0;
    const auto summary = run_exploration(options, fail_with_open_file);
    EXPECT_TRUE(summary.failure);
    EXPECT_EQ(summary.random.runs, 50u);
}

void open_during_delete(sim_machine& sim, status_counts& ends) {
    DRIVER_OBJECT object{};
    for (PDRIVER_DISPATCH& each : object.MajorFunction)
        each = [](DEVICE_OBJECT*, IRP* irp) {
            return irpverbs::irp::pending_irp(irp).complete(STATUS_SUCCESS, FILE_OPENED);
        };
    unicode name(u"\\Device\\Test");
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&object, 0, name.get(), FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    sim.spawn("open", [&] {
        HANDLE handle = nullptr;
        const NTSTATUS status = open(handle, u"\\Device\\Test");
        ++ends[status];
        if (NT_SUCCESS(status)) NtClose(handle);
    });
    sim.spawn("delete", [&] { IoDeleteDevice(device); });
    sim.run();
}

TEST(FileRaces, OpenDuringDelete_OpensOrFindsNothing) {
    status_counts ends;
    expect_exhausted(bounded(), [&](sim_machine& sim) { open_during_delete(sim, ends); });
    EXPECT_GT(ends[STATUS_SUCCESS], 0);
    EXPECT_GT(ends[STATUS_OBJECT_NAME_NOT_FOUND], 0);
}

} // namespace
