#include <gtest/gtest.h>
#include <irp/testing/explore.hpp>
#include <memory>
#include <optional>

#include <ntddk.h>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;
using irpverbs::dispatch::sim_machine;

struct Resource : testing::Test {
    ERESOURCE resource;
    void SetUp() override {
        KeEnterCriticalRegion();
        ExInitializeResourceLite(&resource);
    }
    void TearDown() override {
        EXPECT_EQ(resource.ActiveCount, 0);
        ExDeleteResourceLite(&resource);
        KeLeaveCriticalRegion();
    }
};

TEST_F(Resource, ExclusiveHolder_AcquiresAgainInEitherWay) {
    EXPECT_TRUE(ExAcquireResourceExclusiveLite(&resource, FALSE));
    EXPECT_TRUE(ExAcquireResourceSharedLite(&resource, FALSE));
    EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 2u);
    EXPECT_TRUE(ExIsResourceAcquiredExclusiveLite(&resource));
    ExReleaseResourceLite(&resource);
    ExReleaseResourceLite(&resource);
    EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 0u);
}

TEST_F(Resource, SharedHolder_IsRefusedExclusiveAccess) {
    EXPECT_TRUE(ExAcquireResourceSharedLite(&resource, FALSE));
    EXPECT_FALSE(ExAcquireResourceExclusiveLite(&resource, FALSE));
    EXPECT_FALSE(ExIsResourceAcquiredExclusiveLite(&resource));
    ExReleaseResourceLite(&resource);
}

TEST_F(Resource, Conversion_KeepsTheCount) {
    ExAcquireResourceExclusiveLite(&resource, TRUE);
    ExAcquireResourceExclusiveLite(&resource, TRUE);
    ExConvertExclusiveToSharedLite(&resource);
    EXPECT_FALSE(ExIsResourceAcquiredExclusiveLite(&resource));
    EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 2u);
    ExReleaseResourceLite(&resource);
    ExReleaseResourceLite(&resource);
}

TEST_F(Resource, OwnerPointer_ReleasesInTheThreadsPlace) {
    int owner = 0;
    ExAcquireResourceSharedLite(&resource, TRUE);
    ExSetResourceOwnerPointer(&resource, &owner);
    EXPECT_EQ(ExIsResourceAcquiredSharedLite(&resource), 0u);
    ExReleaseResourceForThreadLite(&resource, reinterpret_cast<ERESOURCE_THREAD>(&owner));
}

// A value that writers change in two steps, with a switch between them.
struct two_steps {
    LONG first = 0;
    LONG second = 0;

    void change() {
        ++first;
        InterlockedSchedulingPoint(this);
        ++second;
    }
    bool is_whole() const { return first == second; }
};

template <class Init, class Write, class Read>
explore_summary explore_readers_and_writers(Init init, Write write, Read read) {
    explore_options how;
    how.exhaustive_runs = 20'000;
    how.random_runs = how.pct_runs = 1000;
    return irpverbs::irp::explore(how, [=](sim_machine& machine) -> std::optional<std::string> {
        auto lock = init();
        two_steps value;
        bool torn = false;
        for (const char* name : {"writer", "other writer"})
            machine.spawn(name, [&] { write(*lock, value); });
        for (const char* name : {"reader", "other reader"})
            machine.spawn(name, [&] { read(*lock, [&] { torn = torn || !value.is_whole(); }); });
        machine.run();
        if (torn || value.first != 2) return "a reader or a writer was not alone";
        return std::nullopt;
    });
}

struct delete_resource {
    void operator()(ERESOURCE* gone) const {
        ExDeleteResourceLite(gone);
        delete gone;
    }
};

TEST(ResourceSchedules, WritersAreAlone_AndNoWaiterIsForgotten) {
    const explore_summary found = explore_readers_and_writers(
        [] {
            std::unique_ptr<ERESOURCE, delete_resource> made(new ERESOURCE);
            ExInitializeResourceLite(made.get());
            return made;
        },
        [](ERESOURCE& lock, two_steps& value) {
            ExEnterCriticalRegionAndAcquireResourceExclusive(&lock);
            value.change();
            ExReleaseResourceAndLeaveCriticalRegion(&lock);
        },
        [](ERESOURCE& lock, auto look) {
            ExEnterCriticalRegionAndAcquireResourceShared(&lock);
            ExAcquireResourceSharedLite(&lock, TRUE); // also while a writer waits
            look();
            ExReleaseResourceLite(&lock);
            ExReleaseResourceAndLeaveCriticalRegion(&lock);
        });
    EXPECT_TRUE(found.passed()) << (found.failure ? found.failure->report : "");
}

TEST(ResourceSchedules, SharedHolderThatWantsMore_Hangs) {
    explore_options how;
    how.exhaustive_runs = 1000;
    how.random_runs = how.pct_runs = 0;
    ERESOURCE resource{};
    const explore_summary found =
        irpverbs::irp::explore(how, [&](sim_machine& machine) -> std::optional<std::string> {
            ExReinitializeResourceLite(&resource);
            for (const char* name : {"one", "other"})
                machine.spawn(name, [&] {
                    ExEnterCriticalRegionAndAcquireResourceShared(&resource);
                    ExAcquireResourceExclusiveLite(&resource, TRUE);
                });
            machine.run();
            return std::nullopt;
        });
    ExDeleteResourceLite(&resource);
    ASSERT_TRUE(found.failure);
    EXPECT_NE(found.failure->what.find("hung"), std::string::npos) << found.failure->what;
}

TEST(PushLockSchedules, WritersAreAlone_AndNoWaiterIsForgotten) {
    const explore_summary found = explore_readers_and_writers(
        [] {
            auto made = std::make_unique<EX_PUSH_LOCK>();
            ExInitializePushLock(made.get());
            return made;
        },
        [](EX_PUSH_LOCK& lock, two_steps& value) {
            KeEnterCriticalRegion();
            ExAcquirePushLockExclusive(&lock);
            value.change();
            ExReleasePushLockExclusive(&lock);
            KeLeaveCriticalRegion();
        },
        [](EX_PUSH_LOCK& lock, auto look) {
            KeEnterCriticalRegion();
            ExAcquirePushLockShared(&lock);
            look();
            ExReleasePushLockShared(&lock);
            KeLeaveCriticalRegion();
        });
    EXPECT_TRUE(found.passed()) << (found.failure ? found.failure->report : "");
}

TEST(PartialMdl, PartAndRest_AreOfTheSource) {
    char buffer[100];
    MDL* const whole = IoAllocateMdl(buffer, sizeof buffer, FALSE, FALSE, nullptr);
    MDL* const part = IoAllocateMdl(buffer, sizeof buffer, FALSE, FALSE, nullptr);
    IoBuildPartialMdl(whole, part, buffer + 10, 20);
    EXPECT_EQ(MmGetMdlVirtualAddress(part), buffer + 10);
    EXPECT_EQ(MmGetMdlByteCount(part), 20u);
    MmPrepareMdlForReuse(part);
    IoBuildPartialMdl(whole, part, buffer + 60, 0);
    EXPECT_EQ(MmGetSystemAddressForMdlSafe(part, NormalPagePriority), buffer + 60);
    EXPECT_EQ(MmGetMdlByteCount(part), 40u);
    IoFreeMdl(part);
    IoFreeMdl(whole);
}

} // namespace
