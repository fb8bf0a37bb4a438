// The rings between a client and a daemon as two processes see them: each end has a mapping of its
// own, stores become visible late, and a process is killed before any of its accesses.
#include <ci/support/completion_ring.hpp>
#include <ci/support/post_ring.hpp>
#include <ci/support/shared_memory.hpp>

#include <dispatch/testing/store_buffers.hpp>
#include <support/explore_gtest.hpp>

#include <array>
#include <cstring>
#include <optional>

namespace {

using namespace irpverbs;
using ci::crossing::completion_producer;
using ci::crossing::completion_reader;
using ci::crossing::completion_ring;
using ci::crossing::post_consumer;
using ci::crossing::post_producer;
using ci::crossing::post_ring;
using ci::crossing::shared_fence;
using ci::crossing::store_consumer;
using ci::crossing::store_producer;
using ci::crossing::store_ring;
using ci::detail::shared_memory;
using dispatch::sim_machine;
using dispatch::testing::store_buffers;
using irpverbs::testing::expect_explored;

dispatch::explore_options some_runs() {
    dispatch::explore_options options;
    options.random_runs = 1000;
    options.pct_runs = 500;
    return options;
}

/// Memory that one process has made and another has mapped.
template <class Part>
class mapped_twice {
public:
    explicit mapped_twice(shared_memory::others rights, std::size_t size = sizeof(Part))
        : made_(shared_memory::make(size, rights, file_)),
          found_(shared_memory::map(file_, rights)) {}
    Part& made() { return *reinterpret_cast<Part*>(made_.bytes().data()); }
    Part& mapped() { return *reinterpret_cast<Part*>(found_.bytes().data()); }

private:
    ci::detail::unique_descriptor file_;
    shared_memory made_, found_;
};

struct killed {};

/// A process that is killed before one of its accesses to shared words, or lives on.
class victim {
public:
    victim(sim_machine& run, const char* its_actor)
        : run_(run), actor_(its_actor), left_(run.random() % most_accesses),
          late_(run, [this] { on_access(); }) {}

    /// Runs the code of the process. Its stores are visible before its end is.
    template <class Body>
    void run_until_killed(const Body& body) {
        try {
            body();
        } catch (const killed&) {
        }
        dead_ = true;
        shared_fence();
    }

private:
    static constexpr std::uint64_t most_accesses = 40; // more than any process here makes

    void on_access() {
        if (dead_ || run_.actor_name() != actor_) return;
        if (left_-- == 0) throw killed();
    }

    sim_machine& run_;
    const char* const actor_;
    std::uint64_t left_;
    bool dead_ = false;
    const store_buffers late_;
};

KEVENT event() {
    KEVENT made;
    KeInitializeEvent(&made, SynchronizationEvent, FALSE);
    return made;
}

// ---- posts

struct post_ends {
    mapped_twice<post_ring::client_part> of_client{shared_memory::others::may_write};
    mapped_twice<post_ring::daemon_part> of_daemon{shared_memory::others::may_read};
    post_producer client{of_client.mapped(), of_daemon.mapped()};
    post_consumer daemon{of_client.made(), of_daemon.made()};
    KEVENT bell = event(); // also of the connection's end
    std::uint64_t published = 0;
    bool ended = false;

