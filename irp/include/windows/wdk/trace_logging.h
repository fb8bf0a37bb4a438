/* TraceLogging: providers that describe themselves. Every event is compiled away. Source: WDK
   TraceLoggingProvider.h reference. */
#ifndef IRPVERBS_WINDOWS_TRACE_LOGGING_H
#define IRPVERBS_WINDOWS_TRACE_LOGGING_H

#include <windows/wdk/wmi.h>

typedef const struct _TlgProvider* TraceLoggingHProvider;
#define TRACELOGGING_DECLARE_PROVIDER(name) extern const TraceLoggingHProvider name
#define TRACELOGGING_DEFINE_PROVIDER(name, ...) const TraceLoggingHProvider name = NULL
#define TraceLoggingRegister(provider) ((NTSTATUS)((void)(provider), 0))
#define TraceLoggingRegisterEx(provider, callback, context) ((NTSTATUS)((void)(provider), 0))
#define TraceLoggingUnregister(provider) ((void)(provider))
#define TraceLoggingProviderEnabled(provider, level, keyword) ((void)(provider), FALSE)
#define TraceLoggingWrite(...) ((void)0)
#define TraceLoggingWriteActivity(...) ((void)0)
#define TraceLoggingWriteStart(...) ((void)0)
#define TraceLoggingWriteStop(...) ((void)0)
#define TraceLoggingOptionMicrosoftTelemetry()
#define TelemetryPrivacyDataTag(tag)
#define MICROSOFT_KEYWORD_CRITICAL_DATA 0x0000800000000000
#define MICROSOFT_KEYWORD_MEASURES 0x0000400000000000
#define MICROSOFT_KEYWORD_TELEMETRY 0x0000200000000000

#endif
