#include "standard.hpp"

#include "irql_rules.hpp"

#include <irp/support/user_memory.hpp>
#include <windows/wdk/bug_codes.h>
#include <windows/wdk/exceptions.h>
#include <windows/wdk/status_codes.h>

namespace {

void probe(const volatile void* address, SIZE_T length, ULONG alignment) {
    const auto first = reinterpret_cast<ULONG_PTR>(address);
    if (length == 0) return;
    if (alignment != 0 && first % alignment != 0) ExRaiseDatatypeMisalignment();
    if (first + length < first) ExRaiseAccessViolation();
    irpverbs::irp::verify::user_memory_probed(address, length);
}

} // namespace

extern "C" {

void ExRaiseStatus(NTSTATUS Status) {
    KeBugCheckEx(KMODE_EXCEPTION_NOT_HANDLED, static_cast<ULONG>(Status), 0, 0, 0);
}
void ExRaiseAccessViolation(void) { ExRaiseStatus(STATUS_ACCESS_VIOLATION); }
void ExRaiseDatatypeMisalignment(void) { ExRaiseStatus(STATUS_DATATYPE_MISALIGNMENT); }
void RtlRaiseException(PEXCEPTION_RECORD ExceptionRecord) {
    ExRaiseStatus(ExceptionRecord->ExceptionCode);
}
LONG ExSystemExceptionFilter(void) { return EXCEPTION_EXECUTE_HANDLER; }
void ProbeForRead(const volatile VOID* Address, SIZE_T Length, ULONG Alignment) {
    VERIFY_IRQL(ProbeForRead);
    probe(Address, Length, Alignment);
}
void ProbeForWrite(volatile VOID* Address, SIZE_T Length, ULONG Alignment) {
    VERIFY_IRQL(ProbeForWrite);
    probe(Address, Length, Alignment);
}

} // extern "C"
