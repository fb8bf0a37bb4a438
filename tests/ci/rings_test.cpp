// The rings between a client and a daemon, one end after the other; late_stores_test.cpp explores
// both at once.
#include <ci/support/completion_ring.hpp>
#include <ci/support/post_ring.hpp>
#include <ci/support/shared_memory.hpp>

#include <support/findings.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <vector>

namespace {

using namespace irpverbs;
using ci::crossing::completion_producer;
using ci::crossing::completion_reader;
using ci::crossing::completion_ring;
using ci::crossing::post_consumer;
using ci::crossing::post_producer;
using ci::crossing::post_ring;
using ci::crossing::store_consumer;
using ci::crossing::store_producer;
using ci::crossing::store_ring;
using ci::detail::shared_memory;

// ---- the ring for posts

struct posts {
    posts() {
        of_client->produced.store(0, std::memory_order_relaxed);
        of_daemon->consumed.store(0, std::memory_order_relaxed);
        of_daemon->sleeps.store(0, std::memory_order_relaxed);
    }
    void post(std::uint64_t value, std::size_t size = sizeof(value)) {
        const auto room = client.room();
        ASSERT_GE(room.size(), size);
        std::memset(room.data(), 0, size);
        std::memcpy(room.data(), &value, sizeof(value));
        client.publish(size);
    }
    post_consumer::found take(std::uint64_t& value) {
        std::size_t size = 0;
        const post_consumer::found seen = daemon.look(copy, size);
        if (seen == post_consumer::found::record) {
            std::memcpy(&value, copy.data(), sizeof(value));
            daemon.remove();
        }
        return seen;
    }

    std::unique_ptr<post_ring::client_part> of_client = std::make_unique<post_ring::client_part>();
    std::unique_ptr<post_ring::daemon_part> of_daemon = std::make_unique<post_ring::daemon_part>();
    post_producer client{*of_client, *of_daemon};
    post_consumer daemon{*of_client, *of_daemon};
    alignas(8) std::array<std::byte, post_ring::max_message> copy{};
};

TEST(PostRing, ManyLaps_KeepContentAndOrder) {
    posts here;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        here.post(i, 8 + (i * 37) % (post_ring::max_message - 8));
        std::uint64_t value = ~i;
        ASSERT_EQ(here.take(value), post_consumer::found::record) << i;
        ASSERT_EQ(value, i);
    }
}

TEST(PostRing, FullRing_HasNoRoomUntilTheDaemonReads) {
    posts here;
    std::uint64_t count = 0;
    while (!here.client.room().empty())
        here.post(count++, post_ring::max_message);
    EXPECT_GE(count, post_ring::capacity / (post_ring::max_message + 8) - 1);
    std::uint64_t value = 0;
    EXPECT_EQ(here.take(value), post_consumer::found::record);
    EXPECT_EQ(here.take(value), post_consumer::found::record);
    EXPECT_FALSE(here.client.room().empty());
}

TEST(PostRing, CountOfAHostileDaemon_IsNoRoom) {
    posts here;
    while (!here.client.room().empty())
        here.post(0, post_ring::max_message);
    const std::uint64_t produced = here.of_client->produced.load(std::memory_order_relaxed);
    for (const std::uint64_t consumed : {~std::uint64_t{0}, produced + 8}) {
        here.of_daemon->consumed.store(consumed, std::memory_order_relaxed);
        EXPECT_TRUE(here.client.room().empty());
    }
}

TEST(PostRing, ContentOfAHostileClient_IsAViolation) {
    const auto seen_with = [](std::uint64_t produced, std::uint64_t head) {
        posts here;
        std::memcpy(here.of_client->bytes, &head, sizeof(head));
        here.of_client->produced.store(produced, std::memory_order_relaxed);
        std::uint64_t value = 0;
        return here.take(value);
    };
    constexpr auto violation = post_consumer::found::violation;
    EXPECT_EQ(seen_with(16, 8), post_consumer::found::record);
    EXPECT_EQ(seen_with(post_ring::capacity + 8, 8), violation); // more than the ring holds
    EXPECT_EQ(seen_with(20, 8), violation);                      // half a word
    EXPECT_EQ(seen_with(16, 16), violation);                     // beyond the count
    EXPECT_EQ(seen_with(16384, 8200), violation);                // longer than a message
    EXPECT_EQ(seen_with(16, post_ring::gap - 1), violation);
    EXPECT_EQ(seen_with(16, post_ring::gap | 16), violation); // a gap that is not at the end
    EXPECT_EQ(seen_with(post_ring::capacity, post_ring::gap | 8), violation);
}

