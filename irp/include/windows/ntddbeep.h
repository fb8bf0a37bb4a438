/* The speaker's driver. Source: WDK ntddbeep.h reference. */
#ifndef IRPVERBS_WINDOWS_NTDDBEEP_H
#define IRPVERBS_WINDOWS_NTDDBEEP_H

#include <windows/wdk/device_types.h>
#include <windows/wdk/wide_text.h>

#define DD_BEEP_DEVICE_NAME "\\Device\\Beep"
#define DD_BEEP_DEVICE_NAME_U L"\\Device\\Beep"
#define IOCTL_BEEP_SET CTL_CODE(FILE_DEVICE_BEEP, 0, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define BEEP_FREQUENCY_MINIMUM 0x25
#define BEEP_FREQUENCY_MAXIMUM 0x7FFF

typedef struct _BEEP_SET_PARAMETERS {
    ULONG Frequency; /* Hz */
    ULONG Duration;  /* ms */
} BEEP_SET_PARAMETERS, *PBEEP_SET_PARAMETERS;

#endif
