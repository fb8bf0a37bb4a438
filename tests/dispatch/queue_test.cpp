#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct packet {
    LIST_ENTRY entry{};
    int number = 0;
};

int number_of(LIST_ENTRY* entry) { return CONTAINING_RECORD(entry, packet, entry)->number; }

LIST_ENTRY* as_entry(NTSTATUS status) {
    return reinterpret_cast<LIST_ENTRY*>(static_cast<LONG_PTR>(status));
}

struct queue : KQUEUE {
    explicit queue(ULONG count = 0) { KeInitializeQueue(this, count); }
    LONG insert(packet& one) { return KeInsertQueue(this, &one.entry); }
    LIST_ENTRY* remove() { return KeRemoveQueue(this, KernelMode, nullptr); }
    LIST_ENTRY* remove(LONGLONG ticks) {
        LARGE_INTEGER timeout = from_now(ticks);
        return KeRemoveQueue(this, KernelMode, &timeout);
    }
    LONG length() { return KeReadStateQueue(this); }
};

class KernelQueue : public BothMachines {
protected:
    packet packets_[4];
    KernelQueue() {
        for (int i = 0; i < 4; ++i)
            packets_[i].number = i;
    }
};

TEST_P(KernelQueue, HeadInsert_IsRemovedFirst) {
    queue one;
    EXPECT_EQ(one.insert(packets_[0]), 0);
    EXPECT_EQ(one.insert(packets_[1]), 1);
    EXPECT_EQ(KeInsertHeadQueue(&one, &packets_[2].entry), 2);
    EXPECT_EQ(one.length(), 3);
    for (const int expected : {2, 0, 1})
        EXPECT_EQ(number_of(one.remove()), expected);
    EXPECT_EQ(one.length(), 0);
    EXPECT_EQ(KeRundownQueue(&one), nullptr);
}

TEST_P(KernelQueue, RemoveFromEmpty_TimesOut) {
    queue one;
    EXPECT_EQ(one.remove(0), as_entry(STATUS_TIMEOUT));
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_EQ(one.remove(millisecond), as_entry(STATUS_TIMEOUT));
    EXPECT_GE(KeQueryInterruptTime() - before, 1ull * millisecond);
    KeRundownQueue(&one);
}

TEST_P(KernelQueue, KeRemoveQueueEx_RemovesSeveralEntries) {
    queue one;
    LIST_ENTRY* taken[4] = {};
    LARGE_INTEGER zero = from_now(0);
    const auto remove = [&](ULONG count) {
        return KeRemoveQueueEx(&one, KernelMode, FALSE, &zero, taken, count);
    };
    EXPECT_EQ(remove(4), 0u);
    for (packet& each : packets_)
        one.insert(each);
    EXPECT_EQ(remove(0), 0u);
    EXPECT_EQ(remove(3), 3u);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(number_of(taken[i]), i);
    EXPECT_EQ(remove(4), 1u);
    EXPECT_EQ(number_of(taken[0]), 3);
    KeRundownQueue(&one);
}

TEST_P(KernelQueue, WaitingThread_ReceivesInsertedEntry) {
    queue one;
    int got = -1;
    system_thread server([&] { got = number_of(one.remove()); });
    one.insert(packets_[3]);
    server.join();
    EXPECT_EQ(got, 3);
    KeRundownQueue(&one);
}

TEST_P(KernelQueue, WaitingKeRemoveQueueEx_ReceivesSeveralEntries) {
    queue one;
    ULONG taken = 0;
    {
        system_thread server([&] {
            LIST_ENTRY* entries[4];
            while (taken < 4)
                taken += KeRemoveQueueEx(&one, KernelMode, FALSE, nullptr, entries, 4);
        });
        for (packet& each : packets_)
            one.insert(each);
    }
    EXPECT_EQ(taken, 4u);
    KeRundownQueue(&one);
}

