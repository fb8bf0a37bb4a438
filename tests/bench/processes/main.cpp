// irpverbs_bench_processes: two clients of irpverbsd beside two processes that use UCX, TCP or a
// futex. The first process and its measurements are on the first processor; the second one and the
// daemon share the other.
#include "../program.hpp"
#include "bars.hpp"
#include "duels.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench = irpverbs::bench;

namespace {

const char* const about =
    "usage: irpverbs_bench_processes [options]\n"
    "Measures two clients of irpverbsd beside two processes that use UCX, and checks the bars.\n"
    "Needs two processors. Exit status: 0, 1 when a bar failed, 2 when misused.\n";

constexpr int processor_of_the_first = 0;
constexpr int processor_of_the_others = 1;

/// A child, killed and awaited at the end.
class child {
public:
    template <class Body>
    explicit child(const Body& body) : pid_(fork()) {
        bench::expect(pid_ >= 0, "fork");
        if (pid_ != 0) return;
        bench::end_with_parent();
        bench::stay_on_processor(processor_of_the_others);
        body();
        _exit(0);
    }
    ~child() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;

private:
    const pid_t pid_;
};

/// A directory of mode 0700 for the daemon's socket, removed at the end.
class private_directory {
public:
    private_directory() { bench::expect(mkdtemp(name_.data()) != nullptr, "mkdtemp"); }
    ~private_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(name_, ignored);
    }
    private_directory(const private_directory&) = delete;
    private_directory& operator=(const private_directory&) = delete;

    std::string socket() const { return name_ + "/socket"; }

private:
    std::string name_ = std::filesystem::temp_directory_path() / "irpverbs-bench-XXXXXX";
};

/// irpverbsd of this build, which listens.
class daemon_process {
public:
    daemon_process() {
        close(output_.write_end);
        char line = 0;
        bench::expect(read(output_.read_end, &line, 1) == 1, "irpverbsd does not start");
    }
    std::string uri() const { return "user:" + directory_.socket(); }

private:
    struct pipe_of_child {
        pipe_of_child() {
            std::array<int, 2> ends{};
            bench::expect(pipe(ends.data()) == 0, "pipe");
            read_end = ends[0];
            write_end = ends[1];
        }
        int read_end;
        int write_end;
    };

    private_directory directory_;
    pipe_of_child output_;
    child program_{[this] {
        dup2(output_.write_end, STDOUT_FILENO);
        close(output_.write_end);
        close(output_.read_end);
        const std::string socket = directory_.socket();
        execl(IRPVERBSD, IRPVERBSD, "--socket", socket.c_str(), nullptr);
        _exit(127);
    }};
};

bench::duels all_duels(const bench::meeting& with, const std::string& hca) {
    bench::duels all;
    bench::add_limits(all, with);
    bench::add_ours(all, with, hca.c_str());
    bench::add_ucx(all, with);
    return all;
}

/// A request of the first process to the second.
struct order {
    std::size_t which;
    std::uint64_t operations; // 0: it ends
};

// Each step of a sample is a message, so that the second process sleeps in between.
void serve(const bench::meeting& with, const std::string& hca) {
    const bench::duels all = all_duels(with, hca);
    for (;;) {
        const auto next = with.receive_value<order>();
        if (next.operations == 0) return;
        bench::duel& what = *all.at(next.which).what;
        what.prepare();
        with.exchange(0);
        what.second(next.operations);
        with.exchange(0);
    }
}

void fight(const bench::meeting& with, const bench::duels& all, std::size_t which,
           bench::run& sample) {
    const std::uint64_t operations = sample.in_batches_of(16);
    const order wanted{which, operations};
    with.words.consumed.store(0);
    with.send(&wanted, sizeof(wanted));
    all[which].what->prepare();
    with.exchange(0);
    sample.start();
    all[which].what->first(operations);
    sample.stop();
    with.exchange(0);
    usleep(200); // until the daemon sleeps
}

bench::catalog catalog_of(const bench::meeting& with, const bench::duels& all) {
    bench::catalog made;
    for (std::size_t i = 0; i < all.size(); ++i)
        made.add(
            all[i].name, all[i].text,
            [&with, &all, i](bench::run& sample) { fight(with, all, i, sample); },
            bench::threads::two);
    return made;
}

int measure(const bench::options& given, const bench::meeting& with, const std::string& hca) {
    const bench::duels duels = all_duels(with, hca);
    const bench::catalog all = catalog_of(with, duels);
    const auto wanted = bench::chosen(all, given);
    if (wanted.empty()) return 2;
    return bench::measure_and_judge(wanted, given, bench::process_bars);
}

bench::shared_words& shared_words() {
    void* const place = mmap(nullptr, sizeof(bench::shared_words), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench::expect(place != MAP_FAILED, "mmap");
    return *new (place) bench::shared_words;
}

int run(const bench::options& given) {
    const daemon_process daemon;
    std::array<int, 2> sockets{};
    bench::expect(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0, "socketpair");
    bench::shared_words& words = shared_words();
    const child second([&] {
        close(sockets[0]);
        serve(bench::meeting(sockets[1], words, false), daemon.uri());
    });
    close(sockets[1]);
    bench::stay_on_processor(processor_of_the_first);
    return measure(given, bench::meeting(sockets[0], words, true), daemon.uri());
}

} // namespace

int main(int count, char** words) { return bench::run_program(count, words, about, run); }
