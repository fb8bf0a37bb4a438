/* A client in C: what a driver-style component does with an HCA. */
#ifndef IRPVERBS_CONFORMANCE_C_CLIENT_H
#define IRPVERBS_CONFORMANCE_C_CLIENT_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Line: 0, or where an expectation failed, with the status that was seen. */
typedef struct _CONFORMANCE_C_RESULT {
    int Line;
    NTSTATUS Status;
} CONFORMANCE_C_RESULT;

/* Opens, queries, waits, cancels, closes. IRQL: PASSIVE_LEVEL. */
CONFORMANCE_C_RESULT ConformanceCClient(DEVICE_OBJECT* Fdo);

NT_EXTERN_C_END

#endif
