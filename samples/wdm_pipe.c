/* The user of a WDM driver, which is drive/pipe.c: loads it, reads, writes, counts the writes by a
   control code, cancels a read, and unloads it. */
#include "drive/pipe.h"

#include <irp/file.h>
#include <irp/testing/driver.h>

#include <stdio.h>
#include <string.h>

static WCHAR Path[] = u"\\Device\\Pipe";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};

int main(void) {
    static char sent[] = "hello", received[16];
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK done, reading;
    LARGE_INTEGER start = {{0, 0}};
    PDRIVER_OBJECT driver;
    ULONG count = 0;
    HANDLE file;

    InitializeObjectAttributes(&attributes, &Name, OBJ_CASE_INSENSITIVE, NULL, NULL);
    if (!NT_SUCCESS(IrpLoadDriver(DriverEntry, &Name, &driver)) ||
        !NT_SUCCESS(NtOpenFile(&file, GENERIC_READ | GENERIC_WRITE, &attributes, &done, 0, 0)))
        return 1;
    NtReadFile(file, NULL, NULL, NULL, &reading, received, sizeof received, &start, NULL);
    NtWriteFile(file, NULL, NULL, NULL, &done, sent, sizeof sent, &start, NULL);
    NtDeviceIoControlFile(file, NULL, NULL, NULL, &done, IOCTL_COUNT, NULL, 0, &count, 4);
    printf("read \"%s\", writes: %lu\n", received, (unsigned long)count);

    NtReadFile(file, NULL, NULL, NULL, &reading, received, sizeof received, &start, NULL);
    NtCancelIoFileEx(file, &reading, &done);
    printf("read again: %s\n", NtStatusName(reading.Status));
    NtClose(file);
    return strcmp(received, sent) != 0 || count != 1 || reading.Status != STATUS_CANCELLED ||
           !NT_SUCCESS(IrpUnloadDriver(driver));
}
