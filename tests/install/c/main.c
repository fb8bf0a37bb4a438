#include <irp/wdm.h>

int main(void) {
    KEVENT event;
    PIRP irp;

    KeInitializeEvent(&event, NotificationEvent, FALSE);
    KeSetEvent(&event, IO_NO_INCREMENT, FALSE);
    if (!KeReadStateEvent(&event)) return 1;

    irp = IoAllocateIrp(2, FALSE);
    if (!irp) return 2;
    IoFreeIrp(irp);
    return 0;
}
