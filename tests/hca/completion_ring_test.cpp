// The entries of a completion queue: order, overruns, notifications, resizing, and polls without a
// lock.
#include "completion_ring.hpp"

#include <support/both_machines.hpp>
#include <threads/concurrent_rounds.hpp>

#include <array>
#include <memory>

namespace {

using namespace irpverbs;
using hca_software::completion_ring;
namespace cq_report = hca_software::cq_report;

IB_WC entry_of(ULONGLONG id, ULONG flags = 0) {
    IB_WC made{};
    made.WrId = id;
    made.Flags = flags;
    return made;
}

bool try_add(completion_ring& to, const IB_WC& entry) {
    return !completion_ring::is_solicited(entry) &&
           to.try_add(dispatch::detail::this_processor(), [&] { return entry; });
}

class CompletionRing : public irpverbs::testing::BothMachines {
protected:
    CompletionRing() { ring_.begin(memory_.data(), static_cast<ULONG>(memory_.size())); }

    /// Adds an entry as queue pairs do.
    hca_software::cq_reports add(ULONGLONG id, ULONG flags = 0) {
        const IB_WC entry = entry_of(id, flags);
        return try_add(ring_, entry) ? 0 : ring_.add(entry);
    }
    void expect_taken(ULONGLONG first, ULONG count) {
        std::array<IB_WC, 32> taken;
        EXPECT_EQ(ring_.take(32, taken.data()), count);
        for (ULONG i = 0; i < count; ++i)
            EXPECT_EQ(taken[i].WrId, first + i);
    }
    void expect_taken_one_by_one(ULONGLONG first, ULONG count) {
        IB_WC taken{};
        for (ULONG i = 0; i < count; ++i) {
            EXPECT_EQ(ring_.take(1, &taken), 1u);
            EXPECT_EQ(taken.WrId, first + i);
        }
    }
    /// Adds and takes until the calling processor is the favoured one.
    void become_favoured() {
        IB_WC taken;
        for (int i = 0; i < 10'000 && !try_add(ring_, entry_of(0)); ++i) {
            ring_.add(entry_of(0));
            ring_.take(1, &taken);
        }
        EXPECT_EQ(ring_.take(1, &taken), 1u) << "never favoured";
    }

    std::array<IB_WC, 4> memory_;
    completion_ring ring_;
};

TEST_P(CompletionRing, EntriesAdded_TakenInTheirOrder) {
    for (ULONGLONG turn = 0; turn < 1000; ++turn) {
        for (ULONGLONG i = 0; i < 3; ++i)
            EXPECT_EQ(add(3 * turn + i), 0u);
        expect_taken(3 * turn, 3);
    }
    expect_taken(0, 0);
}

TEST_P(CompletionRing, TakeOfFewer_LeavesTheRest) {
    for (ULONGLONG i = 0; i < 4; ++i)
        add(i);
    expect_taken_one_by_one(0, 2);
    EXPECT_EQ(ring_.query().count, 2u);
    expect_taken(2, 2);
}

TEST_P(CompletionRing, FullRing_IsInErrorForGood) {
    become_favoured();
    for (ULONGLONG i = 0; i < 4; ++i)
        EXPECT_EQ(add(i), 0u);
    EXPECT_EQ(add(4), cq_report::lost | cq_report::error);
    EXPECT_EQ(add(5), cq_report::lost);
    expect_taken(0, 4);
    EXPECT_EQ(add(6), cq_report::lost) << "there would be room";
    expect_taken(0, 0);
}

TEST_P(CompletionRing, ArmedForNext_NotifiesOnce) {
    become_favoured();
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_NEXT));
    EXPECT_EQ(add(1), cq_report::completion);
    EXPECT_EQ(add(2), 0u);
    EXPECT_TRUE(ring_.arm(IB_CQ_ARM_NEXT)) << "entries are there";
    expect_taken(1, 2);
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_NEXT));
}

