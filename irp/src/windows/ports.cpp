// Ports and registers of devices. No device is at a port: reads give all ones, as of a bus that no
// device drives, and writes are lost. Registers are memory.
#include "standard.hpp"

#include <windows/wdk/registers.h>

namespace {

template <class Unit>
void read_nothing(Unit* buffer, ULONG count) {
    std::fill_n(buffer, count, static_cast<Unit>(~Unit{0}));
}

template <class Unit>
void copy_from(volatile Unit* place, Unit* buffer, ULONG count) {
    for (ULONG i = 0; i < count; ++i)
        buffer[i] = place[i];
}

template <class Unit>
void copy_to(volatile Unit* place, const Unit* buffer, ULONG count) {
    for (ULONG i = 0; i < count; ++i)
        place[i] = buffer[i];
}

} // namespace

extern "C" {

UCHAR READ_PORT_UCHAR(PUCHAR) { return 0xff; }
USHORT READ_PORT_USHORT(PUSHORT) { return 0xffff; }
ULONG READ_PORT_ULONG(PULONG) { return 0xffffffff; }
void WRITE_PORT_UCHAR(PUCHAR, UCHAR) {}
void WRITE_PORT_USHORT(PUSHORT, USHORT) {}
void WRITE_PORT_ULONG(PULONG, ULONG) {}

void READ_PORT_BUFFER_UCHAR(PUCHAR, PUCHAR Buffer, ULONG Count) { read_nothing(Buffer, Count); }
void READ_PORT_BUFFER_USHORT(PUSHORT, PUSHORT Buffer, ULONG Count) { read_nothing(Buffer, Count); }
void READ_PORT_BUFFER_ULONG(PULONG, PULONG Buffer, ULONG Count) { read_nothing(Buffer, Count); }
void WRITE_PORT_BUFFER_UCHAR(PUCHAR, PUCHAR, ULONG) {}
void WRITE_PORT_BUFFER_USHORT(PUSHORT, PUSHORT, ULONG) {}
void WRITE_PORT_BUFFER_ULONG(PULONG, PULONG, ULONG) {}

void READ_REGISTER_BUFFER_UCHAR(PUCHAR Register, PUCHAR Buffer, ULONG Count) {
    copy_from(Register, Buffer, Count);
}
void READ_REGISTER_BUFFER_USHORT(PUSHORT Register, PUSHORT Buffer, ULONG Count) {
    copy_from(Register, Buffer, Count);
}
void READ_REGISTER_BUFFER_ULONG(PULONG Register, PULONG Buffer, ULONG Count) {
    copy_from(Register, Buffer, Count);
}
void WRITE_REGISTER_BUFFER_UCHAR(PUCHAR Register, PUCHAR Buffer, ULONG Count) {
    copy_to(Register, Buffer, Count);
}
void WRITE_REGISTER_BUFFER_USHORT(PUSHORT Register, PUSHORT Buffer, ULONG Count) {
    copy_to(Register, Buffer, Count);
}
void WRITE_REGISTER_BUFFER_ULONG(PULONG Register, PULONG Buffer, ULONG Count) {
    copy_to(Register, Buffer, Count);
}

} // extern "C"
