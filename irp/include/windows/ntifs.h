/* File systems. */
#ifndef IRPVERBS_WINDOWS_NTIFS_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTIFS_H_UMBRELLA
/* Sources test whether it is defined. */
#define _NTIFS_

#include <windows/wdk/file_systems.h>
#include <windows/wdk/wdm.h>

#endif
