// Polls without an IRP, and a driver's function for direct polls.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/findings.hpp>
#include <support/verbs.hpp>

#include <dispatch/support/spin_lock.hpp>

#include <atomic>
#include <thread>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::detail::check;
using irpverbs::dispatch::detail::spin_guard;

struct ibv_cq* const queue_name = reinterpret_cast<struct ibv_cq*>(0x1234);

/// A driver that enables direct polls whenever it is polled itself.
class offering {
public:
    offering() {
        now_ = this;
        hca_.operations.PollCq = poll_cq;
        ca_ = open_ca(hca_.fdo);
        cq = create_cq(ca_);
    }
    ~offering() {
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca_), STATUS_SUCCESS);
    }
    offering(const offering&) = delete;
    offering& operator=(const offering&) = delete;

    /// Polls for up to `most` entries; returns the status.
    NTSTATUS poll(ULONG most = 2) {
        taken = ~0u;
        return CiGetCqResults(cq, most, most != 0 ? entries_ : nullptr, &taken);
    }
    ULONG_PTR poll_by_irp() {
        verb_call call([&](IRP* irp) { return CiPollCq(cq, 2, entries_, irp); });
        EXPECT_EQ(call.status(), STATUS_SUCCESS);
        return call.information();
    }
    void poll_until_it_is_straight() {
        for (unsigned i = 0; i < 1000 && straight == 0; ++i)
            EXPECT_EQ(poll(), STATUS_SUCCESS);
        ASSERT_NE(straight, 0u);
    }
    void fail() const { HcaReportFatal(hca_.fdo); }
    /// Revokes the direct poll under the lock, and calls `function` before it releases the lock.
    template <class Function>
    void revoke(const Function& function) {
        const spin_guard guard(lock_);
        HcaRevokeDirectPoll(seen_);
        function();
    }
    void revoke() {
        revoke([] {});
    }

    IB_CQ* cq;
    ULONG taken = 0;
    unsigned by_driver = 0; // polls
    std::atomic<unsigned> straight{0};
    std::function<void()> inside;     // called in each direct poll
    int result = 1;                   // of direct polls
    NTSTATUS status = STATUS_SUCCESS; // of the driver's polls

private:
    static NTSTATUS poll_cq(HCA_CQ* of, ULONG most, IB_WC* entries, ULONG* got) {
        EXPECT_EQ(*got, 0u);
        EXPECT_EQ(entries, most != 0 ? now_->entries_ : nullptr);
        const spin_guard guard(now_->lock_);
        ++now_->by_driver;
        now_->seen_ = of;
        HcaEnableDirectPoll(of, poll_straight, queue_name);
        if (now_->status == STATUS_SUCCESS) *got = most != 0 ? 1 : 0;
        return now_->status;
    }
    static int poll_straight(ibv_cq* of, int most, ibv_wc* entries) {
        EXPECT_EQ(of, queue_name);
        EXPECT_EQ(most, 2);
        EXPECT_EQ(static_cast<void*>(entries), now_->entries_);
        if (now_->inside) now_->inside();
        ++now_->straight;
        return now_->result;
    }

    static inline offering* now_ = nullptr;
    KSPIN_LOCK lock_ = 0;
    fake_hca hca_;
    IB_CA* ca_ = nullptr;
    HCA_CQ* seen_ = nullptr;
    IB_WC entries_[2]{};
};

class DirectPoll : public ::testing::Test {
protected:
    irpverbs::dispatch::asio_machine machine_{{.processors = 2}};
    const irpverbs::dispatch::machine::scope inside_{machine_};
};

