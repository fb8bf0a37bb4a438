// Events with a name: one for all who create it, until the last handle is closed.
#include "one_run.hpp"

#include <ntddk.h>

namespace {

using one_run::report_of;

UNICODE_STRING event_name = RTL_CONSTANT_STRING(L"\\BaseNamedObjects\\Changed");

LONG has(HANDLE event) {
    LARGE_INTEGER no_time{};
    return ZwWaitForSingleObject(event, FALSE, &no_time) == STATUS_SUCCESS;
}

TEST(NamedEvent, SecondCreation_OpensTheFirst) {
    EXPECT_EQ(report_of([] {
                  HANDLE first = nullptr;
                  HANDLE second = nullptr;
                  PKEVENT const event = IoCreateNotificationEvent(&event_name, &first);
                  EXPECT_TRUE(has(first)) << "it is created signaled";
                  KeClearEvent(event);
                  EXPECT_EQ(IoCreateNotificationEvent(&event_name, &second), event);
                  EXPECT_FALSE(has(second));
                  KeSetEvent(event, IO_NO_INCREMENT, FALSE);
                  EXPECT_TRUE(has(second) && has(second));
                  ZwClose(first);
                  ZwClose(second);
              }),
              "");
}

TEST(NamedEvent, NameWithoutHandles_IsFree) {
    EXPECT_EQ(report_of([] {
                  for (int i = 0; i < 2; ++i) {
                      HANDLE handle = nullptr;
                      PKEVENT const event = IoCreateSynchronizationEvent(&event_name, &handle);
                      EXPECT_TRUE(has(handle));
                      EXPECT_FALSE(has(handle)) << "a wait takes the signal";
                      EXPECT_EQ(KeReadStateEvent(event), 0);
                      ZwClose(handle);
                  }
              }),
              "");
}

TEST(NamedEvent, FolderThatIsNotThere_GivesNone) {
    EXPECT_EQ(report_of([] {
                  UNICODE_STRING elsewhere = RTL_CONSTANT_STRING(L"\\Nowhere\\Changed");
                  HANDLE handle = nullptr;
                  EXPECT_EQ(IoCreateNotificationEvent(&elsewhere, &handle), nullptr);
              }),
              "");
}

} // namespace
