// Runs a test body on both machines: with real threads, and under one schedule of the simulator.
// explore_gtest.hpp runs a body under many schedules.
//
//     class Timers : public irpverbs::testing::BothMachines {};
//     TEST_P(Timers, FireOnce) { ... }
//     IRPVERBS_ON_BOTH_MACHINES(Timers);
#pragma once

#include <dispatch/ke.h>
#include <dispatch/machine.hpp>
#include <dispatch/testing/choices.hpp>
#include <support/system_threads.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace irpverbs::testing {

enum class machine_kind { real, simulated };

inline std::string machine_name(const ::testing::TestParamInfo<machine_kind>& info) {
    return info.param == machine_kind::real ? "Real" : "Simulated";
}

/// The body runs on a thread attached to the machine, at PASSIVE_LEVEL; while it waits, the other
/// threads of the machine run.
class BothMachines : public ::testing::TestWithParam<machine_kind> {
protected:
    static constexpr std::uint64_t seed = 1;
    static constexpr std::uint32_t processors = 2;

    BothMachines() {
        if (GetParam() == machine_kind::real) {
            machine_ = std::make_unique<dispatch::asio_machine>(
                dispatch::asio_machine::options{.processors = processors});
        } else {
            dispatch::sim_machine::options chosen;
            chosen.step_limit = 1'000'000; // checked driver code has more steps
            chosen.processors = processors;
            machine_ = std::make_unique<dispatch::sim_machine>(choices_, chosen);
        }
        inside_ = std::make_unique<dispatch::machine::scope>(*machine_);
    }

    dispatch::machine& machine() { return *machine_; }
    bool simulated() const { return GetParam() == machine_kind::simulated; }

private:
    dispatch::random_choices choices_{seed};
    std::unique_ptr<dispatch::machine> machine_;
    std::unique_ptr<dispatch::machine::scope> inside_;
};

/// A system thread that runs `body`; the destructor waits until the thread has ended.
class system_thread {
public:
    explicit system_thread(std::function<void()> body) : body_(std::move(body)) {
        EXPECT_EQ(PsCreateSystemThread(&handle_, 0, nullptr, nullptr, nullptr, run, this),
                  STATUS_SUCCESS);
    }
    ~system_thread() { join(); }
    system_thread(const system_thread&) = delete;
    system_thread& operator=(const system_thread&) = delete;

    void join() {
        if (handle_ == nullptr) return;
        wait_for_thread(handle_);
        ZwClose(std::exchange(handle_, nullptr));
    }

private:
    static void run(void* self) { static_cast<system_thread*>(self)->body_(); }

    std::function<void()> body_;
    HANDLE handle_ = nullptr;
};

/// Raises to DISPATCH_LEVEL for the life of the scope.
class at_dispatch_level {
public:
    at_dispatch_level() : before_(KeRaiseIrqlToDpcLevel()) {}
    ~at_dispatch_level() { KeLowerIrql(before_); }
    at_dispatch_level(const at_dispatch_level&) = delete;
    at_dispatch_level& operator=(const at_dispatch_level&) = delete;

private:
    KIRQL before_;
};

} // namespace irpverbs::testing

#define IRPVERBS_ON_BOTH_MACHINES(fixture)                                                         \
    INSTANTIATE_TEST_SUITE_P(On, fixture,                                                          \
                             ::testing::Values(::irpverbs::testing::machine_kind::real,            \
                                               ::irpverbs::testing::machine_kind::simulated),      \
                             ::irpverbs::testing::machine_name)

#define IRPVERBS_ON_THE_REAL_MACHINE(fixture)                                                      \
    INSTANTIATE_TEST_SUITE_P(On, fixture,                                                          \
                             ::testing::Values(::irpverbs::testing::machine_kind::real),           \
                             ::irpverbs::testing::machine_name)

#define IRPVERBS_ON_THE_SIMULATED_MACHINE(fixture)                                                 \
    INSTANTIATE_TEST_SUITE_P(On, fixture,                                                          \
                             ::testing::Values(::irpverbs::testing::machine_kind::simulated),      \
                             ::irpverbs::testing::machine_name)
