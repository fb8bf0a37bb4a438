#include "standard.hpp"

#include "format.hpp"

#include <atomic>

#include <dispatch/support/checks.hpp>
#include <dispatch/support/processor.hpp>
#include <irp/support/debug_output.hpp>

#include <windows/wdk/debug.h>
#include <windows/wdk/status_codes.h>

namespace {

std::atomic<bool> output_is_shown{true};

/* The levels that are printed: bit n stands for level n, as in the masks of Windows' components. */
ULONG printed_levels() {
    static const ULONG levels = [] {
        const char* text = std::getenv("IRPVERBS_DBGPRINT");
        return 1u | (text == nullptr ? 0u : static_cast<ULONG>(std::strtoul(text, nullptr, 0)));
    }();
    return levels;
}

bool is_printed(ULONG level) {
    const ULONG mask = level < 32 ? 1u << level : level;
    return (printed_levels() & mask) != 0;
}

ULONG print(const char* prefix, const char* format, va_list arguments) {
    // Printing takes long: what the driver looked at before it may be another's afterwards.
    irpverbs::dispatch::detail::sched_point(irpverbs::dispatch::detail::point::interlocked);
    if (!output_is_shown.load(std::memory_order_relaxed)) return STATUS_SUCCESS;
    const std::string text = prefix + irpverbs::irp::windows::formatted(format, false, arguments);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return STATUS_SUCCESS;
}

[[noreturn]] void stop_at(const char* file, ULONG line, const std::string& what) {
    const std::string text = std::string(file) + ':' + std::to_string(line) + ": " + what;
    irpverbs::dispatch::detail::bug_check(MANUALLY_INITIATED_CRASH, text.c_str(), line);
}

} // namespace

void irpverbs::irp::set_debug_output(bool shown) { output_is_shown = shown; }

extern "C" {

ULONG DbgPrint(const char* Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const ULONG status = print("", Format, arguments);
    va_end(arguments);
    return status;
}

ULONG vDbgPrintExWithPrefix(const char* Prefix, ULONG, ULONG Level, const char* Format,
                            va_list Arguments) {
    return is_printed(Level) ? print(Prefix, Format, Arguments) : ULONG{STATUS_SUCCESS};
}

ULONG vDbgPrintEx(ULONG ComponentId, ULONG Level, const char* Format, va_list Arguments) {
    return vDbgPrintExWithPrefix("", ComponentId, Level, Format, Arguments);
}

ULONG DbgPrintEx(ULONG ComponentId, ULONG Level, const char* Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const ULONG status = vDbgPrintEx(ComponentId, Level, Format, arguments);
    va_end(arguments);
    return status;
}

void IrpverbsBreakPoint(const char* File, ULONG Line) { stop_at(File, Line, "break point"); }

void RtlAssert(PVOID FailedAssertion, PVOID FileName, ULONG LineNumber, PSTR Message) {
    std::string text = "assertion failed: ";
    if (Message != nullptr) text += std::string(Message) + ": ";
    stop_at(static_cast<const char*>(FileName), LineNumber,
            text + static_cast<const char*>(FailedAssertion));
}

} // extern "C"
