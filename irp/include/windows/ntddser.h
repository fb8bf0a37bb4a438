/* Serial ports. Source: WDK ntddser.h reference. */
#include <windows/wdk/guid.h>

#ifndef IRPVERBS_WINDOWS_NTDDSER_H
#define IRPVERBS_WINDOWS_NTDDSER_H

#include <windows/wdk/device_types.h>

#define IOCTL_SERIAL_SET_BAUD_RATE                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 1, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_QUEUE_SIZE                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 2, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_LINE_CONTROL                                                              \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 3, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_BREAK_ON                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 4, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_BREAK_OFF                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 5, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_IMMEDIATE_CHAR                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 6, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_TIMEOUTS                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 7, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_TIMEOUTS                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 8, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_DTR CTL_CODE(FILE_DEVICE_SERIAL_PORT, 9, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_CLR_DTR CTL_CODE(FILE_DEVICE_SERIAL_PORT, 10, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_RESET_DEVICE                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 11, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_RTS CTL_CODE(FILE_DEVICE_SERIAL_PORT, 12, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_CLR_RTS CTL_CODE(FILE_DEVICE_SERIAL_PORT, 13, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_XOFF                                                                      \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 14, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_XON CTL_CODE(FILE_DEVICE_SERIAL_PORT, 15, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_WAIT_MASK                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 16, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_WAIT_MASK                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 17, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_WAIT_ON_MASK                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 18, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_PURGE CTL_CODE(FILE_DEVICE_SERIAL_PORT, 19, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_BAUD_RATE                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 20, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_LINE_CONTROL                                                              \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 21, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_CHARS                                                                     \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 22, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_CHARS                                                                     \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 23, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_HANDFLOW                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 24, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_HANDFLOW                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 25, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_MODEMSTATUS                                                               \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 26, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_COMMSTATUS                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 27, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_XOFF_COUNTER                                                                  \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 28, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_PROPERTIES                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 29, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_DTRRTS                                                                    \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 30, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_LSRMST_INSERT                                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 31, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_CONFIG_SIZE                                                                   \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 32, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_COMMCONFIG                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 33, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_COMMCONFIG                                                                \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 34, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_STATS                                                                     \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 35, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_CLEAR_STATS                                                                   \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 36, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_GET_MODEM_CONTROL                                                             \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 37, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_MODEM_CONTROL                                                             \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 38, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_FIFO_CONTROL                                                              \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 39, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_SET_INTERVAL_TIMER_RESOLUTION                                                 \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 40, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_INTERNAL_DO_WAIT_WAKE                                                         \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 1, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_INTERNAL_CANCEL_WAIT_WAKE                                                     \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 2, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_INTERNAL_BASIC_SETTINGS                                                       \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 3, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_SERIAL_INTERNAL_RESTORE_SETTINGS                                                     \
    CTL_CODE(FILE_DEVICE_SERIAL_PORT, 4, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_SERENUM_EXPOSE_HARDWARE                                                              \
    CTL_CODE(FILE_DEVICE_SERENUM, 128, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERENUM_REMOVE_HARDWARE                                                              \
    CTL_CODE(FILE_DEVICE_SERENUM, 129, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERENUM_PORT_DESC CTL_CODE(FILE_DEVICE_SERENUM, 130, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_SERENUM_GET_PORT_NAME                                                                \
    CTL_CODE(FILE_DEVICE_SERENUM, 131, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_INTERNAL_SERENUM_REMOVE_SELF                                                         \
    CTL_CODE(FILE_DEVICE_SERENUM, 129, METHOD_NEITHER, FILE_ANY_ACCESS)
#define SERIAL_BAUD_075 0x1
#define SERIAL_BAUD_110 0x2
#define SERIAL_BAUD_134_5 0x4
#define SERIAL_BAUD_150 0x8
#define SERIAL_BAUD_300 0x10
#define SERIAL_BAUD_600 0x20
#define SERIAL_BAUD_1200 0x40
#define SERIAL_BAUD_1800 0x80
#define SERIAL_BAUD_2400 0x100
#define SERIAL_BAUD_4800 0x200
#define SERIAL_BAUD_7200 0x400
#define SERIAL_BAUD_9600 0x800
#define SERIAL_BAUD_14400 0x1000
#define SERIAL_BAUD_19200 0x2000
#define SERIAL_BAUD_38400 0x4000
#define SERIAL_BAUD_56K 0x8000
#define SERIAL_BAUD_128K 0x10000
#define SERIAL_BAUD_115200 0x20000
#define SERIAL_BAUD_57600 0x40000
#define SERIAL_BAUD_USER 0x10000000
#define SERIAL_SP_UNSPECIFIED 0
#define SERIAL_SP_RS232 1
#define SERIAL_SP_PARALLEL 2
#define SERIAL_SP_RS422 3
#define SERIAL_SP_RS423 4
#define SERIAL_SP_RS449 5
#define SERIAL_SP_MODEM 6
#define SERIAL_SP_FAX 0x21
#define SERIAL_SP_SCANNER 0x22
#define SERIAL_SP_BRIDGE 0x100
#define SERIAL_SP_LAT 0x101
#define SERIAL_SP_TELNET 0x102
#define SERIAL_SP_X25 0x103
#define SERIAL_SP_SERIALCOMM 1
#define SERIAL_SP_PARITY 1
#define SERIAL_SP_BAUD 2
#define SERIAL_SP_DATABITS 4
#define SERIAL_SP_STOPBITS 8
#define SERIAL_SP_HANDSHAKING 0x10
#define SERIAL_SP_PARITY_CHECK 0x20
#define SERIAL_SP_CARRIER_DETECT 0x40
#define SERIAL_DATABITS_5 1
#define SERIAL_DATABITS_6 2
#define SERIAL_DATABITS_7 4
#define SERIAL_DATABITS_8 8
#define SERIAL_DATABITS_16 0x10
#define SERIAL_DATABITS_16X 0x20
#define SERIAL_STOPBITS_10 1
#define SERIAL_STOPBITS_15 2
#define SERIAL_STOPBITS_20 4
#define SERIAL_PARITY_NONE 0x100
#define SERIAL_PARITY_ODD 0x200
#define SERIAL_PARITY_EVEN 0x400
#define SERIAL_PARITY_MARK 0x800
#define SERIAL_PARITY_SPACE 0x1000
#define SERIAL_PCF_DTRDSR 1
#define SERIAL_PCF_RTSCTS 2
#define SERIAL_PCF_CD 4
#define SERIAL_PCF_PARITY_CHECK 8
#define SERIAL_PCF_XONXOFF 0x10
#define SERIAL_PCF_SETXCHAR 0x20
#define SERIAL_PCF_TOTALTIMEOUTS 0x40
#define SERIAL_PCF_INTTIMEOUTS 0x80
#define SERIAL_PCF_SPECIALCHARS 0x100
#define SERIAL_PCF_16BITMODE 0x200
#define SERIAL_EV_RXCHAR 1
#define SERIAL_EV_RXFLAG 2
#define SERIAL_EV_TXEMPTY 4
#define SERIAL_EV_CTS 8
#define SERIAL_EV_DSR 0x10
#define SERIAL_EV_RLSD 0x20
#define SERIAL_EV_BREAK 0x40
#define SERIAL_EV_ERR 0x80
#define SERIAL_EV_RING 0x100
#define SERIAL_EV_PERR 0x200
#define SERIAL_EV_RX80FULL 0x400
#define SERIAL_EV_EVENT1 0x800
#define SERIAL_EV_EVENT2 0x1000
#define SERIAL_PURGE_TXABORT 1
#define SERIAL_PURGE_RXABORT 2
#define SERIAL_PURGE_TXCLEAR 4
#define SERIAL_PURGE_RXCLEAR 8
#define SERIAL_TX_WAITING_FOR_CTS 1
#define SERIAL_TX_WAITING_FOR_DSR 2
#define SERIAL_TX_WAITING_FOR_DCD 4
#define SERIAL_TX_WAITING_FOR_XON 8
#define SERIAL_TX_WAITING_XOFF_SENT 0x10
#define SERIAL_TX_WAITING_ON_BREAK 0x20
#define SERIAL_RX_WAITING_FOR_DSR 0x40
#define SERIAL_ERROR_BREAK 1
#define SERIAL_ERROR_FRAMING 2
#define SERIAL_ERROR_OVERRUN 4
#define SERIAL_ERROR_QUEUEOVERRUN 8
#define SERIAL_ERROR_PARITY 0x10
#define SERIAL_DTR_STATE 1
#define SERIAL_RTS_STATE 2
#define SERIAL_CTS_STATE 0x10
#define SERIAL_DSR_STATE 0x20
#define SERIAL_RI_STATE 0x40
#define SERIAL_DCD_STATE 0x80
#define SERIAL_MSR_DCTS 1
#define SERIAL_MSR_DDSR 2
#define SERIAL_MSR_TERI 4
#define SERIAL_MSR_DDCD 8
#define SERIAL_MSR_CTS 0x10
#define SERIAL_MSR_DSR 0x20
#define SERIAL_MSR_RI 0x40
#define SERIAL_MSR_DCD 0x80
#define SERIAL_LSRMST_ESCAPE 0
#define SERIAL_LSRMST_LSR_DATA 1
#define SERIAL_LSRMST_LSR_NODATA 2
#define SERIAL_LSRMST_MST 3
#define SERIAL_DTR_MASK 3
#define SERIAL_DTR_CONTROL 1
#define SERIAL_DTR_HANDSHAKE 2
#define SERIAL_CTS_HANDSHAKE 8
#define SERIAL_DSR_HANDSHAKE 0x10
#define SERIAL_DCD_HANDSHAKE 0x20
#define SERIAL_OUT_HANDSHAKEMASK 0x38
#define SERIAL_DSR_SENSITIVITY 0x40
#define SERIAL_ERROR_ABORT 0x80000000
#define SERIAL_CONTROL_INVALID 0x7fffff84
#define SERIAL_AUTO_TRANSMIT 1
#define SERIAL_AUTO_RECEIVE 2
#define SERIAL_ERROR_CHAR 4
#define SERIAL_NULL_STRIPPING 8
#define SERIAL_BREAK_CHAR 0x10
#define SERIAL_RTS_MASK 0xc0
#define SERIAL_RTS_CONTROL 0x40
#define SERIAL_RTS_HANDSHAKE 0x80
#define SERIAL_TRANSMIT_TOGGLE 0xc0
#define SERIAL_XOFF_CONTINUE 0x80000000
#define SERIAL_FLOW_INVALID 0x7fffff20
#define STOP_BIT_1 0
#define STOP_BITS_1_5 1
#define STOP_BITS_2 2
#define NO_PARITY 0
#define ODD_PARITY 1
#define EVEN_PARITY 2
#define MARK_PARITY 3
#define SPACE_PARITY 4

typedef struct _SERIAL_BAUD_RATE {
    ULONG BaudRate;
} SERIAL_BAUD_RATE, *PSERIAL_BAUD_RATE;
typedef struct _SERIAL_LINE_CONTROL {
    UCHAR StopBits;
    UCHAR Parity;
    UCHAR WordLength;
} SERIAL_LINE_CONTROL, *PSERIAL_LINE_CONTROL;
typedef struct _SERIAL_TIMEOUTS {
    ULONG ReadIntervalTimeout;
    ULONG ReadTotalTimeoutMultiplier;
    ULONG ReadTotalTimeoutConstant;
    ULONG WriteTotalTimeoutMultiplier;
    ULONG WriteTotalTimeoutConstant;
} SERIAL_TIMEOUTS, *PSERIAL_TIMEOUTS;
typedef struct _SERIAL_QUEUE_SIZE {
    ULONG InSize;
    ULONG OutSize;
} SERIAL_QUEUE_SIZE, *PSERIAL_QUEUE_SIZE;
typedef struct _SERIAL_CHARS {
    UCHAR EofChar;
    UCHAR ErrorChar;
    UCHAR BreakChar;
    UCHAR EventChar;
    UCHAR XonChar;
    UCHAR XoffChar;
} SERIAL_CHARS, *PSERIAL_CHARS;
typedef struct _SERIAL_HANDFLOW {
    ULONG ControlHandShake;
    ULONG FlowReplace;
    LONG XonLimit;
    LONG XoffLimit;
} SERIAL_HANDFLOW, *PSERIAL_HANDFLOW;
typedef struct _SERIAL_STATUS {
    ULONG Errors;
    ULONG HoldReasons;
    ULONG AmountInInQueue;
    ULONG AmountInOutQueue;
    BOOLEAN EofReceived;
    BOOLEAN WaitForImmediate;
} SERIAL_STATUS, *PSERIAL_STATUS;
typedef struct _SERIAL_XOFF_COUNTER {
    ULONG Timeout;
    LONG Counter;
    UCHAR XoffChar;
} SERIAL_XOFF_COUNTER, *PSERIAL_XOFF_COUNTER;
typedef struct _SERIAL_COMMPROP {
    USHORT PacketLength;
    USHORT PacketVersion;
    ULONG ServiceMask;
    ULONG Reserved1;
    ULONG MaxTxQueue;
    ULONG MaxRxQueue;
    ULONG MaxBaud;
    ULONG ProvSubType;
    ULONG ProvCapabilities;
    ULONG SettableParams;
    ULONG SettableBaud;
    USHORT SettableData;
    USHORT SettableStopParity;
    ULONG CurrentTxQueue;
    ULONG CurrentRxQueue;
    ULONG ProvSpec1;
    ULONG ProvSpec2;
    WCHAR ProvChar[1];
} SERIAL_COMMPROP, *PSERIAL_COMMPROP;
typedef struct _SERIALPERF_STATS {
    ULONG ReceivedCount;
    ULONG TransmittedCount;
    ULONG FrameErrorCount;
    ULONG SerialOverrunErrorCount;
    ULONG BufferOverrunErrorCount;
    ULONG ParityErrorCount;
} SERIALPERF_STATS, *PSERIALPERF_STATS;
typedef struct _SERIALCONFIG {
    ULONG Size;
    USHORT Version;
    ULONG SubType;
    ULONG ProvOffset;
    ULONG ProviderSize;
    WCHAR ProviderData[1];
} SERIALCONFIG, *PSERIALCONFIG;
typedef struct _SERIAL_BASIC_SETTINGS {
    SERIAL_TIMEOUTS Timeouts;
    SERIAL_HANDFLOW HandFlow;
    ULONG RxFifo;
    ULONG TxFifo;
} SERIAL_BASIC_SETTINGS, *PSERIAL_BASIC_SETTINGS;
typedef enum _SERENUM_PORTION { SerenumFirstHalf, SerenumSecondHalf, SerenumWhole } SERENUM_PORTION;
typedef struct _SERENUM_PORT_DESC {
    ULONG Size;
    PVOID PortHandle;
    PHYSICAL_ADDRESS PortAddress;
    USHORT Reserved[1];
} SERENUM_PORT_DESC, *PSERENUM_PORT_DESC;
typedef UCHAR (*PSERENUM_READPORT)(PVOID SerPortAddress);
typedef void (*PSERENUM_WRITEPORT)(PVOID SerPortAddress, UCHAR Value);
typedef struct _SERENUM_PORT_PARAMETERS {
    ULONG Size;
    PSERENUM_READPORT ReadAccessor;
    PSERENUM_WRITEPORT WriteAccessor;
    PVOID SerPortAddress;
    PVOID HardwareHandle;
    SERENUM_PORTION Portion;
    USHORT NumberAxis;
    USHORT Reserved[3];
} SERENUM_PORT_PARAMETERS, *PSERENUM_PORT_PARAMETERS;

#endif

#ifndef IRPVERBS_WINDOWS_NTDDSER_GUIDS
#ifdef INITGUID
#define IRPVERBS_WINDOWS_NTDDSER_GUIDS
#endif
DEFINE_GUID(GUID_DEVINTERFACE_COMPORT, 0x86e0d1e0, 0x8089, 0x11d0, 0x9c, 0xe4, 0x08, 0x00, 0x3e,
            0x30, 0x1f, 0x73);
DEFINE_GUID(GUID_DEVINTERFACE_SERENUM_BUS_ENUMERATOR, 0x4D36E978, 0xE325, 0x11CE, 0xBF, 0xC1, 0x08,
            0x00, 0x2B, 0xE1, 0x03, 0x18);
#endif
#define GUID_CLASS_COMPORT GUID_DEVINTERFACE_COMPORT
#define GUID_SERENUM_BUS_ENUMERATOR GUID_DEVINTERFACE_SERENUM_BUS_ENUMERATOR
