/* GUIDs of WDM. */

#include <windows/wdk/wdm_guids.h>
