/* Registers of devices. There are no ports; a mapped register is memory. Source: WDK wdm.h
   reference. */
#ifndef IRPVERBS_WINDOWS_REGISTERS_H
#define IRPVERBS_WINDOWS_REGISTERS_H

#include <windows/wdk/types.h>

#define KeFlushWriteBuffer() ((void)0)
#define READ_REGISTER_UCHAR(r) (*(volatile UCHAR*)(r))
#define READ_REGISTER_USHORT(r) (*(volatile USHORT*)(r))
#define READ_REGISTER_ULONG(r) (*(volatile ULONG*)(r))
#define READ_REGISTER_ULONG64(r) (*(volatile ULONG64*)(r))
#define WRITE_REGISTER_UCHAR(r, v) ((void)(*(volatile UCHAR*)(r) = (v)))
#define WRITE_REGISTER_USHORT(r, v) ((void)(*(volatile USHORT*)(r) = (v)))
#define WRITE_REGISTER_ULONG(r, v) ((void)(*(volatile ULONG*)(r) = (v)))
#define WRITE_REGISTER_ULONG64(r, v) ((void)(*(volatile ULONG64*)(r) = (v)))
NT_EXTERN_C_BEGIN
/* No device is at a port: reads give all ones, writes are lost. IRQL: any. Source: WDK
   READ_PORT_UCHAR. */
NT_API UCHAR READ_PORT_UCHAR(PUCHAR Port);
NT_API USHORT READ_PORT_USHORT(PUSHORT Port);
NT_API ULONG READ_PORT_ULONG(PULONG Port);
NT_API void WRITE_PORT_UCHAR(PUCHAR Port, UCHAR Value);
NT_API void WRITE_PORT_USHORT(PUSHORT Port, USHORT Value);
NT_API void WRITE_PORT_ULONG(PULONG Port, ULONG Value);
NT_API void READ_PORT_BUFFER_UCHAR(PUCHAR Port, PUCHAR Buffer, ULONG Count);
NT_API void READ_PORT_BUFFER_USHORT(PUSHORT Port, PUSHORT Buffer, ULONG Count);
NT_API void READ_PORT_BUFFER_ULONG(PULONG Port, PULONG Buffer, ULONG Count);
NT_API void WRITE_PORT_BUFFER_UCHAR(PUCHAR Port, PUCHAR Buffer, ULONG Count);
NT_API void WRITE_PORT_BUFFER_USHORT(PUSHORT Port, PUSHORT Buffer, ULONG Count);
NT_API void WRITE_PORT_BUFFER_ULONG(PULONG Port, PULONG Buffer, ULONG Count);
NT_API void READ_REGISTER_BUFFER_UCHAR(PUCHAR Register, PUCHAR Buffer, ULONG Count);
NT_API void READ_REGISTER_BUFFER_USHORT(PUSHORT Register, PUSHORT Buffer, ULONG Count);
NT_API void READ_REGISTER_BUFFER_ULONG(PULONG Register, PULONG Buffer, ULONG Count);
NT_API void WRITE_REGISTER_BUFFER_UCHAR(PUCHAR Register, PUCHAR Buffer, ULONG Count);
NT_API void WRITE_REGISTER_BUFFER_USHORT(PUSHORT Register, PUSHORT Buffer, ULONG Count);
NT_API void WRITE_REGISTER_BUFFER_ULONG(PULONG Register, PULONG Buffer, ULONG Count);
NT_EXTERN_C_END

#endif
