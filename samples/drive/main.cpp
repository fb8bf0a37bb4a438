// irpverbs-drive: tests a driver in a shared object under many schedules. docs/test-your-driver.md.
#include "driver_module.hpp"
#include "report.hpp"
#include "script.hpp"
#include "user_mode.hpp"

#include <dispatch/testing/explore.hpp>
#include <irp/testing/explore.hpp>
#include <irp/wdm.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

namespace dispatch = irpverbs::dispatch;

constexpr int failed = 1;
constexpr int usage = 2;
constexpr std::uint64_t slice = 500; // runs between two lines of progress

struct options {
    std::string driver;
    std::string script;
    std::uint64_t random_runs = 1000;
    std::uint64_t pct_runs = 1000;
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
    app.add_option("--runs", chosen.random_runs, "Schedules drawn at random")
        ->capture_default_str();
    app.add_option("--pct", chosen.pct_runs, "Schedules of probabilistic concurrency testing")
        ->capture_default_str();
    app.add_option("--exhaustive", chosen.exhaustive_runs,
                   "Schedules of a search of all, at most; 0: no such search")
        ->capture_default_str();
    app.add_option("--verifier", chosen.verifier, "Checks, as of IRPVERBS_VERIFIER")
        ->capture_default_str();
    app.add_flag("--faults", chosen.faults, "Let allocations and other calls fail by chance");
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

class progress {
public:
    explicit progress(std::uint64_t all) : all_(all), shown_(isatty(STDERR_FILENO) != 0) {}
    ~progress() {
        if (shown_) std::fputs("\r\033[K", stderr);
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(std::uint64_t done) const {
        if (shown_)
            std::fprintf(stderr, "\r%llu of %llu schedules\033[K",
                         static_cast<unsigned long long>(done),
                         static_cast<unsigned long long>(all_));
    }

private:
    std::uint64_t all_;
    bool shown_;
};

void add(dispatch::explore_summary::counts& sum, const dispatch::explore_summary::counts& part) {
    sum.runs += part.runs;
    sum.failures += part.failures;
    if (!sum.first_failure) sum.first_failure = part.first_failure;
}

void add(dispatch::explore_summary& sum, dispatch::explore_summary part) {
    add(sum.random, part.random);
    add(sum.pct, part.pct);
    add(sum.exhaustive, part.exhaustive);
    sum.exhausted = sum.exhausted || part.exhausted;
    sum.distinct += part.distinct;
    if (!sum.failure) sum.failure = std::move(part.failure);
}

/// A campaign in slices of some runs, until one fails.
class campaign {
public:
    campaign(const options& chosen, drive::driver_module& driver, const drive::script& script)
        : chosen_(chosen), driver_(driver), script_(script) {}

    dispatch::explore_summary run() {
        if (!chosen_.replay.empty() || std::getenv("IRPVERBS_STRATEGY") != nullptr ||
            std::getenv("IRPVERBS_SEED") != nullptr) {
            explore(chosen_.random_runs, chosen_.pct_runs, chosen_.exhaustive_runs, 0);
            return std::move(sum_);
        }
        const progress line(chosen_.random_runs + chosen_.pct_runs + chosen_.exhaustive_runs);
        for (std::uint64_t seed = 0; seed < chosen_.random_runs && !sum_.failure; seed += slice) {
            line.show(sum_.runs());
            explore(std::min(slice, chosen_.random_runs - seed), 0, 0, seed);
        }
        for (std::uint64_t seed = 0; seed < chosen_.pct_runs && !sum_.failure; seed += slice) {
            line.show(sum_.runs());
            explore(0, std::min(slice, chosen_.pct_runs - seed), 0, seed);
        }
        line.show(sum_.runs());
        if (chosen_.exhaustive_runs != 0 && !sum_.failure)
            explore(0, 0, chosen_.exhaustive_runs, 0);
        return std::move(sum_);
    }

private:
    void explore(std::uint64_t random, std::uint64_t pct, std::uint64_t exhaustive,
                 std::uint64_t first_seed) {
        dispatch::explore_options how;
        how.random_runs = random;
        how.pct_runs = pct;
        how.exhaustive_runs = exhaustive;
        how.first_seed = first_seed;
        how.machine.faults = chosen_.faults;
        how.own_process = !chosen_.one_process;
        how.run_command = "irpverbs-drive " + chosen_.driver + ' ' + chosen_.script;
        add(sum_, dispatch::explore(how, [this](dispatch::sim_machine& machine) {
                return drive::play(machine, driver_, script_);
            }));
    }

    const options& chosen_;
    drive::driver_module& driver_;
    const drive::script& script_;
    dispatch::explore_summary sum_;
};

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

int drive_it(const options& chosen) {
    const drive::script script = drive::parse_script(contents_of(chosen.script), chosen.script);
    set_replay(chosen.replay);
    const irpverbs::irp::campaign_verifier verified(chosen.verifier);
    drive::driver_module driver(chosen.driver);
    drive::result found{chosen.driver, chosen.script, campaign(chosen, driver, script).run()};
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
    options chosen;
    parse(app, chosen);
    try {
        app.parse(argc, argv);
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
