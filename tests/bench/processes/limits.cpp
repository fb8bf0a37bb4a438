// The cost for two processes without any library of messages.
#include "duels.hpp"

#include "../two_threads.hpp"

#include <array>
#include <cstring>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace irpverbs::bench {
namespace {

// Two sleepers that wake each other. An operation is a wake-up.
class futex_ping_pong final : public duel {
public:
    explicit futex_ping_pong(const meeting& with) : turn_(with.words.turn) {}
    void prepare() override { turn_.store(0); }
    void first(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            pass(1);
            await(0);
        }
    }
    void second(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            await(1);
            pass(0);
        }
    }

private:
    long call(int what, std::uint32_t value) const {
        return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&turn_), what, value, nullptr,
                       nullptr, 0);
    }
    void pass(std::uint32_t to) {
        turn_.store(to);
        call(FUTEX_WAKE, 1);
    }
    void await(std::uint32_t value) const {
        while (turn_.load() != value)
            call(FUTEX_WAIT, 1 - value);
    }

    std::atomic<std::uint32_t>& turn_;
};

// 8 bytes over a TCP connection of the loopback interface. An operation is a message one way.
class tcp_ping_pong final : public duel {
public:
    tcp_ping_pong(const meeting& with, int flags) : flags_(flags) {
        with.is_first ? listen_for(with) : connect_to(with);
        const int on = 1;
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    ~tcp_ping_pong() override { close(socket_); }
    void first(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            send_word();
            receive_word();
        }
    }
    void second(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; i += 2) {
            receive_word();
            send_word();
        }
    }

private:
    static sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
    static sockaddr_in loopback(in_port_t port) {
        sockaddr_in made{};
        made.sin_family = AF_INET;
        made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        made.sin_port = port;
        return made;
    }
    void listen_for(const meeting& with) {
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in own = loopback(0);
        socklen_t size = sizeof(own);
        expect(bind(listener, generic(own), size) == 0 && listen(listener, 1) == 0 &&
                   getsockname(listener, generic(own), &size) == 0,
               "listen");
        with.send(&own.sin_port, sizeof(own.sin_port));
        socket_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        expect(socket_ >= 0, "accept");
        close(listener);
    }
    void connect_to(const meeting& with) {
        sockaddr_in peer = loopback(with.receive_value<in_port_t>());
        socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        expect(::connect(socket_, generic(peer), sizeof(peer)) == 0, "connect");
    }
    void send_word() {
        expect(send(socket_, word_.data(), word_.size(), MSG_NOSIGNAL) == 8, "send");
    }
    void receive_word() {
        for (poll_limit limit; recv(socket_, word_.data(), word_.size(), flags_) != 8;
             limit.count()) {
        }
    }

    const int flags_;
    int socket_ = -1;
    std::array<char, 8> word_{};
};

// Into memory that other processes could have mapped.
class shared_copy final : public duel {
public:
    explicit shared_copy(std::size_t length) : length_(length) {}
    void first(std::uint64_t operations) override {
        for (std::uint64_t i = 0; i < operations; ++i) {
            std::memcpy(to_, from_, length_);
            asm volatile("" : : "r"(to_) : "memory");
        }
    }

private:
    static void* area(std::size_t length) {
        void* const made =
            mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        expect(made != MAP_FAILED, "mmap");
        return std::memset(made, 3, length);
    }

    const std::size_t length_;
    void* const to_ = area(length_);
    void* const from_ = area(length_);
};

} // namespace

void add_limits(duels& all, const meeting& with) {
    all.push_back({"limit/futex", "a sleeper wakes another one, one way",
                   std::make_shared<futex_ping_pong>(with)});
    all.push_back({"limit/tcp_spinning", "8 bytes over TCP one way, without sleeping",
                   std::make_shared<tcp_ping_pong>(with, MSG_DONTWAIT)});
    all.push_back({"limit/tcp_sleeping", "8 bytes over TCP one way, sleeping",
                   std::make_shared<tcp_ping_pong>(with, 0)});
    all.push_back({"limit/memcpy_4k", "4 KiB between shared areas by memcpy",
                   std::make_shared<shared_copy>(4096)});
    all.push_back({"limit/memcpy_64k", "64 KiB between shared areas by memcpy",
                   std::make_shared<shared_copy>(65536)});
    all.push_back({"limit/memcpy_1m", "1 MiB between shared areas by memcpy",
                   std::make_shared<shared_copy>(std::size_t{1} << 20)});
}

} // namespace irpverbs::bench
