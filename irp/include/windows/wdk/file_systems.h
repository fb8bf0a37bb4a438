/* Placeholder of the file systems' interface: the drivers' one, so far. */
#ifndef IRPVERBS_WINDOWS_FILE_SYSTEMS_H
#define IRPVERBS_WINDOWS_FILE_SYSTEMS_H

#include <windows/wdk/wdm.h>

#endif
