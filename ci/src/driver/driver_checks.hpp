// Checks of values that a driver passes to the common half. A wrong value is an error of the driver
// and stops the system: bug check DRIVER_VERIFIER_DETECTED_VIOLATION with a text that names the
// device.
#pragma once

#include "objects/hca_device.hpp"

namespace irpverbs::ci {

/// Parameter 1 of that bug check; parameter 2 is the device, parameter 3 the wrong value.
enum class driver_mistake : ULONG { port = 0x000C1001, event, information };

/// Checks that `port` is one of the device.
void check_reported_port(const hca_device& device, const char* function, UCHAR port);

/// Checks that `event` is one of [first, last].
void check_reported_event(const hca_device& device, const char* function, ULONG event,
                          IB_ASYNC_EVENT first, IB_ASYNC_EVENT last);

/// Checks that the driver filled at most `room` bytes or entries of the verb's buffer.
void check_returned(const hca_device& device, const char* verb, ULONG_PTR information,
                    ULONG_PTR room);

} // namespace irpverbs::ci
