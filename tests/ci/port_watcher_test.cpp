// An owner of a watched port, in whose calls other actors may run.
#include "fake_hca.hpp"

#include <ci/support/port_watcher.hpp>

#include <support/explore_gtest.hpp>

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <array>
#include <optional>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;
namespace detail = irpverbs::ci::detail;

struct watching : boost::intrusive_ref_counter<watching> {
    explicit watching(bool& freed) : freed_(freed) {
        KeInitializeEvent(&free_, SynchronizationEvent, TRUE);
    }
    ~watching() { freed_ = true; }

    struct lifecycle {
        explicit lifecycle(watching& of) : of_(of) {
            KeWaitForSingleObject(&of.free_, Executive, KernelMode, FALSE, nullptr);
        }
        ~lifecycle() { KeSetEvent(&of_.free_, IO_NO_INCREMENT, FALSE); }
        lifecycle(const lifecycle&) = delete;
        lifecycle& operator=(const lifecycle&) = delete;

    private:
        watching& of_;
    };

    void port_event(IB_ASYNC_EVENT event) {
        EXPECT_FALSE(closed);
        const guard locked(lock_);
        events.push_back(event);
    }
    void port_changed() {
        EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
        EXPECT_FALSE(closed);
        ++calls;
        std::size_t known = 0;
        {
            const guard locked(lock_);
            known = events.size();
        }
        const guard locked(lock_); // others may run between the two
        seen = known;
    }

    void close() {
        const lifecycle lock(*this);
        hca.close();
    }

    detail::port_watcher<watching> hca{*this};
    std::vector<IB_ASYNC_EVENT> events;
    std::size_t seen = 0; // events before the last call of port_changed
    int calls = 0;
    bool closed = false;

private:
    class guard {
    public:
        explicit guard(KSPIN_LOCK& lock) : lock_(lock) { KeAcquireSpinLock(&lock_, &level_); }
        ~guard() { KeReleaseSpinLock(&lock_, level_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        KSPIN_LOCK& lock_;
        KIRQL level_ = PASSIVE_LEVEL;
    };

    bool& freed_;
    KEVENT free_;
    KSPIN_LOCK lock_ = 0;
};

struct failing : boost::intrusive_ref_counter<failing> {
    struct lifecycle {
        explicit lifecycle(failing&) {}
    };
    void port_event(IB_ASYNC_EVENT) { ++events; }
    void port_changed() {}
    void hca_failed() { ++failures; }

    detail::port_watcher<failing> hca{*this};
    int events = 0;
    int failures = 0;
};

template <class Owner>
boost::intrusive_ptr<Owner> opened(const fake_hca& hca, Owner* owner) {
    boost::intrusive_ptr<Owner> held(owner);
    EXPECT_EQ(owner->hca.open(hca.fdo, 1), STATUS_SUCCESS);
    return held;
}

explore_options many_random_runs() {
    explore_options options;
    options.random_runs = 1500;
    options.pct_runs = 500;
    return options;
}

constexpr std::array different{IB_AE_SM_CHANGE, IB_AE_LID_CHANGE, IB_AE_PKEY_CHANGE};

void report_from_actors(sim_machine& sim, const fake_hca& hca) {
    for (const IB_ASYNC_EVENT each : different)
        sim.spawn("report", [&hca, each] { HcaReportPortEvent(hca.fdo, 1, each); });
}

TEST(PortWatcher, EventsFromActors_LastChangeSeesAll) {
    bool some_shared = false;
    expect_explored(many_random_runs(), [&](sim_machine& sim) {
        fake_hca hca;
        bool freed = false;
        auto owner = opened(hca, new watching(freed));
        report_from_actors(sim, hca);
        sim.run();
        EXPECT_EQ(owner->events.size(), different.size());
        EXPECT_EQ(owner->seen, different.size());
        EXPECT_LE(owner->calls, static_cast<int>(different.size()));
        some_shared = some_shared || owner->calls < static_cast<int>(different.size());
        owner->close();
        owner = nullptr;
        EXPECT_TRUE(freed);
    });
    EXPECT_TRUE(some_shared);
}

TEST(PortWatcher, CloseDuringEvents_NoCallBeginsAfter) {
    bool some_missed = false;
    bool some_heard = false;
    expect_explored(many_random_runs(), [&](sim_machine& sim) {
        fake_hca hca;
        bool freed = false;
        auto owner = opened(hca, new watching(freed));
        report_from_actors(sim, hca);
        sim.spawn("close", [&] {
            owner->close();
            owner->closed = true;
        });
        sim.run();
        (owner->events.size() < different.size() ? some_missed : some_heard) = true;
        owner = nullptr;
        EXPECT_TRUE(freed);
        EXPECT_EQ(hca.closed, 1);
    });
    EXPECT_TRUE(some_missed);
    EXPECT_TRUE(some_heard);
}

// The owner's last reference may be that of a queued call.
TEST(PortWatcher, ReleaseDuringEvents_FreesAfterCalls) {
    expect_explored(many_random_runs(), [&](sim_machine& sim) {
        fake_hca hca;
        bool freed = false;
        auto owner = opened(hca, new watching(freed));
        report_from_actors(sim, hca);
        sim.spawn("release", [&] {
            owner->close();
            owner->closed = true;
            owner = nullptr;
        });
        sim.run();
        EXPECT_TRUE(freed);
    });
}

TEST(PortWatcher, EventOfOtherPort_NotReported) {
    expect_explored(many_random_runs(), [](sim_machine& sim) {
        fake_hca hca;
        bool freed = false;
        const auto owner = opened(hca, new watching(freed));
        sim.spawn("other", [&] { HcaReportPortEvent(hca.fdo, 2, IB_AE_SM_CHANGE); });
        sim.spawn("own", [&] { HcaReportPortEvent(hca.fdo, 1, IB_AE_LID_CHANGE); });
        sim.run();
        EXPECT_EQ(owner->events, std::vector{IB_AE_LID_CHANGE});
        EXPECT_EQ(owner->calls, 1);
        owner->close();
    });
}

TEST(PortWatcher, OpenRefused_NothingIsOpen) {
    fake_hca hca;
    bool freed = false;
    const boost::intrusive_ptr<watching> owner(new watching(freed));
    EXPECT_EQ(HcaRefuseOpen(hca.fdo), STATUS_SUCCESS);
    EXPECT_EQ(owner->hca.open(hca.fdo, 1), STATUS_DELETE_PENDING);
    EXPECT_EQ(owner->hca.ca(), nullptr);
    owner->close();
    EXPECT_EQ(hca.opened, 0);
    HcaAllowOpen(hca.fdo);
}

TEST(PortWatcher, HcaFails_OwnerIsNotified) {
    fake_hca hca;
    const auto owner = opened(hca, new failing);
    HcaReportFatal(hca.fdo);
    EXPECT_EQ(owner->failures, 1);
    EXPECT_EQ(owner->events, 0);
    owner->hca.close();
}

TEST(PortWatcher, EventOfLink_ChangesState) {
    EXPECT_EQ(detail::port_state_after(IB_AE_PORT_ACTIVE), IB_PORT_ACTIVE);
    EXPECT_EQ(detail::port_state_after(IB_AE_PORT_ERROR), IB_PORT_DOWN);
    EXPECT_EQ(detail::port_state_after(IB_AE_LID_CHANGE), std::nullopt);
}

} // namespace
