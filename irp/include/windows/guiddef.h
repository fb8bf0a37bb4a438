/* GUIDs. */

#include <windows/wdk/guid.h>
