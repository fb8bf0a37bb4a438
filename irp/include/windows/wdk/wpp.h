/* Software tracing by WPP. Windows' build generates a file x.tmh for each source x.c; here an x.tmh
   that includes this header serves: messages are compiled away. Trace functions of the source's own
   (begin_wpp config) are defined in x.tmh as WPP_NO_TRACE. */
#ifndef IRPVERBS_WINDOWS_WPP_H
#define IRPVERBS_WINDOWS_WPP_H

#define WPP_NO_TRACE ((void)0)
#ifndef WPP_INIT_TRACING
#define WPP_INIT_TRACING(...) WPP_NO_TRACE
#define WPP_CLEANUP(...) WPP_NO_TRACE
#define WPP_SYSTEMCONTROL(...) WPP_NO_TRACE
#define WPP_SYSTEMCONTROL2(...) WPP_NO_TRACE
#define WPP_CONTROL(index)                                                                         \
    (*(struct {                                                                                    \
        UCHAR Level;                                                                               \
        ULONG Flags[1];                                                                            \
    }*)NULL)
#define WPP_RECORDER_INITIALIZE_PARAMS(...) WPP_NO_TRACE
#endif
#ifndef DoTraceMessage
#define DoTraceMessage(...) WPP_NO_TRACE
#endif
#ifndef TraceEvents
#define TraceEvents(...) WPP_NO_TRACE
#endif
#ifndef DoTraceLevelMessage
#define DoTraceLevelMessage(...) WPP_NO_TRACE
#endif

#endif
