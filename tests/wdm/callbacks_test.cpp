// Callback objects.
#include <gtest/gtest.h>
#include <irp/testing/explore.hpp>
#include <vector>

#include <ntifs.h>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;
using irpverbs::dispatch::sim_machine;

NTSTATUS create(PCALLBACK_OBJECT* callback, PCWSTR path, ULONG flags, bool make, bool many) {
    UNICODE_STRING name;
    RtlInitUnicodeString(&name, path);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, &name, flags, nullptr, nullptr);
    return ExCreateCallback(callback, &attributes, make, many);
}

void note(PVOID context, PVOID first, PVOID second) {
    auto& calls = *static_cast<std::vector<ULONG_PTR>*>(first);
    calls.push_back(reinterpret_cast<ULONG_PTR>(context) + reinterpret_cast<ULONG_PTR>(second));
}

PVOID number(ULONG_PTR value) { return reinterpret_cast<PVOID>(value); }

TEST(Callback, Routines_AreCalledInTheOrderOfRegistration) {
    PCALLBACK_OBJECT made = nullptr, opened = nullptr;
    EXPECT_EQ(create(&made, L"\\Callback\\Order", 0, false, true), STATUS_OBJECT_NAME_NOT_FOUND);
    ASSERT_EQ(create(&made, L"\\Callback\\Order", OBJ_PERMANENT, true, true), STATUS_SUCCESS);
    ASSERT_EQ(create(&opened, L"\\Callback\\order", 0, false, false), STATUS_SUCCESS);
    EXPECT_EQ(opened, made);
    PVOID first = ExRegisterCallback(opened, note, number(1));
    PVOID second = ExRegisterCallback(opened, note, number(2));
    std::vector<ULONG_PTR> calls;
    ExNotifyCallback(made, &calls, number(10));
    EXPECT_EQ(calls, (std::vector<ULONG_PTR>{11, 12}));
    ExUnregisterCallback(first);
    ExNotifyCallback(made, &calls, number(20));
    EXPECT_EQ(calls, (std::vector<ULONG_PTR>{11, 12, 22}));
    ExUnregisterCallback(second);
    ObMakeTemporaryObject(made);
    ObDereferenceObject(opened);
    ObDereferenceObject(made);
    EXPECT_EQ(create(&made, L"\\Callback\\Order", 0, false, true), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST(Callback, ObjectForOneRoutine_RefusesASecond) {
    PCALLBACK_OBJECT made = nullptr;
    ASSERT_EQ(create(&made, L"\\Callback\\One", 0, true, false), STATUS_SUCCESS);
    PCALLBACK_OBJECT other = nullptr; // the name of a temporary object is gone at once
    EXPECT_EQ(create(&other, L"\\Callback\\One", 0, false, false), STATUS_OBJECT_NAME_NOT_FOUND);
    PVOID first = ExRegisterCallback(made, note, nullptr);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(ExRegisterCallback(made, note, nullptr), nullptr);
    ExUnregisterCallback(first);
    first = ExRegisterCallback(made, note, nullptr);
    EXPECT_NE(first, nullptr);
    ExUnregisterCallback(first);
    ObDereferenceObject(made);
}

TEST(Callback, WrongName_IsRefused) {
    PCALLBACK_OBJECT made = nullptr;
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, nullptr, 0, nullptr, nullptr);
    EXPECT_EQ(ExCreateCallback(&made, &attributes, TRUE, TRUE), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(create(&made, L"\\Callback", 0, true, true), STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_EQ(create(&made, L"\\Nowhere\\One", 0, true, true), STATUS_OBJECT_PATH_NOT_FOUND);
}

struct watched {
    bool alive = true;
    bool called_late = false;
};

void look(PVOID context, PVOID, PVOID) {
    auto& seen = *static_cast<watched*>(context);
    seen.called_late = seen.called_late || !seen.alive;
    InterlockedSchedulingPoint(&seen);
    seen.called_late = seen.called_late || !seen.alive;
}

TEST(CallbackSchedules, Unregister_WaitsForCallsThatRun) {
    explore_options how;
    how.exhaustive_runs = 20'000;
    how.random_runs = how.pct_runs = 1000;
    const explore_summary found =
        irpverbs::irp::explore(how, [](sim_machine& machine) -> std::optional<std::string> {
            watched first, second;
            machine.spawn("owner", [&] {
                PCALLBACK_OBJECT callback = nullptr;
                create(&callback, L"\\Callback\\Schedules", OBJ_PERMANENT, true, true);
                PVOID one = ExRegisterCallback(callback, look, &first);
                PVOID other = ExRegisterCallback(callback, look, &second);
                ExUnregisterCallback(one);
                first.alive = false;
                ExUnregisterCallback(other);
                second.alive = false;
                ObDereferenceObject(callback);
            });
            for (const char* name : {"notifier", "other notifier"})
                machine.spawn(name, [] {
                    PCALLBACK_OBJECT callback = nullptr;
                    if (!NT_SUCCESS(create(&callback, L"\\Callback\\Schedules", 0, false, true)))
                        return;
                    ExNotifyCallback(callback, nullptr, nullptr);
                    ObDereferenceObject(callback);
                });
            machine.run();
            if (first.called_late || second.called_late) return "a routine ran after its end";
            return std::nullopt;
        });
    EXPECT_TRUE(found.passed()) << (found.failure ? found.failure->report : "");
}

} // namespace
