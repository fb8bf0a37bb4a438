/* Winsock Kernel. Declarations only: a driver that calls its functions fails to link. Source: WDK
   wsk.h reference. */
#ifndef IRPVERBS_WINDOWS_WSK_H
#define IRPVERBS_WINDOWS_WSK_H

#include <netioddk.h>
#include <windows/wdk/wdm.h>
#include <ws2def.h>

#define WSKAPI
#define MAKE_WSK_VERSION(major, minor) ((USHORT)((major) << 8) | (USHORT)((minor)&0xff))
#define WSK_MAJOR_VERSION(version) ((UCHAR)((version) >> 8))
#define WSK_MINOR_VERSION(version) ((UCHAR)(version))
#define WSK_NO_WAIT 0
#define WSK_INFINITE_WAIT 0xffffffff
#define WSK_FLAG_BASIC_SOCKET 0x00000000
#define WSK_FLAG_LISTEN_SOCKET 0x00000001
#define WSK_FLAG_CONNECTION_SOCKET 0x00000002
#define WSK_FLAG_DATAGRAM_SOCKET 0x00000004
#define WSK_FLAG_STREAM_SOCKET 0x00000008
#define WSK_FLAG_AT_DISPATCH_LEVEL 0x00000008
#define WSK_FLAG_RELEASE_ASAP 0x00000002
#define WSK_FLAG_ENTIRE_MESSAGE 0x00000004
#define WSK_FLAG_ABORTIVE 0x00000001
#define WSK_FLAG_NODELAY 0x00000002
#define WSK_FLAG_WAITALL 0x00000002
#define WSK_FLAG_DRAIN 0x00000004
#define WSK_EVENT_RECEIVE_FROM 0x00000100
#define WSK_EVENT_ACCEPT 0x00000200
#define WSK_EVENT_SEND_BACKLOG 0x00000010
#define WSK_EVENT_RECEIVE 0x00000040
#define WSK_EVENT_DISCONNECT 0x00000080
#define WSK_EVENT_DISABLE 0x80000000
#define WSK_TRANSPORT_LIST_QUERY 2
#define WSK_TRANSPORT_LIST_CHANGE 3
#define WSK_CACHE_SD 4
#define WSK_RELEASE_SD 5
#define WSK_TDI_DEVICENAME_MAPPING 6
#define WSK_SET_STATIC_EVENT_CALLBACKS 7
#define WSK_TDI_BEHAVIOR 8
#define SO_WSK_SECURITY (WSK_SO_BASE + 1)
#define SO_WSK_EVENT_CALLBACK (WSK_SO_BASE + 2)
#define WSK_SO_BASE 0x4000
#define SIO_WSK_SET_REMOTE_ADDRESS _WSAIOW(IOC_WSK, 0x1)
#define SIO_WSK_REGISTER_EXTENSION _WSAIORW(IOC_WSK, 0x2)
#define SIO_WSK_QUERY_IDEAL_SEND_BACKLOG _WSAIOR(IOC_WSK, 0x4)

typedef enum {
    WskInspectReject,
    WskInspectAccept,
    WskInspectPend,
    WskInspectMax
} WSK_INSPECT_ACTION,
    *PWSK_INSPECT_ACTION;
typedef enum { WskSetOption, WskGetOption, WskIoctl, WskControlMax } WSK_CONTROL_SOCKET_TYPE;
typedef struct _WSK_INSPECT_ID {
    ULONG_PTR Key;
    ULONG SerialNumber;
} WSK_INSPECT_ID, *PWSK_INSPECT_ID;
typedef struct _WSK_SOCKET {
    const VOID* Dispatch;
} WSK_SOCKET, *PWSK_SOCKET;
typedef PVOID PWSK_CLIENT;
typedef struct _WSK_BUF {
    PMDL Mdl;
    ULONG Offset;
    SIZE_T Length;
} WSK_BUF, *PWSK_BUF;
typedef struct _WSK_BUF_LIST {
    struct _WSK_BUF_LIST* Next;
    WSK_BUF Buffer;
} WSK_BUF_LIST, *PWSK_BUF_LIST;
typedef struct _WSK_DATA_INDICATION {
    struct _WSK_DATA_INDICATION* Next;
    WSK_BUF Buffer;
} WSK_DATA_INDICATION, *PWSK_DATA_INDICATION;
typedef struct _WSK_DATAGRAM_INDICATION {
    struct _WSK_DATAGRAM_INDICATION* Next;
    WSK_BUF Buffer;
    PCMSGHDR ControlInfo;
    ULONG ControlInfoLength;
    PSOCKADDR RemoteAddress;
} WSK_DATAGRAM_INDICATION, *PWSK_DATAGRAM_INDICATION;
typedef struct _WSK_TRANSPORT {
    USHORT Version;
    USHORT SocketType;
    ULONG Protocol;
    ADDRESS_FAMILY AddressFamily;
    GUID ProviderId;
} WSK_TRANSPORT, *PWSK_TRANSPORT;

