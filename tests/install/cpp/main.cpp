#include <dispatch/machine.hpp>
#include <irp/wdm.h>

int main() {
    PIRP irp = IoAllocateIrp(1, FALSE);
    if (!irp) return 1;
    IoFreeIrp(irp);
    return 0;
}