    void post() {
        const auto room = client.room();
        ASSERT_FALSE(room.empty());
        std::memcpy(room.data(), &published, sizeof(published));
        client.publish(sizeof(published));
        ++published;
        if (client.must_wake()) KeSetEvent(&bell, IO_NO_INCREMENT, FALSE);
    }
    void end() {
        ended = true;
        KeSetEvent(&bell, IO_NO_INCREMENT, FALSE);
    }
    // Returns the number of messages that were taken when the client has ended.
    std::uint64_t serve() {
        std::uint64_t taken = 0;
        for (;;) {
            const bool last = ended;
            std::size_t size = 0;
            const post_consumer::found found = daemon.look(copy, size);
            EXPECT_NE(found, post_consumer::found::violation);
            if (found == post_consumer::found::record) {
                std::uint64_t value = 0;
                std::memcpy(&value, copy.data(), sizeof(value));
                EXPECT_EQ(value, taken++);
                daemon.remove();
            } else if (last) {
                return taken;
            } else if (daemon.begin_sleep()) {
                KeWaitForSingleObject(&bell, Executive, KernelMode, FALSE, nullptr);
                daemon.end_sleep();
            }
        }
    }
    alignas(8) std::array<std::byte, post_ring::max_message> copy{};
};

TEST(LateStores, DaemonThatSleeps_IsWokenForEachPost) {
    expect_explored(some_runs(), [](sim_machine& run) {
        post_ends here;
        const store_buffers late(run);
        run.spawn("client", [&] {
            for (int i = 0; i < 3; ++i)
                here.post();
        });
        run.spawn("daemon", [&] {
            while (here.published < 3 || here.daemon.has_work()) {
                std::size_t size = 0;
                if (here.daemon.look(here.copy, size) == post_consumer::found::record) {
                    here.daemon.remove();
                } else if (here.daemon.begin_sleep()) {
                    KeWaitForSingleObject(&here.bell, Executive, KernelMode, FALSE, nullptr);
                    here.daemon.end_sleep();
                }
            }
        });
        run.run();
    });
}

TEST(LateStores, ClientIsKilledBeforeAnyAccess_WhatItPublishedIsPosted) {
    expect_explored(some_runs(), [](sim_machine& run) {
        post_ends here;
        victim client(run, "client");
        run.spawn("client", [&] {
            client.run_until_killed([&] {
                for (int i = 0; i < 4; ++i)
                    here.post();
            });
            here.end();
        });
        std::uint64_t taken = 0;
        run.spawn("daemon", [&] { taken = here.serve(); });
        run.run();
        // A store that was made, and not counted yet, may be there.
        EXPECT_TRUE(taken == here.published || taken == here.published + 1)
            << taken << " of " << here.published;
    });
}

// ---- completions

struct completion_ends {
    static constexpr std::uint32_t slots = 4;

    mapped_twice<completion_ring::client_part> of_client{shared_memory::others::may_write};
    mapped_twice<completion_ring::daemon_part> of_daemon{shared_memory::others::may_read,
                                                         completion_ring::size_of(slots)};
    completion_producer daemon{of_daemon.made(), slots, of_client.made()};
    const completion_reader client{of_daemon.mapped(), slots};
    KEVENT reported = event();
    std::uint64_t armings = 0;

    bool append(std::uint64_t id) {
        IB_WC made{};
        made.WrId = id;
        if (!daemon.append(made, slots)) return false;
        if (daemon.must_notify(false)) KeSetEvent(&reported, IO_NO_INCREMENT, FALSE);
        return true;
    }
    // Reads `count` completions; waits for an event where none is there. `daemon_ended`: none
    // comes.
    std::uint64_t read(std::uint64_t count, const bool& daemon_ended) {
        std::uint64_t done = 0;
        while (done < count) {
            const bool last = daemon_ended;
            if (take(done)) continue;
            if (last) break;
            of_client.mapped().armed.store(2 * ++armings, std::memory_order_relaxed);
            shared_fence();
            if (take(done)) continue;
            KeWaitForSingleObject(&reported, Executive, KernelMode, FALSE, nullptr);
        }
        return done;
    }
    bool take(std::uint64_t& done) {
        IB_WC seen{};
        if (!client.read(done, seen)) return false;
        EXPECT_EQ(seen.WrId, done++);
        of_client.mapped().consumed.store(done, std::memory_order_release);
        return true;
    }
};

TEST(LateStores, ClientThatArmsAndLooks_MissesNoEvent) {
    expect_explored(some_runs(), [](sim_machine& run) {
        completion_ends here;
        const store_buffers late(run);
        const bool never = false;
        run.spawn("daemon", [&] {
            for (std::uint64_t i = 0; i < 3; ++i)
                EXPECT_TRUE(here.append(i));
        });
        run.spawn("client", [&] { EXPECT_EQ(here.read(3, never), 3u); });
        run.run();
    });
}

TEST(LateStores, ClientIsKilledBeforeAnyAccess_DaemonFillsItsQueueAndGoesOn) {
    expect_explored(some_runs(), [](sim_machine& run) {
        completion_ends here;
        victim client(run, "client");
        std::uint64_t accepted = 0;
        std::uint64_t read = 0;
        bool ended = false;
        run.spawn("client", [&] {
            client.run_until_killed([&] {
                while (here.take(read))
                    ;
                here.of_client.mapped().armed.store(2 * ++here.armings, std::memory_order_relaxed);
                shared_fence();
                while (here.take(read))
                    ;
            });
            ended = true;
        });
        run.spawn("daemon", [&] {
            for (int i = 0; i < 8; ++i)
                if (here.append(accepted)) ++accepted;
            EXPECT_LE(here.daemon.filled(), completion_ends::slots);
        });
        run.run();
        EXPECT_TRUE(ended);
        EXPECT_GE(accepted, completion_ends::slots);
        EXPECT_LE(accepted, read + completion_ends::slots);
    });
}

TEST(LateStores, DaemonIsKilledBeforeAnyAccess_ClientReadsWholeCompletionsInOrder) {
    expect_explored(some_runs(), [](sim_machine& run) {
        completion_ends here;
        victim daemon(run, "daemon");
        std::uint64_t appended = 0;
        std::uint64_t read = 0;
        bool ended = false;
        run.spawn("daemon", [&] {
            daemon.run_until_killed([&] {
                while (appended < 4 && here.append(appended))
                    ++appended;
            });
            ended = true;
            KeSetEvent(&here.reported, IO_NO_INCREMENT, FALSE); // the connection ends
        });
        run.spawn("client", [&] { read = here.read(4, ended); });
        run.run();
        EXPECT_TRUE(read == appended || read == appended + 1) << read << " of " << appended;
    });
}

// ---- stores

/// Messages of one word, each with its completion.
struct store_ends {
    static constexpr ULONG key = 5;