/* Events, which the client's routines receive. */
typedef NTSTATUS WSKAPI WSK_CLIENT_EVENT(PVOID ClientContext, ULONG EventType, PVOID Information,
                                         SIZE_T InformationLength);
typedef WSK_CLIENT_EVENT* PFN_WSK_CLIENT_EVENT;
struct _WSK_CLIENT_CONNECTION_DISPATCH;
typedef NTSTATUS
WSK_ACCEPT_EVENT(PVOID SocketContext, ULONG Flags, PSOCKADDR LocalAddress, PSOCKADDR RemoteAddress,
                 PWSK_SOCKET AcceptSocket, PVOID* AcceptSocketContext,
                 const struct _WSK_CLIENT_CONNECTION_DISPATCH** AcceptSocketDispatch);
typedef WSK_ACCEPT_EVENT* PFN_WSK_ACCEPT_EVENT;
typedef WSK_INSPECT_ACTION WSK_INSPECT_EVENT(PVOID SocketContext, PSOCKADDR LocalAddress,
                                             PSOCKADDR RemoteAddress, PWSK_INSPECT_ID InspectID);
typedef WSK_INSPECT_EVENT* PFN_WSK_INSPECT_EVENT;
typedef NTSTATUS WSK_ABORT_EVENT(PVOID SocketContext, PWSK_INSPECT_ID InspectID);
typedef WSK_ABORT_EVENT* PFN_WSK_ABORT_EVENT;
typedef NTSTATUS WSK_RECEIVE_EVENT(PVOID SocketContext, ULONG Flags,
                                   PWSK_DATA_INDICATION DataIndication, SIZE_T BytesIndicated,
                                   SIZE_T* BytesAccepted);
typedef WSK_RECEIVE_EVENT* PFN_WSK_RECEIVE_EVENT;
typedef NTSTATUS WSK_DISCONNECT_EVENT(PVOID SocketContext, ULONG Flags);
typedef WSK_DISCONNECT_EVENT* PFN_WSK_DISCONNECT_EVENT;
typedef NTSTATUS WSK_SEND_BACKLOG_EVENT(PVOID SocketContext, SIZE_T IdealBacklogSize);
typedef WSK_SEND_BACKLOG_EVENT* PFN_WSK_SEND_BACKLOG_EVENT;
typedef NTSTATUS WSK_RECEIVE_FROM_EVENT(PVOID SocketContext, ULONG Flags,
                                        PWSK_DATAGRAM_INDICATION DataIndication);