TEST_P(KernelQueue, Rundown_ReturnsRingWithoutHead) {
    queue one;
    for (packet& each : packets_)
        one.insert(each);
    LIST_ENTRY* const first = KeRundownQueue(&one);
    LIST_ENTRY* each = first;
    for (int i = 0; i < 4; ++i, each = each->Flink)
        EXPECT_EQ(number_of(each), i);
    EXPECT_EQ(each, first);
    EXPECT_EQ(one.length(), 0);
}

TEST_P(KernelQueue, MaximumCountZero_EqualsProcessorCount) {
    queue one;
    EXPECT_EQ(one.MaximumCount, KeQueryActiveProcessorCount(nullptr));
    EXPECT_EQ(queue(3).MaximumCount, 3u);
}

TEST_P(KernelQueue, RemoveAtDispatch_AllowedWithZeroTimeoutOnly) {
    queue one;
    one.insert(packets_[1]);
    {
        const at_dispatch_level raised;
        EXPECT_EQ(number_of(one.remove(0)), 1);
        EXPECT_EQ(one.remove(0), as_entry(STATUS_TIMEOUT));
        EXPECT_EQ(bug_check_of([&] { one.remove(); }), ATTEMPTED_SWITCH_FROM_DPC);
    }
    KeRundownQueue(&one);
}

TEST_P(KernelQueue, ThreadChangesQueue_FormerCurrentCountDecrements) {
    queue one(1), two(1);
    one.insert(packets_[0]);
    two.insert(packets_[1]);
    EXPECT_EQ(number_of(one.remove()), 0);
    EXPECT_EQ(one.CurrentCount, 1u);
    EXPECT_EQ(number_of(two.remove()), 1);
    EXPECT_EQ(one.CurrentCount, 0u); // the thread now serves the other queue
    EXPECT_EQ(two.CurrentCount, 1u);
    KeRundownQueue(&one);
    KeRundownQueue(&two);
}

IRPVERBS_ON_BOTH_MACHINES(KernelQueue);

// Serves until the queue is run down; counts the active servers and calls `work` in each.
template <class Work>
void serve(queue& from, int& at_work, const Work& work) {
    for (;;) {
        LIST_ENTRY* entry = from.remove();
        if (entry == as_entry(STATUS_ABANDONED_WAIT_0)) return;
        ++at_work;
        work(entry);
        --at_work;
    }
}

TEST(KernelQueueExplored, ConcurrentServers_NeverExceedMaximumCount) {
    expect_explored(thorough(), [](sim_machine& machine) {
        queue one(2);
        packet packets[5];
        int at_work = 0, served = 0;
        for (int i = 0; i < 4; ++i)
            machine.spawn("server" + std::to_string(i), [&] {
                serve(one, at_work, [&](LIST_ENTRY*) {
                    EXPECT_LE(at_work, 2);
                    machine.yield();
                    ++served;
                });
            });
        machine.spawn("client", [&] {
            delay(millisecond);
            for (packet& each : packets)
                one.insert(each);
            delay(second);
            EXPECT_EQ(KeRundownQueue(&one), nullptr);
        });
        machine.run();
        EXPECT_EQ(served, 5);
    });
}

// A server that blocks on another object, or delays, makes room for another server.
// A server delays for 1 s, within which the other server must run.
TEST(KernelQueueExplored, ServerBlocksOrDelays_AnotherServerRuns) {
    for (const bool by_delay : {false, true}) {
        expect_explored(without_delays(thorough()), [by_delay](sim_machine& machine) {
            queue one(1);
            packet packets[2];
            event second_served;
            int at_work = 0, served = 0;
            for (const char* name : {"server", "other server"})
                machine.spawn(name, [&] {
                    serve(one, at_work, [&](LIST_ENTRY*) {
                        if (++served == 2) {
                            set(second_served);
                        } else if (by_delay) {
                            delay(second);
                            EXPECT_EQ(served, 2);
                        } else {
                            wait(&second_served);
                        }
                    });
                });
            machine.spawn("client", [&] {
                delay(millisecond);
                for (packet& each : packets)
                    one.insert(each);
                delay(10 * second);
                KeRundownQueue(&one);
            });
            machine.run();
            EXPECT_EQ(served, 2);
        });
    }
}

