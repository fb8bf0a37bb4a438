/* All that wdm.h and ntddk.h give a driver. */
#ifndef IRPVERBS_WINDOWS_WDM_H
#define IRPVERBS_WINDOWS_WDM_H

#include <irp/wdm.h>
#include <windows/wdk/bug_codes.h>
#include <windows/wdk/debug.h>
#include <windows/wdk/device_types.h>
#include <windows/wdk/exceptions.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/fast_io.h>
#include <windows/wdk/files.h>
#include <windows/wdk/function_types.h>
#include <windows/wdk/guid.h>
#include <windows/wdk/io.h>
#include <windows/wdk/kernel.h>
#include <windows/wdk/memory.h>
#include <windows/wdk/objects.h>
#include <windows/wdk/pci.h>
#include <windows/wdk/pnp.h>
#include <windows/wdk/power.h>
#include <windows/wdk/processes.h>
#include <windows/wdk/registers.h>
#include <windows/wdk/registry.h>
#include <windows/wdk/resources.h>
#include <windows/wdk/rtl.h>
#include <windows/wdk/security.h>
#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>
#include <windows/wdk/types.h>
#include <windows/wdk/virtual_memory.h>
#include <windows/wdk/wide_text.h>
#include <windows/wdk/wmi.h>

#endif
