/* GUIDs are defined by what is included after this. */
#define INITGUID
#include <windows/wdk/guid.h>
