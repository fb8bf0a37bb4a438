// irpverbs-drive: tests a driver in a shared object under many schedules. docs/test-your-driver.md.
#include "driver_module.hpp"
#include "replay_mark.hpp"
#include "report.hpp"
#include "script.hpp"
#include "user_mode.hpp"

#include <dispatch/testing/explore.hpp>
#include <irp/support/debug_output.hpp>
#include <irp/testing/explore.hpp>
#include <irp/wdm.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace {

namespace dispatch = irpverbs::dispatch;

constexpr int failed = 1;
constexpr int usage = 2;

struct options {
    std::string driver;
    std::string script;
    std::uint32_t seconds = 5;
    bool by_numbers = false; // instead of `seconds`
    std::uint64_t random_runs = 0;
    std::uint64_t pct_runs = 0;
    std::uint64_t exhaustive_runs = 0;
    std::string verifier = "default";
    bool faults = false;
    bool one_process = false;
    std::string replay;
    std::string format = "text";
    std::string output;

    drive::format form() const {
        return format == "json"    ? drive::format::json
               : format == "junit" ? drive::format::junit
                                   : drive::format::text;
    }
};

void parse(CLI::App& app, options& chosen) {
    app.add_option("DRIVER", chosen.driver, "The driver: a shared object with a DriverEntry")
        ->required();
    app.add_option("SCRIPT", chosen.script, "What user mode does")->required();
    CLI::Option* const seconds =
        app.add_option("--seconds", chosen.seconds,
                       "Time for all schedules with 0, 1 and 2 preemptions, then random ones")
            ->check(CLI::Range(1, 1'000'000))
            ->capture_default_str();
    const auto by_number = [&](const char* name, std::uint64_t& runs, const char* what) {
        app.add_option(name, runs, what)->excludes(seconds);
    };
    by_number("--runs", chosen.random_runs, "Instead of --seconds: schedules drawn at random");
    by_number("--pct", chosen.pct_runs,
              "Instead of --seconds: schedules of probabilistic concurrency testing");
    by_number("--exhaustive", chosen.exhaustive_runs,
              "Instead of --seconds: schedules of a search of all, at most");
    app.add_option("--verifier", chosen.verifier, "Checks, as of IRPVERBS_VERIFIER")
        ->capture_default_str();
    app.add_flag("--faults", chosen.faults,
                 "Let allocations and other calls fail by chance. A run in which one failed is not "
                 "held to the script's statuses");
    app.add_option("--replay", chosen.replay, "Run the one schedule of a report's replay line");
    app.add_flag("--one-process", chosen.one_process,
                 "Run in this process, for a debugger: a crash ends it");
    app.add_option("--format", chosen.format, "The form of the report")
        ->check(CLI::IsMember({"text", "json", "junit"}))
        ->capture_default_str();
    app.add_option("--output", chosen.output, "A file for the report (default: standard output)");
    app.footer(
        std::string(drive::script_help) +
        "Exit status: 0 no run failed, 1 a run failed, or there is no driver, 2 wrong usage, or "
        "a wrong script.\n");
}

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) throw drive::script_error(path + ": can't be read");
    return text;
}

/// A line that is written over and over, when stderr is a terminal.
class progress {
public:
    progress() : shown_(isatty(STDERR_FILENO) != 0) {}
    ~progress() {
        if (shown_) std::fputs("\r\033[K", stderr);
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(std::uint64_t runs) const {
        if (shown_)
            std::fprintf(stderr, "\r%llu schedules\033[K", static_cast<unsigned long long>(runs));
    }

private:
    bool shown_;
};

dispatch::explore_options campaign_of(const options& chosen, const progress& line) {
    dispatch::explore_options how;
    how.random_runs = chosen.random_runs;
    how.pct_runs = chosen.pct_runs;
    how.exhaustive_runs = chosen.exhaustive_runs;
    how.budget_ms = chosen.by_numbers ? 0 : chosen.seconds * 1000;
    how.machine.faults = chosen.faults;
    how.own_process = !chosen.one_process;
    how.run_command = "irpverbs-drive " + chosen.driver + ' ' + chosen.script;
    how.progress = [&line](std::uint64_t runs) { line.show(runs); };
    return how;
}

// A report's line may be given whole: "IRPVERBS_STRATEGY=replay:...".
void set_replay(const std::string& line) {
    if (line.empty()) return;
    for (std::size_t from = 0; from < line.size();) {
        const std::size_t end = std::min(line.find(' ', from), line.size());
        const std::string word = line.substr(from, end - from);
        const std::size_t equals = word.find('=');
        if (word.starts_with("IRPVERBS_") && equals != word.npos)
            setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
        else if (!word.empty())
            setenv("IRPVERBS_STRATEGY", word.c_str(), 1);
        from = end + 1;
    }
}

void write(const std::string& text, const std::string& path) {
    std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "w");
    if (file == nullptr) throw std::runtime_error(path + ": can't be written");
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if ((path.empty() ? std::fflush(file) : std::fclose(file)) != 0 || !written)
        throw std::runtime_error("the report can't be written");
}

