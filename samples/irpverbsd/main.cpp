// irpverbsd: serves HCAs to other processes, which attach them as "user:". docs/processes.md.
#include <local_subnet_manager.hpp>

#include <ci/ual.h>
#include <dispatch/machine.hpp>
#include <dispatch/support/safe_text.hpp>

#include <CLI/CLI.hpp>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace dispatch = irpverbs::dispatch;

constexpr int failed = 1;
constexpr int usage = 2;

int complain(int status, const std::string& line) {
    std::fprintf(stderr, "irpverbsd: %s\n", dispatch::printable(line).c_str());
    return status;
}

struct options {
    std::vector<std::string> hcas;
    std::string socket;
    std::vector<ULONG> users;
    ULONG idle_turns = 0;
    bool status = false;

    const char* path() const { return socket.empty() ? nullptr : socket.c_str(); }
};

/// The command line is wrong.
struct wrong_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::runtime_error failure(const std::string& subject, const char* message, NTSTATUS status) {
    return std::runtime_error(message[0] != '\0' ? std::string(message)
                                                 : subject + ": " + NtStatusMeaning(status));
}

/// The HCAs of a URI, with a subnet manager if they are a fabric of this process.
class served_hcas {
public:
    explicit served_hcas(std::string uri) : uri_(std::move(uri)) {
        std::array<char, 512> message{};
        const NTSTATUS status = HcaAttachEx(uri_.c_str(), &count_, message.data(), message.size());
        if (status == STATUS_OBJECT_NAME_INVALID) throw wrong_usage(message.data());
        if (!NT_SUCCESS(status)) throw failure(uri_, message.data(), status);
        manager_ = std::make_unique<samples::local_subnet_manager>(uri_);
    }
    ~served_hcas() {
        manager_.reset();
        HcaDetach(uri_.c_str());
    }
    served_hcas(const served_hcas&) = delete;
    served_hcas& operator=(const served_hcas&) = delete;

    ULONG count() const { return count_; }

private:
    const std::string uri_;
    ULONG count_ = 0;
    std::unique_ptr<samples::local_subnet_manager> manager_;
};

struct closing {
    void operator()(UAL* listener) const { UalClose(listener); }
};
using listener = std::unique_ptr<UAL, closing>;

/// The socket that systemd has passed (sd_listen_fds(3)); 0: it has passed none.
LONG passed_socket() {
    constexpr LONG first = 3;
    const char* const pid = std::getenv("LISTEN_PID");
    const char* const count = std::getenv("LISTEN_FDS");
    const bool is_ours = pid != nullptr && count != nullptr && std::to_string(getpid()) == pid;
    if (!is_ours) return 0;
    if (std::string(count) != "1")
        throw std::runtime_error("LISTEN_FDS is " + std::string(count) + "; one socket is served");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    return first;
}

listener listen(const options& chosen) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.AllowedUids = chosen.users.data();
    limits.AllowedUidCount = static_cast<ULONG>(chosen.users.size());
    limits.Socket = passed_socket();
    limits.IdleTurns = chosen.idle_turns;
    std::array<char, 512> message{};
    UAL* made = nullptr;
    const NTSTATUS status =
        UalListen(chosen.path(), &limits, &made, message.data(), message.size());
    if (!NT_SUCCESS(status)) throw failure("socket", message.data(), status);
    return listener(made);
}

int serve(const options& chosen) {
    dispatch::asio_machine machine;
    const dispatch::machine::scope inside(machine);
    asio::signal_set signals(machine.context(), SIGINT, SIGTERM);
    auto stopped = signals.async_wait(asio::use_future);
    std::vector<std::unique_ptr<served_hcas>> hcas;
    ULONG count = 0;
    for (const std::string& each : chosen.hcas)
        count += hcas.emplace_back(std::make_unique<served_hcas>(each))->count();
    const listener serving = listen(chosen);
    std::printf("irpverbsd: %u HCAs at %s\n", count, UalPath(serving.get()));
    std::fflush(stdout);
    stopped.wait();
    return 0;
}

int show_status(const options& chosen) {
    std::string text(std::size_t{1} << 16, '\0');
    const NTSTATUS status = UalQueryStatus(chosen.path(), text.data(), text.size());
    if (!NT_SUCCESS(status)) throw failure("socket", text.c_str(), status);
    std::fputs(text.c_str(), stdout);
    return 0;
}

int run(int argc, char** argv) {
    options chosen;
    CLI::App app("Serves HCAs to other processes, which attach them as user:SOCKET.", "irpverbsd");
    app.set_version_flag("--version", "irpverbsd " IRPVERBS_VERSION);
    app.add_option("--hca", chosen.hcas,
                   "the HCAs to serve, such as software:FILE?loss=0.01; may be repeated")
        ->type_name("URI")
        ->default_val(std::vector<std::string>{"software:"});
    app.add_option("--socket", chosen.socket,
                   "the socket to listen at, in a directory of mode 0700 (default: "
                   "$IRPVERBS_SOCKET, or irpverbs/socket in $XDG_RUNTIME_DIR, or "
                   "/tmp/irpverbs-UID/socket)")
        ->type_name("PATH");
    app.add_option("--allow-user", chosen.users, "the number of a further user who may connect")
        ->type_name("UID");
    app.add_option("--idle-turns", chosen.idle_turns,
                   "looks at the empty ring of a client before its thread sleeps; many use a "
                   "processor for each busy client, and save it system calls")
        ->type_name("N")
        ->default_str("256");
    app.add_flag("--status", chosen.status,
                 "show the connections and counters of the daemon that listens at the socket");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return app.exit(wrong);
        return complain(usage, std::string(wrong.what()) + "; see irpverbsd --help");
    }
    return chosen.status ? show_status(chosen) : serve(chosen);
}

} // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const wrong_usage& wrong) {
    return complain(usage, wrong.what());
} catch (const std::exception& wrong) {
    return complain(failed, wrong.what());
}