TEST_P(CompletionRing, ArmedForSolicited_NotifiesForThoseAlone) {
    become_favoured();
    add(1, IB_WC_SOLICITED);
    expect_taken(1, 1);
    add(2);
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_SOLICITED)) << "the solicited entry has been taken";
    EXPECT_EQ(add(3), 0u);
    EXPECT_EQ(add(4, IB_WC_SOLICITED), cq_report::completion);
    EXPECT_TRUE(ring_.arm(IB_CQ_ARM_SOLICITED)) << "the solicited entry is there";
    expect_taken(2, 3);
    IB_WC failed = entry_of(5);
    failed.Status = IB_WC_FLUSHED;
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_SOLICITED));
    EXPECT_FALSE(try_add(ring_, failed));
    EXPECT_EQ(ring_.add(failed), cq_report::completion);
}

TEST_P(CompletionRing, ArmForSolicited_KeepsArmForNext) {
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_NEXT));
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_SOLICITED));
    EXPECT_EQ(add(1), cq_report::completion);
}

TEST_P(CompletionRing, UnusualEntry_NotAddedByTry) {
    become_favoured();
    EXPECT_FALSE(try_add(ring_, entry_of(1, IB_WC_SOLICITED)));
    EXPECT_FALSE(ring_.arm(IB_CQ_ARM_NEXT));
    become_favoured();
    EXPECT_EQ(ring_.query().count, 0u);
}

TEST_P(CompletionRing, OtherMemory_HasTheEntriesInTheirOrder) {
    add(0);
    expect_taken(0, 1);
    for (ULONGLONG i = 1; i < 4; ++i)
        add(i);
    std::array<IB_WC, 16> larger;
    EXPECT_EQ(ring_.replace(larger.data(), 16, 2), nullptr) << "fewer than the entries";
    EXPECT_EQ(ring_.query().capacity, 4u);
    EXPECT_EQ(ring_.replace(larger.data(), 16, 16), memory_.data());
    EXPECT_EQ(ring_.query().capacity, 16u);
    EXPECT_EQ(ring_.memory(), larger.data());
    for (ULONGLONG i = 4; i < 17; ++i)
        EXPECT_EQ(add(i), 0u);
    EXPECT_EQ(add(17), cq_report::lost | cq_report::error);
    expect_taken(1, 16);
    EXPECT_EQ(ring_.replace(memory_.data(), 4, 4), larger.data());
    EXPECT_EQ(add(18), cq_report::lost) << "the error stays";
}

IRPVERBS_ON_BOTH_MACHINES(CompletionRing);

// Two processors add, and one takes without a lock: nothing is lost, doubled or torn, and the
// entries of each keep their order.
TEST(CompletionRingThreads, TakenDuringAdds_EachEntryOnce) {
    constexpr int rounds = 100;
    constexpr ULONG each = 500;
    dispatch::asio_machine machine({.processors = 2});
    const dispatch::machine::scope inside(machine);
    completion_ring ring;
    std::array<IB_WC, 1024> memory;
    ring.begin(memory.data(), static_cast<ULONG>(memory.size()));
    ULONGLONG next[2] = {};
    unsigned wrong = 0;
    const auto adder = [&](ULONG which) {
        return [&ring, which](int round) {
            for (ULONG i = 0; i < each; ++i) {
                IB_WC made = entry_of(static_cast<ULONG>(round) * each + i);
                made.QpNumber = which;
                made.SourceQp = static_cast<ib_qpn_t>(made.WrId);
                if (!try_add(ring, made)) ring.add(made);
            }
        };
    };
    const auto taker = [&](int) {
        std::array<IB_WC, 7> taken;
        for (ULONG left = 2 * each; left != 0;) {
            const ULONG count = ring.take(7, taken.data());
            for (ULONG i = 0; i < count; ++i) {
                const IB_WC& one = taken[i];
                const bool right = one.QpNumber < 2 && one.WrId == next[one.QpNumber]++ &&
                                   one.SourceQp == static_cast<ib_qpn_t>(one.WrId);
                if (!right) ++wrong;
            }
            left -= count;
            if (count == 0) dispatch::detail::spin_turn(64);
        }
    };
    irpverbs::testing::run_concurrent_rounds(machine, rounds, {adder(0), adder(1), taker},
                                             [](int) {});
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(ring.query().count, 0u);
}

} // namespace
