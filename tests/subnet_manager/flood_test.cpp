// A hostile client floods a running manager's SA, and begins transfers that it announces as 4 GB
// and never continues. The cost for another client is the loss of its rate, in virtual time.
//
// IRPVERBS_FLOOD=1000000 subnet_manager_test --gtest_filter='Flood.*' sends that many requests.
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/choices.hpp>
#include <hca/software.h>

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::machine;
using irpverbs::dispatch::random_choices;
using irpverbs::dispatch::sim_machine;
using path_access = test_access<sa_path_record_t>;

constexpr unsigned half_open = 256;
constexpr unsigned in_flight = 16;

unsigned flood_size() {
    unsigned size = 10'000;
    if (const char* const text = std::getenv("IRPVERBS_FLOOD"))
        std::from_chars(text, text + std::strlen(text), size);
    return size;
}

/// Gives work items a cost in virtual time: items that stall for a microsecond occupy all workers,
/// and in between each other item has one turn. Without it the simulated manager would serve any
/// number of requests at once.
class slow_processor {
public:
    explicit slow_processor(const bool& on) : on_(on) {
        for (cost& each : costs_) {
            each.of = this;
            ExInitializeWorkItem(&each.item, spend, &each);
            ExQueueWorkItem(&each.item, DelayedWorkQueue);
        }
    }
    slow_processor(const slow_processor&) = delete;
    slow_processor& operator=(const slow_processor&) = delete;

private:
    struct cost {
        slow_processor* of = nullptr;
        WORK_QUEUE_ITEM item{};
    };

    static void spend(void* context) {
        auto& self = *static_cast<cost*>(context);
        if (!self.of->on_) return;
        KeStallExecutionProcessor(1);
        ExQueueWorkItem(&self.item, DelayedWorkQueue);
    }

    const bool& on_;
    std::array<cost, 16> costs_{}; // as many as work items run at once
};

class flooded_fabric {
public:
    explicit flooded_fabric(sim_machine& sim) : sim_(sim) {
        EXPECT_EQ(manager_.wait_until_up(), STATUS_SUCCESS);
        sa_ = to_lid(open_hca(hcas_.fdo(0)).lid());
        session_.emplace(nullptr, 0u, hcas_.guid(2) + 1);
        hostile_.emplace(hcas_.fdo(1));
        sender_.emplace(*hostile_, agent_of(MAD_MGMT_CLASS_SUBN_ADM));
    }

    void begin_transfers() {
        for (unsigned i = 0; i < half_open; ++i) {
            mad first = request(0x4000'0000 + i);
            first[24] = 1;                 // RMPP version
            first[25] = 1;                 // DATA
            first[26] = 0xF8 | 1 | 2;      // no response time; active, first
            first.put<4>(28, 1);           // segment
            first.put<4>(32, 0xFFFF'FFFF); // PayloadLength
            EXPECT_EQ(sender_->send(sa_, first), STATUS_SUCCESS);
        }
    }

    /// The client asks alone, then while the flood lasts.
    void run(unsigned floods) {
        const slow_processor slow(running_);
        KEVENT begin;
        KeInitializeEvent(&begin, NotificationEvent, FALSE);
        sim_.spawn("floods", [&, this] {
            KeWaitForSingleObject(&begin, Executive, KernelMode, FALSE, nullptr);
            for (unsigned i = 0; i < floods; ++i) {
                if (i % burst == 0) wait_us(100);
                EXPECT_EQ(sender_->send(sa_, request(i + 1)), STATUS_SUCCESS);
            }
            flooding_ = false;
        });
        sim_.spawn("asks", [&, this] {
            rate_alone_ = rate([this] { return requests_ < calm_queries; });
            KeSetEvent(&begin, IO_NO_INCREMENT, FALSE);
            rate_flooded_ = rate([this] { return flooding_; });
            running_ = false;
        });
        EXPECT_TRUE(sim_.run()) << sim_.last().report;
    }

    /// Responses in a second of virtual time.
    double rate_alone() const { return rate_alone_; }
    double rate_flooded() const { return rate_flooded_; }
    unsigned asked() const { return requests_; }
    unsigned failed() const { return failed_; }

private:
    static constexpr unsigned burst = 500;
    static constexpr unsigned calm_queries = 500;

    static void wait_us(LONGLONG time) {
        LARGE_INTEGER due;
        due.QuadPart = -10 * time;
        KeDelayExecutionThread(KernelMode, FALSE, &due);
    }

    static mad request(ULONG number) {
        mad made(MAD_MGMT_CLASS_SUBN_ADM, SA_SUBN_ADM_GET, SA_CLASSPORTINFO_ATTRID);
        made[2] = 2; // the class's version
        return made.with_transaction(number);
    }

    // Each request differs from those before, so that none shares a response.
    std::unique_ptr<path_access> next_query() {
        sa_path_record_t wanted{};
        wanted.SGID = gid_of(hcas_.guid(2) + 1);
        wanted.DGID = gid_of(hcas_.guid(requests_ % 4) + 1);
        wanted.PacketLifeTime = static_cast<std::uint8_t>(40 + requests_ / 4 % 20);
        wanted.PacketLifeTimeSelector = 1; // less than
        ++requests_;
        return std::make_unique<path_access>(SA_PATHRECORD_ATTRID, wanted,
                                             SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID |
                                                 SA_PR_COMPMASK_PKTLT |
                                                 SA_PR_COMPMASK_PKTLTSELECTOR);
    }
    template <class GoOn>
    double rate(const GoOn& go_on) {
        std::deque<std::unique_ptr<path_access>> waiting;
        unsigned completed = 0;
        const ULONGLONG begin = KeQueryInterruptTime();
        while (go_on()) {
            while (waiting.size() < in_flight) {
                waiting.push_back(next_query());
                EXPECT_EQ(waiting.back()->begin(*session_), IBMF_SUCCESS);
            }
            if (waiting.front()->status() != IBMF_SUCCESS) ++failed_;
            waiting.pop_front();
            ++completed;
        }
        return completed * 1e7 / static_cast<double>(KeQueryInterruptTime() - begin);
    }

    sim_machine& sim_;
    attached hcas_{unmanaged()};
    running_manager manager_{{.hca = hcas_.guid(0)}};
    IB_MAD_ADDRESS sa_{};
    std::optional<session_scope> session_;
    std::optional<open_hca> hostile_;
    std::optional<mad_client> sender_;
    bool running_ = true;
    bool flooding_ = true;
    double rate_alone_ = 0;
    double rate_flooded_ = 0;
    unsigned requests_ = 0;
    unsigned failed_ = 0;
};

TEST(Flood, OfARunningManager_CostsAnotherClientLessThanHalfItsRate) {
    random_choices chance{1};
    sim_machine::options chosen;
    chosen.step_limit = 4'000'000'000;
    chosen.delays = 0; // they would last longer than what is compared
    sim_machine sim(chance, chosen);
    const machine::scope inside(sim);
    flooded_fabric world(sim);
    world.begin_transfers();
    world.run(flood_size());
    EXPECT_EQ(world.failed(), 0u);
    EXPECT_GT(world.rate_flooded(), world.rate_alone() / 2);
    RecordProperty("queries", std::to_string(world.asked()));
    RecordProperty("rate_alone", std::to_string(world.rate_alone()));
    RecordProperty("rate_flooded", std::to_string(world.rate_flooded()));
}

} // namespace
