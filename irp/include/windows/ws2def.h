/* Socket addresses and options, in Windows' numbers. Source: WDK ws2def.h, ws2ipdef.h reference. */
#ifndef IRPVERBS_WINDOWS_WS2DEF_H
#define IRPVERBS_WINDOWS_WS2DEF_H

#include <windows/wdk/guid.h>
#include <windows/wdk/types.h>

typedef USHORT ADDRESS_FAMILY;
#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_NETBIOS 17
#define AF_INET6 23
#define AF_IRDA 26
#define AF_BTH 32
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define SOCK_RDM 4
#define SOCK_SEQPACKET 5
#define SOL_SOCKET 0xffff
#define SO_DEBUG 0x0001
#define SO_ACCEPTCONN 0x0002
#define SO_REUSEADDR 0x0004
#define SO_KEEPALIVE 0x0008
#define SO_DONTROUTE 0x0010
#define SO_BROADCAST 0x0020
#define SO_USELOOPBACK 0x0040
#define SO_LINGER 0x0080
#define SO_OOBINLINE 0x0100
#define SO_EXCLUSIVEADDRUSE (~SO_REUSEADDR)
#define SO_SNDBUF 0x1001
#define SO_RCVBUF 0x1002
#define SO_SNDLOWAT 0x1003
#define SO_RCVLOWAT 0x1004
#define SO_SNDTIMEO 0x1005
#define SO_RCVTIMEO 0x1006
#define SO_ERROR 0x1007
#define SO_TYPE 0x1008
#define SO_CONDITIONAL_ACCEPT 0x3002
#define SOMAXCONN 0x7fffffff
#define IPV6_V6ONLY 27
#define TCP_NODELAY 0x0001
typedef enum {
    IPPROTO_IP = 0,
    IPPROTO_HOPOPTS = 0,
    IPPROTO_ICMP = 1,
    IPPROTO_IGMP = 2,
    IPPROTO_IPV4 = 4,
    IPPROTO_TCP = 6,
    IPPROTO_UDP = 17,
    IPPROTO_IPV6 = 41,
    IPPROTO_ROUTING = 43,
    IPPROTO_FRAGMENT = 44,
    IPPROTO_ICMPV6 = 58,
    IPPROTO_RAW = 255
} IPPROTO,
    *PIPROTO;
typedef struct in_addr {
    union {
        struct {
            UCHAR s_b1, s_b2, s_b3, s_b4;
        } S_un_b;
        ULONG S_addr;
    } S_un;
} IN_ADDR, *PIN_ADDR;
#define s_addr S_un.S_addr
typedef struct in6_addr {
    union {
        UCHAR Byte[16];
        USHORT Word[8];
    } u;
} IN6_ADDR, *PIN6_ADDR;
#define IN6ADDR_ANY_INIT                                                                           \
    {                                                                                              \
        {                                                                                          \
            { 0 }                                                                                  \
        }                                                                                          \
    }
#define IN6ADDR_LOOPBACK_INIT                                                                      \
    {                                                                                              \
        {                                                                                          \
            { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }                                     \
        }                                                                                          \
    }
#define INADDR_ANY ((ULONG)0x00000000)
#define INADDR_LOOPBACK 0x7f000001
#define INADDR_BROADCAST ((ULONG)0xffffffff)
#define INADDR_NONE 0xffffffff
typedef struct {
    ULONG Value;
} SCOPE_ID, *PSCOPE_ID;
typedef struct sockaddr {
    ADDRESS_FAMILY sa_family;
    CHAR sa_data[14];
} SOCKADDR, *PSOCKADDR, *LPSOCKADDR;
typedef struct sockaddr_in {
    ADDRESS_FAMILY sin_family;
    USHORT sin_port;
    IN_ADDR sin_addr;
    CHAR sin_zero[8];
} SOCKADDR_IN, *PSOCKADDR_IN;
typedef struct sockaddr_in6 {
    ADDRESS_FAMILY sin6_family;
    USHORT sin6_port;
    ULONG sin6_flowinfo;
    IN6_ADDR sin6_addr;
    __extension__ union {
        ULONG sin6_scope_id;
        SCOPE_ID sin6_scope_struct;
    };
} SOCKADDR_IN6, *PSOCKADDR_IN6;
typedef struct sockaddr_storage {
    ADDRESS_FAMILY ss_family;
    CHAR __ss_pad1[6];
    LONGLONG __ss_align;
    CHAR __ss_pad2[112];
} SOCKADDR_STORAGE, *PSOCKADDR_STORAGE;
typedef union _SOCKADDR_INET {
    SOCKADDR_IN Ipv4;
    SOCKADDR_IN6 Ipv6;
    ADDRESS_FAMILY si_family;
} SOCKADDR_INET, *PSOCKADDR_INET;
typedef struct _SOCKET_ADDRESS {
    LPSOCKADDR lpSockaddr;
    INT iSockaddrLength;
} SOCKET_ADDRESS, *PSOCKET_ADDRESS;
typedef struct cmsghdr {
    SIZE_T cmsg_len;
    INT cmsg_level;
    INT cmsg_type;
} CMSGHDR, *PCMSGHDR;
typedef struct addrinfoexW {
    INT ai_flags;
    INT ai_family;
    INT ai_socktype;
    INT ai_protocol;
    SIZE_T ai_addrlen;
    PWSTR ai_canonname;
    struct sockaddr* ai_addr;
    PVOID ai_blob;
    SIZE_T ai_bloblen;
    LPGUID ai_provider;
    struct addrinfoexW* ai_next;
} ADDRINFOEXW, *PADDRINFOEXW;

#ifndef htons
#define htons(value) ((USHORT)__builtin_bswap16(value))
#define ntohs(value) ((USHORT)__builtin_bswap16(value))
#define htonl(value) ((ULONG)__builtin_bswap32(value))
#define ntohl(value) ((ULONG)__builtin_bswap32(value))
#endif

#endif
