// System threads by their handles.
#pragma once

#include <dispatch/ke.h>

#include <gtest/gtest.h>

namespace irpverbs::testing {

/// The thread, with a reference for the caller.
inline PKTHREAD thread_of(HANDLE handle) {
    PVOID thread = nullptr;
    EXPECT_EQ(ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &thread, nullptr),
              STATUS_SUCCESS);
    return static_cast<PKTHREAD>(thread);
}

inline void wait_for_thread(HANDLE handle) {
    PKTHREAD thread = thread_of(handle);
    KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, nullptr);
    ObDereferenceObject(thread);
}

} // namespace irpverbs::testing
