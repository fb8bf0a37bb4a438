/* Types of user mode's headers. */
#ifndef IRPVERBS_WINDOWS_MINWINDEF_H_UMBRELLA
#define IRPVERBS_WINDOWS_MINWINDEF_H_UMBRELLA
/* Sources test whether it is defined. */
#define _MINWINDEF_

#include <windows/wdk/win_types.h>

#endif