// A client that changes a word between two loads of it would have one checked and the other used.
TEST(PostRing, EachWordOfAMessage_IsLoadedOnce) {
    const irpverbs::testing::findings seen{dispatch::detail::check::pool};
    posts here;
    for (std::uint64_t i = 0; i < 40; ++i) { // with gaps
        here.post(i, 8 + (i * 997) % (post_ring::max_message - 8));
        std::size_t size = 0;
        EXPECT_EQ(here.daemon.look(here.copy, size), post_consumer::found::record);
        std::uint64_t value = ~i; // of the message that stayed, as one does that a queue refuses
        EXPECT_EQ(here.take(value), post_consumer::found::record);
        EXPECT_EQ(value, i);
    }
    EXPECT_TRUE(irpverbs::testing::nothing_reported(seen));
}

// ---- the ring of completions

struct ring_of {
    explicit ring_of(std::uint32_t its_slots)
        : words((completion_ring::size_of(its_slots) + 63) / 64), slots(its_slots) {}
    completion_ring::daemon_part& part() {
        return *reinterpret_cast<completion_ring::daemon_part*>(words.data());
    }
    struct alignas(64) line {
        std::array<std::uint64_t, 8> words{};
    };
    std::vector<line> words;
    std::uint32_t slots;
};

IB_WC entry_of(ULONGLONG id, ULONG status = IB_WC_SUCCESS) {
    IB_WC made{};
    made.WrId = id;
    made.Status = status;
    return made;
}

TEST(CompletionRing, EntriesBeyondTheCapacity_AreRefused) {
    completion_ring::client_part of_client{};
    ring_of ring(4);
    completion_producer daemon(ring.part(), ring.slots, of_client);
    const completion_reader client(ring.part(), ring.slots);
    for (ULONG i = 0; i < 3; ++i)
        EXPECT_TRUE(daemon.append(entry_of(i), 3));
    EXPECT_FALSE(daemon.append(entry_of(3), 3));
    EXPECT_EQ(daemon.filled(), 3u);
    of_client.consumed.store(1, std::memory_order_relaxed);
    EXPECT_TRUE(daemon.append(entry_of(3), 3));
    of_client.consumed.store(100, std::memory_order_relaxed); // a client that lies has no room
    EXPECT_FALSE(daemon.append(entry_of(4), 3));
    IB_WC seen{};
    EXPECT_TRUE(client.read(3, seen));
    EXPECT_EQ(seen.WrId, 3u);
    EXPECT_FALSE(client.read(4, seen)); // the slot has an entry of the lap before
}

TEST(CompletionRing, BytesThatBelongToNoMember_DoNotCross) {
    completion_ring::client_part of_client{};
    ring_of ring(1);
    completion_producer daemon(ring.part(), ring.slots, of_client);
    const completion_reader client(ring.part(), ring.slots);
    IB_WC entry;
    std::memset(&entry, 0x5A, sizeof(entry));
    EXPECT_TRUE(daemon.append(entry, 1));
    IB_WC seen{};
    EXPECT_TRUE(client.read(0, seen));
    constexpr std::size_t members = offsetof(IB_WC, PathBits) + 1;
    EXPECT_EQ(std::memcmp(&seen, &entry, members), 0);
    for (std::size_t i = members; i < sizeof(seen); ++i)
        EXPECT_EQ(reinterpret_cast<const UCHAR*>(&seen)[i], 0u);
}

TEST(CompletionRing, EntriesOfALaterRing_FollowThoseOfTheFirst) {
    completion_ring::client_part of_client{};
    ring_of first(2);
    ring_of second(4);
    completion_producer daemon(first.part(), first.slots, of_client);
    const completion_reader client(first.part(), first.slots);
    const completion_reader later(second.part(), second.slots);
    EXPECT_TRUE(daemon.append(entry_of(0), 2));
    daemon.continue_in(second.part(), second.slots);
    EXPECT_TRUE(daemon.append(entry_of(1), 4));
    IB_WC seen{};
    EXPECT_TRUE(client.read(0, seen));
    EXPECT_FALSE(client.ends_at(0));
    EXPECT_FALSE(client.read(1, seen));
    EXPECT_TRUE(client.ends_at(1));
    EXPECT_TRUE(later.read(1, seen));
    EXPECT_EQ(seen.WrId, 1u);
}