// A run in this process that ends it prints the line itself, without a mark.
void check_mark(const std::string& mark, bool one_process) {
    if (const char* strategy = std::getenv("IRPVERBS_STRATEGY"))
        setenv("IRPVERBS_STRATEGY", drive::without_mark(strategy, mark, !one_process).c_str(), 1);
}

bool is_replay() {
    const char* const strategy = std::getenv("IRPVERBS_STRATEGY");
    return strategy != nullptr && std::string_view(strategy).starts_with("replay:");
}

/// Counts the runs of this process and its children.
class run_counter {
public:
    run_counter()
        : runs_(mmap(nullptr, sizeof(count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {
        if (runs_ == MAP_FAILED) throw std::bad_alloc();
        new (runs_) count(0);
    }
    ~run_counter() { munmap(runs_, sizeof(count)); }
    run_counter(const run_counter&) = delete;
    run_counter& operator=(const run_counter&) = delete;

    bool is_first() { return static_cast<count*>(runs_)->fetch_add(1) == 0; }

private:
    using count = std::atomic<std::uint64_t>;
    void* runs_;
};

using play_once = std::function<std::optional<std::string>(dispatch::sim_machine&)>;

// Repeats the schedule of the environment or of the failure; only its first run shows what the
// driver prints.
dispatch::explore_summary replay(const dispatch::explore_options& how, const play_once& play) {
    run_counter runs;
    return dispatch::explore(how, [&](dispatch::sim_machine& machine) {
        irpverbs::irp::set_debug_output(runs.is_first());
        return play(machine);
    });
}

// Messages of all runs of a campaign would hide those of the run that failed.
dispatch::explore_summary explore(const dispatch::explore_options& how, const play_once& play) {
    irpverbs::irp::set_debug_output(!how.own_process);
    dispatch::explore_summary found = dispatch::explore(how, play);
    if (!found.failure || !how.own_process) return found;
    set_replay(found.failure->replay);
    dispatch::explore_options again = how;
    again.shrink_budget = 0;
    again.progress = {};
    replay(again, play);
    return found;
}

int drive_it(const options& chosen) {
    const std::string text = contents_of(chosen.script);
    const drive::script script = drive::parse_script(text, chosen.script);
    const std::string mark = drive::mark_of(chosen.driver, text);
    set_replay(chosen.replay);
    check_mark(mark, chosen.one_process);
    const irpverbs::irp::campaign_verifier verified(chosen.verifier +
                                                    (chosen.faults ? ",low_resources" : ""));
    drive::driver_module driver(chosen.driver);
    drive::result found{chosen.driver, chosen.script, {}};
    const play_once play = [&](dispatch::sim_machine& machine) {
        return drive::play(machine, driver, script);
    };
    {
        const progress line;
        const dispatch::explore_options how = campaign_of(chosen, line);
        found.summary = is_replay() ? replay(how, play) : explore(how, play);
    }
    if (found.summary.failure) drive::add_mark(*found.summary.failure, mark);
    write(drive::written_as(chosen.form(), found), chosen.output);
    return found.summary.passed() ? 0 : failed;
}

int complain(int status, const char* text) {
    std::fprintf(stderr, "irpverbs-drive: %s\n", text);
    return status;
}

} // namespace

int main(int argc, char** argv) try {
    CLI::App app("Tests a WDM driver: plays user mode from a script under many schedules, with the "
                 "verifier on, and reports the first failure with the line that repeats it.",
                 "irpverbs-drive");
    app.set_version_flag("--version", "irpverbs-drive " IRPVERBS_VERSION);
    options chosen;
    parse(app, chosen);
    try {
        app.parse(argc, argv);
        for (const char* name : {"--runs", "--pct", "--exhaustive"})
            chosen.by_numbers = chosen.by_numbers || app.count(name) != 0;
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return app.exit(wrong);
        return complain(usage, (std::string(wrong.what()) + "; see irpverbs-drive --help").c_str());
    }
    return drive_it(chosen);
} catch (const drive::script_error& wrong) {
    return complain(usage, wrong.what());
} catch (const std::invalid_argument& wrong) {
    return complain(usage, wrong.what());
} catch (const std::exception& wrong) {
    return complain(failed, wrong.what());
}