TEST(KernelQueueExplored, Rundown_EndsWaitsWithAbandoned) {
    expect_explored(thorough(), [](sim_machine& machine) {
        queue one;
        int ended = 0;
        for (const char* name : {"server", "other server"})
            machine.spawn(name,
                          [&] { ended += one.remove() == as_entry(STATUS_ABANDONED_WAIT_0); });
        machine.spawn("owner", [&] {
            delay(millisecond); // both servers wait by now
            EXPECT_EQ(KeRundownQueue(&one), nullptr);
        });
        machine.run();
        EXPECT_EQ(ended, 2);
    });
}

// The thread that waited last has the warmest cache.
// The delays set the order of the waits.
TEST(KernelQueueExplored, WaitingServers_ServeLastInFirstOut) {
    expect_explored(without_delays(thorough()), [](sim_machine& machine) {
        queue one(3);
        packet packets[3];
        std::vector<int> order;
        for (int i = 0; i < 3; ++i)
            machine.spawn("server" + std::to_string(i), [&, i] {
                delay((i + 1) * millisecond);
                one.remove();
                order.push_back(i);
            });
        machine.spawn("client", [&] {
            for (packet& each : packets) {
                delay(second);
                one.insert(each);
            }
            KeRundownQueue(&one);
        });
        machine.run();
        EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
    });
}

// An entry is either served or returned by the rundown, never both and never neither.
TEST(KernelQueueExplored, InsertRacesWithRundown_EntryServedOrReturnedOnce) {
    int given_back = 0, served_in_time = 0;
    expect_explored(thorough(), [&](sim_machine& machine) {
        queue one(1);
        packet packets[2];
        int served = 0, left = 0;
        const auto count_ring = [&] {
            LIST_ENTRY* const first = KeRundownQueue(&one);
            LIST_ENTRY* each = first;
            while (each != nullptr) {
                ++left;
                each = each->Flink != first ? each->Flink : nullptr;
            }
        };
        machine.spawn("server", [&] {
            for (int i = 0; i < 2; ++i) {
                LIST_ENTRY* entry = one.remove(second);
                served += entry == &packets[0].entry || entry == &packets[1].entry;
            }
        });
        machine.spawn("client", [&] {
            for (packet& each : packets)
                one.insert(each);
        });
        machine.spawn("owner", count_ring);
        machine.run();
        count_ring(); // the entries behind the first one
        EXPECT_EQ(served + left, 2);
        given_back += left;
        served_in_time += served;
    });
    EXPECT_GT(given_back, 0);
    EXPECT_GT(served_in_time, 0);
}

TEST(KernelQueueExplored, InsertRacesWithTimeout_EntryServedOrStaysQueued) {
    int in_time = 0, late = 0;
    explore_options options = thorough();
    options.machine.delays = 8;
    expect_explored(options, [&](sim_machine& machine) {
        queue one(1);
        packet only;
        bool got = false;
        machine.spawn("server", [&] { got = one.remove(millisecond) == &only.entry; });
        machine.spawn("client", [&] {
            delay(millisecond);
            one.insert(only);
        });
        machine.run();
        EXPECT_EQ(one.length(), got ? 0 : 1);
        EXPECT_EQ(one.CurrentCount, 0u); // its thread has ended
        KeRundownQueue(&one);
        (got ? in_time : late) += 1;
    });
    EXPECT_GT(in_time, 0);
    EXPECT_GT(late, 0);
}

// A server that ends while it processes an entry is no longer counted.
TEST(KernelQueueExplored, ServerEndsWhileServing_AnotherServerRuns) {
    expect_explored(thorough(), [](sim_machine& machine) {
        queue one(1);
        packet packets[2];
        int served = 0;
        for (const char* name : {"server", "other server"})
            machine.spawn(name, [&] {
                one.remove();
                ++served;
            });
        machine.spawn("client", [&] {
            for (packet& each : packets)
                one.insert(each);
        });
        machine.run();
        EXPECT_EQ(served, 2);
        KeRundownQueue(&one);
    });
}

} // namespace