TEST_F(DirectPoll, FirstPolls_CallDriver) {
    offering hca;
    EXPECT_EQ(hca.poll(), STATUS_SUCCESS);
    EXPECT_EQ(hca.taken, 1u);
    EXPECT_EQ(hca.by_driver, 1u);
    EXPECT_EQ(hca.straight, 0u);
    hca.status = STATUS_IO_DEVICE_ERROR;
    EXPECT_EQ(hca.poll(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(hca.taken, 0u);
}

TEST_F(DirectPoll, ManyOffers_SwitchToDirectPoll) {
    offering hca;
    hca.poll_until_it_is_straight();
    EXPECT_EQ(hca.by_driver, 32u);
    EXPECT_EQ(hca.poll(), STATUS_SUCCESS);
    EXPECT_EQ(hca.taken, 1u);
    EXPECT_EQ(hca.by_driver, 32u);
    EXPECT_EQ(hca.straight, 2u);
}

// A poll for no entry, or for more than an int can count, goes to the driver.
TEST_F(DirectPoll, DirectPollCannotServe_CallsDriver) {
    offering hca;
    hca.poll_until_it_is_straight();
    const unsigned before = hca.by_driver;
    for (const ULONG most : {0u, 0x80000000u, ~0u})
        EXPECT_EQ(hca.poll(most), STATUS_SUCCESS);
    hca.result = -1;
    hca.status = STATUS_IO_DEVICE_ERROR;
    EXPECT_EQ(hca.poll(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(hca.taken, 0u);
    EXPECT_EQ(hca.by_driver, before + 4);
    EXPECT_EQ(hca.straight, 2u);
}

TEST_F(DirectPoll, OfferRevoked_PollsCallDriverAgain) {
    offering hca;
    hca.poll_until_it_is_straight();
    hca.revoke();
    hca.straight = 0;
    hca.by_driver = 0;
    EXPECT_EQ(hca.poll(), STATUS_SUCCESS);
    EXPECT_EQ(hca.by_driver, 1u);
    hca.revoke();
    hca.poll_until_it_is_straight();
    EXPECT_EQ(hca.by_driver, 33u); // earlier polls no longer count
}

TEST_F(DirectPoll, HcaFailed_ReturnsForcedClosedWithoutPolling) {
    offering hca;
    hca.poll_until_it_is_straight();
    const unsigned before = hca.by_driver;
    hca.fail();
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(hca.poll(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(hca.taken, 0u);
    EXPECT_EQ(hca.straight, 1u);
    EXPECT_EQ(hca.by_driver, before);
}

TEST_F(DirectPoll, PollWithIrp_CallsDriver) {
    offering hca;
    hca.poll_until_it_is_straight();
    EXPECT_EQ(hca.poll_by_irp(), 1u);
    EXPECT_EQ(hca.straight, 1u);
}

TEST_F(DirectPoll, VerifierActive_PollsCallDriver) {
    const findings seen{check::irql};
    offering hca;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(hca.poll(), STATUS_SUCCESS);
    EXPECT_EQ(hca.straight, 0u);
    EXPECT_TRUE(seen.none());
    KIRQL before = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL + 1, &before);
    IB_WC to{};
    CiGetCqResults(nullptr, 1, &to, &hca.taken);
    KeLowerIrql(before);
    ASSERT_FALSE(seen.none());
    EXPECT_EQ(seen.all().front().rule, "IrqlIoDispatch");
}

// A revocation waits for a poll in progress, which sees the revocation before it returns.
TEST_F(DirectPoll, RevocationDuringPoll_WaitsForPoll) {
    offering hca;
    hca.poll_until_it_is_straight();
    const HCA_DIRECT_POLL& words = reinterpret_cast<HCA_CQ*>(hca.cq)->Direct;
    const PFN_HCA_DIRECT_POLL offered = words.Poll;
    std::atomic<bool> entered{false};
    std::atomic<bool> back{false};
    hca.inside = [&] {
        entered = true;
        while (__atomic_load_n(&words.Poll, __ATOMIC_ACQUIRE) == offered)
            std::this_thread::yield();
        for (int i = 0; i < 10000; ++i)
            EXPECT_FALSE(back);
    };
    {
        const system_thread poller([&] { EXPECT_EQ(hca.poll(), STATUS_SUCCESS); });
        const system_thread owner([&] {
            while (!entered)
                std::this_thread::yield();
            hca.revoke();
            back = true;
        });
    }
    EXPECT_EQ(hca.straight, 2u);
}

// After a revocation only the owner accesses the queue, whenever polls arrive.
TEST_F(DirectPoll, RevocationWithConcurrentPolls_OwnerHasExclusiveAccess) {
    offering hca;
    std::atomic<bool> owned{false};
    std::atomic<bool> done{false};
    hca.inside = [&] {
        for (int i = 0; i < 20; ++i)
            EXPECT_FALSE(owned);
    };
    {
        const system_thread poller([&] {
            while (!done)
                EXPECT_EQ(hca.poll(), STATUS_SUCCESS);
        });
        const system_thread owner([&] {
            for (int i = 0; i < 1000; ++i) {
                const unsigned before = hca.straight;
                while (hca.straight == before)
                    std::this_thread::yield();
                hca.revoke([&] {
                    owned = true;
                    const unsigned during = hca.straight;
                    for (int k = 0; k < 300; ++k)
                        EXPECT_EQ(hca.straight, during);
                    owned = false;
                });
            }
            done = true;
        });
    }
}

} // namespace
