#include "command_line.hpp"
#include "engine.hpp"
#include "interruption.hpp"
#include "junit_report.hpp"
#include "report.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/testing/explore.hpp>
#include <irp/verifier.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace irpverbs::conformance {

namespace {

// Attaches the HCA once, to distinguish a missing driver from a wrong one.
NTSTATUS look_for_hca(settings& run) {
    dispatch::asio_machine machine(dispatch::asio_machine::options{.processors = 1});
    const dispatch::machine::scope inside(machine);
    ULONG count = 0;
    std::string message(300, '\0');
    const NTSTATUS status = HcaAttachEx(run.uri.c_str(), &count, message.data(), message.size());
    const char* const why = message[0] != '\0' ? message.c_str() : NtStatusMeaning(status);
    if (status == STATUS_SUCCESS) HcaDetach(run.uri.c_str());
    if (status != STATUS_SUCCESS)
        run.missing = why;
    else if (count == 0)
        run.missing = "there is no HCA behind " + run.uri;
    return status;
}

void start_google_test(char* program, const program_options& chosen, const junit_report& junit) {
    int count = 1;
    char* arguments[] = {program, nullptr};
    if (!junit.output().empty()) ::testing::GTEST_FLAG(output) = junit.output();
    ::testing::InitGoogleTest(&count, arguments);
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    std::string subject = chosen.run.uri;
    if (chosen.run.variant.Name != nullptr)
        subject += std::string(" (") + chosen.run.variant.Name + ')';
    listeners.Append(new report(std::move(subject)));
}

// Writes all output; false if a write failed.
bool results_written(junit_report& junit) {
    bool written = true;
    try {
        junit.write();
    } catch (const std::system_error& problem) {
        complain(1, std::string("--junit: ") + problem.what());
        written = false;
    }
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return written;
    complain(1, std::string("standard output: ") + std::strerror(errno));
    return false;
}

int run_cases(char* program, const program_options& chosen, junit_report& junit) {
    start_google_test(program, chosen, junit);
    register_cases(chosen.run);
    catch_interruptions();
    const bool good = RUN_ALL_TESTS() == 0;
    const bool written = results_written(junit);
    if (interruption() != 0) return 128 + interruption();
    return good && written ? 0 : 1;
}

// A campaign without runs reads its settings from the environment, as those of the cases do.
void check_environment() {
    dispatch::explore_options none;
    none.random_runs = none.pct_runs = 0;
    dispatch::explore(none, [](dispatch::sim_machine&) {});
}

int run_suite(char* program, program_options& chosen) {
    try {
        check_environment();
    } catch (const std::invalid_argument& wrong) {
        return complain(2, wrong.what());
    }
    const NTSTATUS found = look_for_hca(chosen.run);
    if (!chosen.run.missing.empty()) {
        complain(0, chosen.run.missing);
        const bool is_missing = found == STATUS_SUCCESS || found == STATUS_NO_SUCH_DEVICE;
        const bool is_mistyped = found != STATUS_SUCCESS && chosen.run.adapter.Scheme == nullptr;
        if (!is_missing || is_mistyped) return 2;
        if (chosen.require_hca) return 1;
    }
    if (!NT_SUCCESS(VerifierConfigure("default"))) return 2;
    try {
        junit_report junit(chosen.junit);
        return run_cases(program, chosen, junit);
    } catch (const std::system_error& problem) {
        return complain(2, std::string("--junit: ") + problem.what());
    }
}

} // namespace
} // namespace irpverbs::conformance

int ConformanceMain(int argc, char** argv, const CONFORMANCE_ADAPTER* Adapters, ULONG Count) {
    using namespace irpverbs::conformance;
    int status = 0;
    std::optional<program_options> chosen =
        read_command_line(argc, argv, std::span(Adapters, Count), status);
    if (!chosen) return status;
    if (chosen->list) {
        std::fputs(list_of_cases(chosen->markdown).c_str(), stdout);
        return 0;
    }
    return run_suite(argv[0], *chosen);
}