TEST(CompletionRing, SizeOfTheMemory_DeterminesTheSlots) {
    EXPECT_EQ(completion_ring::slots_in(completion_ring::size_of(8)), 8u);
    EXPECT_EQ(completion_ring::slots_in(completion_ring::size_of(8) + 4096), 64u);
    EXPECT_EQ(completion_ring::slots_in(64), 0u);
    EXPECT_EQ(completion_ring::slots_in(0), 0u);
}

TEST(CompletionRing, SolicitedArming_IsNotifiedByASolicitedEntryOnly) {
    completion_ring::client_part of_client{};
    ring_of ring(8);
    completion_producer daemon(ring.part(), ring.slots, of_client);
    const completion_reader client(ring.part(), ring.slots);
    of_client.armed.store(2 * 1 + 1, std::memory_order_relaxed);
    EXPECT_TRUE(daemon.append(entry_of(1), 8));
    EXPECT_FALSE(daemon.must_notify(false));
    EXPECT_TRUE(daemon.must_notify(true));
    EXPECT_EQ(client.event(), 1u);
    EXPECT_FALSE(daemon.must_notify(true)); // once for each arming
    of_client.armed.store(2 * 2, std::memory_order_relaxed);
    EXPECT_TRUE(daemon.must_notify(false));
    EXPECT_EQ(client.event(), 2u);
}

TEST(CompletionRing, Solicited_AreFailuresToo) {
    EXPECT_FALSE(ci::crossing::is_solicited(entry_of(1)));
    EXPECT_TRUE(ci::crossing::is_solicited(entry_of(1, IB_WC_FLUSHED)));
}

TEST(CompletionRing, Entry_ComesBehindItsStores) {
    completion_ring::client_part of_client{};
    ring_of ring(2);
    completion_producer daemon(ring.part(), ring.slots, of_client);
    const completion_reader client(ring.part(), ring.slots);
    EXPECT_TRUE(daemon.append(entry_of(0), 2, 7));
    EXPECT_TRUE(daemon.append(entry_of(1), 2));
    EXPECT_EQ(client.stores_before(0), 7u);
    EXPECT_EQ(client.stores_before(1), 0u);
}

// ---- the ring of stores

struct stores {
    static constexpr ULONG key = 0x1234;
    static constexpr std::size_t page = 4096;

    stores() { daemon.show(key, address()); }

    std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
    }
    bool append(ULONG with, std::uint64_t at, std::string_view text) {
        return daemon.append(with, at, std::as_bytes(std::span(text)));
    }
    bool append(std::string_view text, std::size_t offset = 0) {
        return append(key, address(offset), text);
    }
    store_consumer::found apply() {
        return client.apply_next([this](ULONG with, std::uint64_t at, std::uint64_t size) {
            return with == key && at >= address() && at + size <= address(memory.size());
        });
    }
    std::string_view text(std::size_t size) const { return {memory.data(), size}; }

    alignas(page) std::array<char, 2 * page> memory{};
    std::unique_ptr<store_ring::daemon_part> of_daemon =
        std::make_unique<store_ring::daemon_part>();
    store_ring::client_part of_client{};
    store_producer daemon{*of_daemon, of_client};
    store_consumer client{*of_daemon, of_client};
};

TEST(StoreRing, ManyLaps_KeepContentAndOrder) {
    stores here;
    for (int i = 0; i < 1000; ++i) {
        const std::string first = "first " + std::to_string(i);
        EXPECT_TRUE(here.append(first));
        EXPECT_TRUE(here.append("x", 1));
        EXPECT_EQ(here.daemon.count(), 2u * static_cast<unsigned>(i) + 2);
        EXPECT_EQ(here.apply(), store_consumer::found::store);
        EXPECT_EQ(here.text(first.size()), first);
        EXPECT_EQ(here.apply(), store_consumer::found::store);
        EXPECT_EQ(here.memory[1], 'x');
        EXPECT_EQ(here.apply(), store_consumer::found::nothing); // the slot has one of a lap before
        EXPECT_EQ(here.client.applied(), here.daemon.count());
    }
}

TEST(StoreRing, RefusedByTheClient_TakesNoneAtAnyTime) {
    stores here;
    store_consumer::refuse_all(here.of_client);
    for (int i = 0; i < 200; ++i)
        EXPECT_FALSE(here.append("a"));
    EXPECT_EQ(here.daemon.count(), 0u);
}

