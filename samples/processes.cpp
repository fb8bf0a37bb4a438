// Four processes on one simulated fabric: this one serves the HCAs, a server at host2 returns the
// messages of two clients, and one client dies in the middle of a transfer. The others go on.
#include "connected_end.hpp"
#include "local_subnet_manager.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <ci/ual.h>
#include <cm/async.hpp>
#include <irp/within.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace {

using namespace samples;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
namespace cm = irpverbs::cm;
namespace irp = irpverbs::irp;

constexpr ib_svc_id_t service = 0x10000000000009C0;
constexpr int messages = 2000;
constexpr int last_of_killed = 100;
constexpr const char* listening = "server: listens";

// ---- the server: one connection a service

asio::awaitable<int> serve(ib_guid_t hca, ib_svc_id_t id) {
    connected_end end;
    co_await end.open(hca);
    cm::manager manager = co_await cm::open(end.ca);
    cm::listener listener = co_await cm::listen(manager, id);
    std::puts(listening);
    cm::incoming request = co_await listener.next();
    co_await cm::accept(request.link, end.qp);
    int returned = 0;
    try {
        for (;; ++returned) {
            const IB_WC received = co_await end.qp.recv(end.buffer());
            // The transport would try for a minute to reach a process that was killed.
            co_await end.qp.send(end.buffer(received.ByteCount), {}, irp::within(2s));
        }
    } catch (const boost::system::system_error& ended) {
        std::printf("server: %d messages returned; then: %s\n", returned,
                    ended.code().message().c_str());
    }
    co_await request.link.async_close();
    co_await listener.async_close();
    co_await manager.async_close();
    co_await end.close();
    co_return returned;
}

asio::awaitable<int> server(ib_guid_t hca) {
    const auto [whole, cut] = co_await (serve(hca, service) && serve(hca, service + 1));
    co_return whole == messages&& cut < last_of_killed ? 0 : 1;
}

// ---- a client

asio::awaitable<int> client(ib_guid_t hca, ib_gid_t to, bool is_killed) {
    connected_end end;
    co_await end.open(hca);
    cm::manager manager = co_await cm::open(end.ca);
    const ib_svc_id_t id = is_killed ? service + 1 : service;
    cm::connected connection = co_await cm::connect(manager, end.qp, cm::connect_options(id, to));
    for (int i = 1; i <= messages; ++i) {
        const std::string text = "message " + std::to_string(i);
        end.set_text(text.c_str());
        co_await end.qp.send(end.buffer());
        if (is_killed && i == last_of_killed) raise(SIGKILL);
        end.bytes = {};
        co_await end.qp.recv(end.buffer());
        if (end.text() != text) co_return 1;
    }
    std::printf("client: %d messages came back\n", messages);
    co_await cm::disconnect(connection.link);
    co_await connection.link.async_close();
    co_await manager.async_close();
    co_await end.close();
    co_return 0;
}

/// The program of each process but the first: processes ROLE URI GID.
int play(const std::string& role, const char* uri, ib_guid_t server_guid) {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const irpverbs::hca::attachment fabric(uri);
    const ib_guid_t hca = irpverbs::hca::guids().front();
    const ib_gid_t to{IB_DEFAULT_GID_PREFIX, server_guid};
    auto body = role == "server" ? server(hca) : client(hca, to, role == "killed");
    return asio::co_spawn(machine.context(), std::move(body), asio::use_future).get();
}

// ---- the process that serves the HCAs

/// Starts a process, whose standard output is `output`.
pid_t start(const std::string& role, const std::string& socket, const char* host,
            const std::string& server_guid, int output = STDOUT_FILENO) {
    const std::string uri = "user:" + socket + "?host=" + host;
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(output, STDOUT_FILENO);
    execl("/proc/self/exe", "processes", role.c_str(), uri.c_str(), server_guid.c_str(), nullptr);
    _exit(127);
}

int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

/// Prints the next line of a process. False: it has ended.
bool show_line(std::FILE* of) {
    std::array<char, 200> line{};
    if (std::fgets(line.data(), line.size(), of) == nullptr) return false;
    std::fputs(line.data(), stdout);
    return true;
}

ib_guid_t port_guid_of(ib_guid_t hca) {
    const auto ca = irpverbs::ci::open_ca(HcaFromGuid(hca), asio::use_future).get();
    const auto port = irpverbs::ci::query_port(ca, 1, asio::use_future).get();
    return irpverbs::ci::gids(*port).front().gid_guid;
}

bool is_idle(UAL* serving) {
    UAL_COUNTERS now;
    LARGE_INTEGER interval;
    interval.QuadPart = -100'000; // 10 ms
    for (int tries = 0; tries < 1000; ++tries) {
        UalGetCounters(serving, &now);
        if (now.Objects == 0) break;
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
    }
    std::printf("daemon: %u objects of clients are left\n", now.Objects);
    return now.Objects == 0;
}

int serve_all(const std::string& socket) {
    const irpverbs::hca::attachment fabric("software:");
    const local_subnet_manager manager("software:");
    const std::string at = std::to_string(port_guid_of(irpverbs::hca::guids().at(1)));
    UAL* serving = nullptr;
    if (!NT_SUCCESS(UalListen(socket.c_str(), nullptr, &serving, nullptr, 0))) return 1;
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) return 1;
    const pid_t server = start("server", socket, "host2", at, pipe[1]);
    close(pipe[1]);
    std::FILE* const lines = fdopen(pipe[0], "r");
    for (int services = 0; services < 2; ++services)
        show_line(lines);
    const pid_t whole = start("client", socket, "host1", at);
    const pid_t killed = start("killed", socket, "host3", at);
    const int end_of_killed = status_of(killed);
    std::printf("daemon: the client at host3 was killed\n");
    while (show_line(lines)) {
    }
    std::fclose(lines);
    const bool good = WIFSIGNALED(end_of_killed) && status_of(whole) == 0 && status_of(server) == 0;
    const bool idle = is_idle(serving);
    UalClose(serving);
    return good && idle ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc == 4) return play(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
    char folder[] = "/tmp/irpverbs-processes-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const int result = serve_all(std::string(folder) + "/socket");
    rmdir(folder);
    return result;
}
