#include "command_line.hpp"
#include "engine.hpp"
#include "report.hpp"

#include <dispatch/machine.hpp>
#include <irp/verifier.h>

#include <gtest/gtest.h>

#include <cstdio>

namespace irpverbs::conformance {

namespace {

// Attached once, to tell a driver that is not there from one that is wrong.
NTSTATUS look_for_hca(settings& run) {
    dispatch::asio_machine machine(dispatch::asio_machine::options{.processors = 1});
    const dispatch::machine::scope inside(machine);
    ULONG count = 0;
    std::string message(300, '\0');
    const NTSTATUS status =
        HcaAttachTelling(run.uri.c_str(), &count, message.data(), message.size());
    const char* const why = message[0] != '\0' ? message.c_str() : NtStatusMeaning(status);
    if (status == STATUS_SUCCESS) HcaDetach(run.uri.c_str());
    if (status != STATUS_SUCCESS)
        run.missing = why;
    else if (count == 0)
        run.missing = "there is no HCA behind " + run.uri;
    return status;
}

void start_google_test(char* program, const invocation& chosen) {
    int count = 1;
    char* arguments[] = {program, nullptr};
    if (!chosen.junit.empty()) ::testing::GTEST_FLAG(output) = "xml:" + chosen.junit;
    ::testing::InitGoogleTest(&count, arguments);
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    std::string subject = chosen.run.uri;
    if (chosen.run.variant.Name != nullptr)
        subject += std::string(" (") + chosen.run.variant.Name + ')';
    listeners.Append(new report(std::move(subject)));
}

int run_suite(char* program, invocation& chosen) {
    const NTSTATUS found = look_for_hca(chosen.run);
    if (!chosen.run.missing.empty()) {
        std::fprintf(stderr, "%s\n", chosen.run.missing.c_str());
        if (found != STATUS_SUCCESS && found != STATUS_NO_SUCH_DEVICE) return 2;
        if (chosen.require_hca) return 1;
    }
    if (!NT_SUCCESS(VerifierConfigure("default"))) return 2;
    start_google_test(program, chosen);
    register_cases(chosen.run);
    return RUN_ALL_TESTS() == 0 ? 0 : 1;
}

} // namespace
} // namespace irpverbs::conformance

int ConformanceMain(int argc, char** argv, const CONFORMANCE_ADAPTER* Adapters, ULONG Count) {
    using namespace irpverbs::conformance;
    int status = 0;
    std::optional<invocation> chosen =
        read_command_line(argc, argv, std::span(Adapters, Count), status);
    if (!chosen) return status;
    if (chosen->list) {
        std::fputs(list_of_cases(chosen->markdown).c_str(), stdout);
        return 0;
    }
    return run_suite(argv[0], *chosen);
}