TEST(StoreRing, FullRing_TakesNoMoreUntilTheClientHasAppliedSome) {
    stores here;
    for (std::uint64_t i = 0; i < store_ring::slots; ++i)
        EXPECT_TRUE(here.append("a"));
    EXPECT_FALSE(here.append("b"));
    EXPECT_EQ(here.apply(), store_consumer::found::store);
    EXPECT_TRUE(here.append("c"));
    EXPECT_FALSE(here.append("d"));
    here.of_client.applied.store(1'000'000, std::memory_order_relaxed); // a client that lies
    EXPECT_FALSE(here.append("e"));
}

TEST(StoreRing, PageWithoutAWrite_IsTheCallers) {
    stores here;
    EXPECT_FALSE(here.append(stores::key, here.address(stores::page), "other page"));
    EXPECT_FALSE(here.append(stores::key, here.address(stores::page - 2), "two pages"));
    EXPECT_FALSE(here.append(stores::key + 1, here.address(), "other region"));
    EXPECT_TRUE(here.append(stores::key, here.address(stores::page - 2), "xy"));
    here.daemon.show(stores::key, here.address(stores::page));
    EXPECT_TRUE(here.append(stores::key, here.address(stores::page), "other page"));
}

TEST(StoreRing, LongerThanASlot_IsTheCallers) {
    stores here;
    EXPECT_TRUE(here.append(std::string(store_ring::max_bytes, 'a')));
    EXPECT_FALSE(here.append(std::string(store_ring::max_bytes + 1, 'a')));
    EXPECT_EQ(here.apply(), store_consumer::found::store);
    EXPECT_EQ(here.text(store_ring::max_bytes + 1),
              std::string(store_ring::max_bytes, 'a') + std::string(1, '\0'));
}

TEST(StoreRing, HostileStore_ChangesNothing) {
    stores here;
    EXPECT_TRUE(here.append("a"));
    store_ring::slot& slot = here.of_daemon->all[0];
    const auto with = [&](std::uint64_t address, ULONG key, std::uint64_t size) {
        slot.address.store(address);
        slot.key_and_size.store(std::uint64_t{key} << 32 | size);
        return here.apply();
    };
    EXPECT_EQ(with(here.address(), stores::key, store_ring::max_bytes + 1),
              store_consumer::found::violation);
    EXPECT_EQ(with(here.address(), stores::key, 0xFFFFFFFF), store_consumer::found::violation);
    EXPECT_EQ(with(here.address(), stores::key + 1, 1), store_consumer::found::violation);
    EXPECT_EQ(with(here.address() - 8, stores::key, 8), store_consumer::found::violation);
    EXPECT_EQ(here.client.applied(), 0u);
    EXPECT_EQ(here.memory[0], 0);
    EXPECT_EQ(with(here.address(), stores::key, 1), store_consumer::found::store);
    EXPECT_EQ(here.memory[0], 'a');
}

// ---- the memory

TEST(SharedMemory, OfTheDaemon_CannotBeWrittenThroughTheDescriptor) {
    ci::detail::unique_descriptor file;
    const shared_memory own = shared_memory::make(4096, shared_memory::others::may_read, file);
    ASSERT_TRUE(own);
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), MAP_FAILED);
    EXPECT_FALSE(shared_memory::map(file, shared_memory::others::may_write));
    const shared_memory read = shared_memory::map(file, shared_memory::others::may_read);
    ASSERT_TRUE(read);
    own.bytes()[7] = std::byte{9};
    EXPECT_EQ(read.bytes()[7], std::byte{9});
    EXPECT_NE(mprotect(read.bytes().data(), 4096, PROT_READ | PROT_WRITE), 0);
}

TEST(SharedMemory, OfTheClient_IsWrittenByBoth) {
    ci::detail::unique_descriptor file;
    const shared_memory own = shared_memory::make(4096, shared_memory::others::may_write, file);
    const shared_memory other = shared_memory::map(file, shared_memory::others::may_write);
    ASSERT_TRUE(own && other);
    other.bytes()[1] = std::byte{3};
    EXPECT_EQ(own.bytes()[1], std::byte{3});
}

TEST(SharedMemory, OfOtherFiles_IsRefused) {
    const ci::detail::unique_descriptor unsealed(memfd_create("test", MFD_CLOEXEC));
    EXPECT_FALSE(shared_memory::map(unsealed, shared_memory::others::may_read));
    EXPECT_FALSE(
        shared_memory::map(ci::detail::unique_descriptor(), shared_memory::others::may_read));
}

} // namespace
