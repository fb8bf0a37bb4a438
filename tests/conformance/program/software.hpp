// The adapter that makes things happen to the software HCA.
#pragma once

#include <conformance/conformance.h>

extern const CONFORMANCE_ADAPTER software_adapter;