typedef WSK_RECEIVE_FROM_EVENT* PFN_WSK_RECEIVE_FROM_EVENT;
typedef struct _WSK_CLIENT_DISPATCH {
    USHORT Version;
    USHORT Reserved;
    PFN_WSK_CLIENT_EVENT WskClientEvent;
} WSK_CLIENT_DISPATCH, *PWSK_CLIENT_DISPATCH;
typedef struct _WSK_CLIENT_LISTEN_DISPATCH {
    PFN_WSK_ACCEPT_EVENT WskAcceptEvent;
    PFN_WSK_INSPECT_EVENT WskInspectEvent;
    PFN_WSK_ABORT_EVENT WskAbortEvent;
} WSK_CLIENT_LISTEN_DISPATCH, *PWSK_CLIENT_LISTEN_DISPATCH;
typedef struct _WSK_CLIENT_CONNECTION_DISPATCH {
    PFN_WSK_RECEIVE_EVENT WskReceiveEvent;
    PFN_WSK_DISCONNECT_EVENT WskDisconnectEvent;
    PFN_WSK_SEND_BACKLOG_EVENT WskSendBacklogEvent;
} WSK_CLIENT_CONNECTION_DISPATCH, *PWSK_CLIENT_CONNECTION_DISPATCH;
typedef struct _WSK_CLIENT_DATAGRAM_DISPATCH {
    PFN_WSK_RECEIVE_FROM_EVENT WskReceiveFromEvent;
} WSK_CLIENT_DATAGRAM_DISPATCH, *PWSK_CLIENT_DATAGRAM_DISPATCH;
typedef struct _WSK_CLIENT_STREAM_DISPATCH {
    const WSK_CLIENT_LISTEN_DISPATCH* Listen;
    const WSK_CLIENT_CONNECTION_DISPATCH* Connect;
} WSK_CLIENT_STREAM_DISPATCH, *PWSK_CLIENT_STREAM_DISPATCH;
typedef struct _WSK_EVENT_CALLBACK_CONTROL {
    PNPIID NpiId;
    ULONG EventMask;
} WSK_EVENT_CALLBACK_CONTROL, *PWSK_EVENT_CALLBACK_CONTROL;

/* Functions, which the provider's tables hold. */
typedef NTSTATUS (*PFN_WSK_SOCKET)(PWSK_CLIENT Client, ADDRESS_FAMILY AddressFamily,
                                   USHORT SocketType, ULONG Protocol, ULONG Flags,
                                   PVOID SocketContext, const VOID* Dispatch,
                                   PEPROCESS OwningProcess, PETHREAD OwningThread,
                                   PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_SOCKET_CONNECT)(PWSK_CLIENT Client, USHORT SocketType, ULONG Protocol,
                                           PSOCKADDR LocalAddress, PSOCKADDR RemoteAddress,
                                           ULONG Flags, PVOID SocketContext,
                                           const WSK_CLIENT_CONNECTION_DISPATCH* Dispatch,
                                           PEPROCESS OwningProcess, PETHREAD OwningThread,
                                           PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_CONTROL_CLIENT)(PWSK_CLIENT Client, ULONG ControlCode, SIZE_T InputSize,
                                           PVOID InputBuffer, SIZE_T OutputSize, PVOID OutputBuffer,
                                           SIZE_T* OutputSizeReturned, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_GET_ADDRESS_INFO)(PWSK_CLIENT Client, PUNICODE_STRING NodeName,
                                             PUNICODE_STRING ServiceName, ULONG NameSpace,
                                             GUID* Provider, PADDRINFOEXW Hints,
                                             PADDRINFOEXW* Result, PEPROCESS OwningProcess,
                                             PETHREAD OwningThread, PIRP Irp);
typedef void (*PFN_WSK_FREE_ADDRESS_INFO)(PWSK_CLIENT Client, PADDRINFOEXW AddrInfo);
typedef NTSTATUS (*PFN_WSK_GET_NAME_INFO)(PWSK_CLIENT Client, PSOCKADDR SockAddr,
                                          ULONG SockAddrLength, PUNICODE_STRING NodeName,
                                          PUNICODE_STRING ServiceName, ULONG Flags,
                                          PEPROCESS OwningProcess, PETHREAD OwningThread, PIRP Irp);
