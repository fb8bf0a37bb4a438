/* Types of user mode's headers. */
#ifndef IRPVERBS_WINDOWS_WINDEF_H_UMBRELLA
#define IRPVERBS_WINDOWS_WINDEF_H_UMBRELLA
/* Sources test whether it is defined. */
#define _WINDEF_

#include <windows/wdk/win_types.h>

#endif
