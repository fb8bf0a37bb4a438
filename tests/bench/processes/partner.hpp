// The second process of the measurements, and what both processes share.
#pragma once

#include "../harness.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>
#include <vector>

namespace irpverbs::bench {

// Words that both processes access, each in lines of its own.
struct shared_words {
    alignas(128) std::atomic<std::uint64_t> consumed{
        0};                                          // messages that the second one has received
    alignas(128) std::atomic<std::uint32_t> turn{0}; // of the ping-pong by futex(2)
};

// One process's end of a connection to the other one.
class meeting {
public:
    meeting(int socket, shared_words& shared, bool first)
        : words(shared), is_first(first), socket_(socket) {}

    void send(const void* bytes, std::size_t size) const;
    std::vector<std::byte> receive() const;
    // Both send a value of this type, and receive the other's.
    template <class Value>
    Value exchange(const Value& own) const {
        send(&own, sizeof(own));
        return receive_value<Value>();
    }
    template <class Value>
    Value receive_value() const {
        const std::vector<std::byte> received = receive();
        expect(received.size() == sizeof(Value), "a message of the other process");
        return *reinterpret_cast<const Value*>(received.data());
    }

    shared_words& words;
    const bool is_first;

private:
    const int socket_;
};

// A measurement with two sides. Both processes make all of them, in the same order.
class duel {
public:
    virtual ~duel() = default;
    // Before the first one begins.
    virtual void prepare() {}
    virtual void first(std::uint64_t operations) = 0;
    // Runs in the other process at the same time; nothing: that sleeps.
    virtual void second(std::uint64_t) {}
};

// Ends the program where a loop that polls does not end.
class poll_limit {
public:
    void count() {
        if (++polls_ % polls_of_a_check == 0) check();
    }

private:
    static constexpr std::uint64_t polls_of_a_check = 1u << 14;
    static constexpr std::chrono::seconds longest{60};

    void check() const {
        expect(std::chrono::steady_clock::now() - begin_ < longest, "a poll within a minute");
    }

    std::uint64_t polls_ = 0;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Keeps the calling process on one processor.
void stay_on_processor(int number);
// The child ends with its parent.
void end_with_parent();

} // namespace irpverbs::bench