typedef struct _WSK_PROVIDER_DISPATCH {
    USHORT Version;
    USHORT Reserved;
    PFN_WSK_SOCKET WskSocket;
    PFN_WSK_SOCKET_CONNECT WskSocketConnect;
    PFN_WSK_CONTROL_CLIENT WskControlClient;
    PFN_WSK_GET_ADDRESS_INFO WskGetAddressInfo;
    PFN_WSK_FREE_ADDRESS_INFO WskFreeAddressInfo;
    PFN_WSK_GET_NAME_INFO WskGetNameInfo;
} WSK_PROVIDER_DISPATCH, *PWSK_PROVIDER_DISPATCH;
typedef NTSTATUS (*PFN_WSK_CONTROL_SOCKET)(PWSK_SOCKET Socket, WSK_CONTROL_SOCKET_TYPE RequestType,
                                           ULONG ControlCode, ULONG Level, SIZE_T InputSize,
                                           PVOID InputBuffer, SIZE_T OutputSize, PVOID OutputBuffer,
                                           SIZE_T* OutputSizeReturned, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_CLOSE_SOCKET)(PWSK_SOCKET Socket, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_BIND)(PWSK_SOCKET Socket, PSOCKADDR LocalAddress, ULONG Flags, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_ACCEPT)(PWSK_SOCKET ListenSocket, ULONG Flags, PVOID AcceptSocketContext,
                                   const WSK_CLIENT_CONNECTION_DISPATCH* AcceptSocketDispatch,
                                   PSOCKADDR LocalAddress, PSOCKADDR RemoteAddress, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_INSPECT_COMPLETE)(PWSK_SOCKET ListenSocket, PWSK_INSPECT_ID InspectID,
                                             WSK_INSPECT_ACTION Action, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_GET_LOCAL_ADDRESS)(PWSK_SOCKET Socket, PSOCKADDR LocalAddress, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_GET_REMOTE_ADDRESS)(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress,
                                               PIRP Irp);
typedef NTSTATUS (*PFN_WSK_CONNECT)(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, ULONG Flags,
                                    PIRP Irp);
typedef NTSTATUS (*PFN_WSK_SEND)(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_RECEIVE)(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_DISCONNECT)(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_RELEASE_DATA_INDICATION_LIST)(PWSK_SOCKET Socket,
                                                         PWSK_DATA_INDICATION DataIndication);
typedef NTSTATUS (*PFN_WSK_SEND_TO)(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags,
                                    PSOCKADDR RemoteAddress, ULONG ControlInfoLength,
                                    PCMSGHDR ControlInfo, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_RECEIVE_FROM)(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags,
                                         PSOCKADDR RemoteAddress, PULONG ControlInfoLength,
                                         PCMSGHDR ControlInfo, PULONG ControlFlags, PIRP Irp);
typedef NTSTATUS (*PFN_WSK_RELEASE_DATAGRAM_INDICATION_LIST)(
    PWSK_SOCKET Socket, PWSK_DATAGRAM_INDICATION DatagramIndication);
