#include "command_line.hpp"

#include "engine.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>

namespace irpverbs::conformance {

namespace {

std::string scheme_of(const std::string& uri) { return uri.substr(0, uri.find(':')); }

CONFORMANCE_ADAPTER adapter_for(const std::string& uri,
                                std::span<const CONFORMANCE_ADAPTER> adapters) {
    for (const CONFORMANCE_ADAPTER& each : adapters)
        if (each.Scheme == scheme_of(uri)) return each;
    return {};
}

// Returns the named variant, or the first one without a name.
CONFORMANCE_VARIANT variant_of(const CONFORMANCE_ADAPTER& adapter, const std::string& name) {
    std::string names;
    for (const CONFORMANCE_VARIANT& each : std::span(adapter.Variants, adapter.VariantCount)) {
        if (name.empty() || each.Name == name) return each;
        names += std::string(names.empty() ? "" : ", ") + each.Name;
    }
    if (name.empty()) return {};
    throw CLI::ValidationError(
        "--variant", "there is no '" + name + "'; there are: " + (names.empty() ? "none" : names));
}

// Rejects a pattern that matches no case, since a run without cases would always pass.
void check_patterns(const char* option, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        bool found = false;
        for (const test_case* each : all_cases())
            found = found || matches({pattern}, each->name);
        if (!found) throw CLI::ValidationError(option, "no case is called '" + pattern + "'");
    }
}

void declare(CLI::App& app, program_options& read, std::string& variant, std::string& machine) {
    app.add_option("--hca", read.run.uri, "URI of the HCAs; the first of them is tested")
        ->capture_default_str();
    app.add_option("--variant", variant, "the way in which the driver is run");
    app.add_option("--machine", machine,
                   "what it runs on; HCAs outside of the process only on a real one")
        ->check(CLI::IsMember({"real", "simulated", "both"}))
        ->capture_default_str();
    app.add_option(
           "--seeds", read.run.seeds,
           "schedules of a race on the simulated machine, by each of three strategies, and a "
           "32nd of the sizes of a large buffer")
        ->check(CLI::Range(1, 1'000'000'000))
        ->capture_default_str();
    app.add_option("--filter", read.run.filters, "shell patterns of the cases to run");
    app.add_option("--require", read.run.required,
                   "shell patterns of cases that fail when they are skipped");
    app.add_flag("--require-hca", read.require_hca, "fail when there is no HCA, do not skip");
    app.add_option("--junit", read.junit, "write a JUnit XML report to this file")
        ->check([](const std::string& path) {
            return path.empty() ? std::string("the name of a file was expected") : std::string();
        });
    app.add_flag("--list", read.list, "list the cases, and the sentence that each proves");
    app.add_flag("--markdown", read.markdown, "with --list: as a table");
    app.footer(
        "Exit status: 0 when no case failed, 1 when one did or the results could not be "
        "written, 2 for a\nwrong command line or URI, 128 and the signal's number when it was "
        "interrupted.\nIRPVERBS_STRATEGY, from a failure's replay line, repeats its schedule.");
}

void conclude(const char* program, const std::string& variant, const std::string& machine,
              std::span<const CONFORMANCE_ADAPTER> adapters, program_options& read) {
    settings& run = read.run;
    run.adapter = adapter_for(run.uri, adapters);
    run.variant = variant_of(run.adapter, variant);
    run.real = machine != "simulated";
    if (run.adapter.RealOnly && !run.real)
        throw CLI::ValidationError("--machine", "a simulated machine can't reach " + run.uri);
    run.simulated = machine != "real" && !run.adapter.RealOnly;
    check_patterns("--filter", run.filters);
    check_patterns("--require", run.required);
    run.run_command = std::string(program) + " --hca " + run.uri;
    if (!variant.empty()) run.run_command += " --variant " + variant;
}

} // namespace

int complain(int status, const std::string& line) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, line.c_str());
    return status;
}

std::optional<program_options> read_command_line(int argc, char** argv,
                                                 std::span<const CONFORMANCE_ADAPTER> adapters,
                                                 int& status) {
    CLI::App app("Says of an HCA's driver whether it keeps the contract of the channel interface.");
    app.set_version_flag("--version", "irpverbs-conformance " IRPVERBS_VERSION);
    program_options read;
    if (!adapters.empty()) read.run.uri = std::string(adapters[0].Scheme) + ':';
    std::string variant;
    std::string machine = "both";
    declare(app, read, variant, machine);
    try {
        app.parse(argc, argv);
        conclude(argv[0], variant, machine, adapters, read);
        return read;
    } catch (const CLI::ParseError& wrong) {
        status = wrong.get_exit_code() == 0
                     ? app.exit(wrong)
                     : complain(2, std::string(wrong.what()) + "; see --help");
        return std::nullopt;
    }
}

} // namespace irpverbs::conformance