    store_ends() { daemon.show(key, address()); }

    std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(&word); }
    bool send(std::uint64_t value) {
        if (!daemon.append(key, address(), std::as_bytes(std::span(&value, 1)))) return false;
        IB_WC made{};
        made.WrId = value;
        return completions.daemon.append(made, completion_ends::slots, daemon.count());
    }
    // Applies one store. False: there is none.
    bool apply() {
        return client.apply_next([](ULONG, std::uint64_t, std::uint64_t) { return true; }) ==
               store_consumer::found::store;
    }
    // Applies what comes before the next completion. False: there is none.
    bool take(std::uint64_t& done) {
        IB_WC seen{};
        if (!completions.client.read(done, seen)) return false;
        const std::uint64_t before = completions.client.stores_before(done);
        while (client.applied() < before && apply()) {
        }
        EXPECT_GE(client.applied(), before);
        EXPECT_EQ(word, seen.WrId);
        completions.of_client.mapped().consumed.store(++done, std::memory_order_release);
        return true;
    }

    std::uint64_t word = 0; // of the client
    completion_ends completions;
    mapped_twice<store_ring::client_part> of_client{shared_memory::others::may_write};
    mapped_twice<store_ring::daemon_part> of_daemon{shared_memory::others::may_read};
    store_producer daemon{of_daemon.made(), of_client.made()};
    store_consumer client{of_daemon.mapped(), of_client.mapped()};
};

TEST(LateStores, DaemonIsKilledBeforeAnyAccess_EachCompletionHasItsStore) {
    expect_explored(some_runs(), [](sim_machine& run) {
        store_ends here;
        victim daemon(run, "daemon");
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        bool ended = false;
        run.spawn("daemon", [&] {
            daemon.run_until_killed([&] {
                while (sent < 4 && here.send(sent))
                    ++sent;
            });
            ended = true;
        });
        run.spawn("client", [&] {
            for (bool last = false; !last;) {
                last = ended;
                while (here.take(taken)) {
                }
                if (!last) run.yield();
            }
        });
        run.run();
        EXPECT_TRUE(taken == sent || taken == sent + 1) << taken << " of " << sent;
    });
}

// As before a reply of the daemon is believed.
TEST(LateStores, StoresWithoutCompletions_AreWholeAndInOrder) {
    expect_explored(some_runs(), [](sim_machine& run) {
        store_ends here;
        const store_buffers late(run);
        bool ended = false;
        run.spawn("daemon", [&] {
            for (std::uint64_t i = 0; i < 3; ++i)
                EXPECT_TRUE(here.send(i));
            shared_fence();
            ended = true;
        });
        run.spawn("client", [&] {
            for (bool last = false; !last;) {
                last = ended;
                while (here.apply())
                    EXPECT_EQ(here.word, here.client.applied() - 1);
                if (!last) run.yield();
            }
        });
        run.run();
        EXPECT_EQ(here.client.applied(), 3u);
    });
}

} // namespace