typedef struct _WSK_PROVIDER_BASIC_DISPATCH {
    PFN_WSK_CONTROL_SOCKET WskControlSocket;
    PFN_WSK_CLOSE_SOCKET WskCloseSocket;
} WSK_PROVIDER_BASIC_DISPATCH, *PWSK_PROVIDER_BASIC_DISPATCH;
#ifdef __cplusplus
#define IRPVERBS_WSK_TABLE(name) typedef struct _##name : WSK_PROVIDER_BASIC_DISPATCH
#define IRPVERBS_WSK_BASE
#else
#define IRPVERBS_WSK_TABLE(name) typedef struct _##name
#define IRPVERBS_WSK_BASE struct _WSK_PROVIDER_BASIC_DISPATCH;
#endif
IRPVERBS_WSK_TABLE(WSK_PROVIDER_LISTEN_DISPATCH) {
    IRPVERBS_WSK_BASE
    PFN_WSK_BIND WskBind;
    PFN_WSK_ACCEPT WskAccept;
    PFN_WSK_INSPECT_COMPLETE WskInspectComplete;
    PFN_WSK_GET_LOCAL_ADDRESS WskGetLocalAddress;
}
WSK_PROVIDER_LISTEN_DISPATCH, *PWSK_PROVIDER_LISTEN_DISPATCH;
IRPVERBS_WSK_TABLE(WSK_PROVIDER_CONNECTION_DISPATCH) {
    IRPVERBS_WSK_BASE
    PFN_WSK_BIND WskBind;
    PFN_WSK_CONNECT WskConnect;
    PFN_WSK_GET_LOCAL_ADDRESS WskGetLocalAddress;
    PFN_WSK_GET_REMOTE_ADDRESS WskGetRemoteAddress;
    PFN_WSK_SEND WskSend;
    PFN_WSK_RECEIVE WskReceive;
    PFN_WSK_DISCONNECT WskDisconnect;
    PFN_WSK_RELEASE_DATA_INDICATION_LIST WskRelease;
}
WSK_PROVIDER_CONNECTION_DISPATCH, *PWSK_PROVIDER_CONNECTION_DISPATCH;
IRPVERBS_WSK_TABLE(WSK_PROVIDER_DATAGRAM_DISPATCH) {
    IRPVERBS_WSK_BASE
    PFN_WSK_BIND WskBind;
    PFN_WSK_SEND_TO WskSendTo;
    PFN_WSK_RECEIVE_FROM WskReceiveFrom;
    PFN_WSK_RELEASE_DATAGRAM_INDICATION_LIST WskRelease;
    PFN_WSK_GET_LOCAL_ADDRESS WskGetLocalAddress;
}
WSK_PROVIDER_DATAGRAM_DISPATCH, *PWSK_PROVIDER_DATAGRAM_DISPATCH;
IRPVERBS_WSK_TABLE(WSK_PROVIDER_STREAM_DISPATCH) {
    IRPVERBS_WSK_BASE
    PFN_WSK_BIND WskBind;
    PFN_WSK_ACCEPT WskAccept;
    PFN_WSK_CONNECT WskConnect;
    PVOID WskListen;
    PFN_WSK_SEND WskSend;
    PFN_WSK_RECEIVE WskReceive;
    PFN_WSK_DISCONNECT WskDisconnect;
    PFN_WSK_RELEASE_DATA_INDICATION_LIST WskRelease;
    PFN_WSK_GET_LOCAL_ADDRESS WskGetLocalAddress;
    PFN_WSK_GET_REMOTE_ADDRESS WskGetRemoteAddress;
}
WSK_PROVIDER_STREAM_DISPATCH, *PWSK_PROVIDER_STREAM_DISPATCH;
typedef struct _WSK_CLIENT_NPI {
    PVOID ClientContext;
    const WSK_CLIENT_DISPATCH* Dispatch;
} WSK_CLIENT_NPI, *PWSK_CLIENT_NPI;
typedef struct _WSK_PROVIDER_NPI {
    PWSK_CLIENT Client;
    const WSK_PROVIDER_DISPATCH* Dispatch;
} WSK_PROVIDER_NPI, *PWSK_PROVIDER_NPI;
typedef struct _WSK_REGISTRATION {
    ULONGLONG ReservedRegistrationState;
    PVOID ReservedRegistrationContext;
    KSPIN_LOCK ReservedRegistrationLock;
} WSK_REGISTRATION, *PWSK_REGISTRATION;
typedef struct _WSK_PROVIDER_CHARACTERISTICS {
    USHORT HighestVersion;
    USHORT LowestVersion;
} WSK_PROVIDER_CHARACTERISTICS, *PWSK_PROVIDER_CHARACTERISTICS;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS WskRegister(PWSK_CLIENT_NPI WskClientNpi, PWSK_REGISTRATION WskRegistration);
NT_API void WskDeregister(PWSK_REGISTRATION WskRegistration);
NT_API NTSTATUS WskCaptureProviderNPI(PWSK_REGISTRATION WskRegistration, ULONG WaitTimeout,
                                      PWSK_PROVIDER_NPI WskProviderNpi);
NT_API void WskReleaseProviderNPI(PWSK_REGISTRATION WskRegistration);
NT_API NTSTATUS WskQueryProviderCharacteristics(
    PWSK_REGISTRATION WskRegistration, PWSK_PROVIDER_CHARACTERISTICS WskProviderCharacteristics);
NT_EXTERN_C_END

#endif

#ifndef IRPVERBS_WINDOWS_WSK_GUIDS
#ifdef INITGUID
#define IRPVERBS_WINDOWS_WSK_GUIDS
#endif
DEFINE_GUID(NPI_WSK_INTERFACE_ID, 0x2227E803, 0x8D8B, 0x11D4, 0xAB, 0xAD, 0x00, 0x90, 0x27, 0x71,
            0x9E, 0x09);
#endif
