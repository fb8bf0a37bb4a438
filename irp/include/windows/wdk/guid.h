/* GUIDs and property keys. A source that includes initguid.h first defines what DEFINE_GUID names;
   any other one declares it. Source: WDK guiddef.h, devpropdef.h reference. */
#ifndef IRPVERBS_WINDOWS_GUID_H
#define IRPVERBS_WINDOWS_GUID_H

#include <string.h>
#include <windows/wdk/types.h>

#define GUID_DEFINED
typedef GUID *LPGUID, *PGUID, IID, CLSID, FMTID, UUID;
typedef const GUID* LPCGUID;
#ifdef __cplusplus
#define REFGUID const GUID&
#define REFIID const IID&
#define REFCLSID const CLSID&
#define IsEqualGUID(a, b) (!memcmp(&(a), &(b), sizeof(GUID)))
#else
#define REFGUID const GUID*
#define REFIID const IID*
#define REFCLSID const CLSID*
#define IsEqualGUID(a, b) (!memcmp((a), (b), sizeof(GUID)))
#endif
#define InlineIsEqualGUID IsEqualGUID
#define IsEqualIID IsEqualGUID
#define IsEqualCLSID IsEqualGUID

typedef ULONG DEVPROPTYPE, *PDEVPROPTYPE;
typedef GUID DEVPROPGUID;
typedef ULONG DEVPROPID;
typedef CHAR DEVPROP_BOOLEAN, *PDEVPROP_BOOLEAN;
typedef struct _DEVPROPKEY {
    DEVPROPGUID fmtid;
    DEVPROPID pid;
} DEVPROPKEY, *PDEVPROPKEY;
#define DEVPROP_TRUE ((DEVPROP_BOOLEAN)-1)
#define DEVPROP_FALSE ((DEVPROP_BOOLEAN)0)
#define DEVPROP_TYPE_EMPTY 0x00000000
#define DEVPROP_TYPE_NULL 0x00000001
#define DEVPROP_TYPE_SBYTE 0x00000002
#define DEVPROP_TYPE_INT16 0x00000004
#define DEVPROP_TYPE_UINT16 0x00000005
#define DEVPROP_TYPE_INT64 0x00000008
#define DEVPROP_TYPE_FLOAT 0x0000000A
#define DEVPROP_TYPE_DOUBLE 0x0000000B
#define DEVPROP_TYPE_DECIMAL 0x0000000C
#define DEVPROP_TYPE_CURRENCY 0x0000000E
#define DEVPROP_TYPE_DATE 0x0000000F
#define DEVPROP_TYPE_FILETIME 0x00000010
#define DEVPROP_TYPE_SECURITY_DESCRIPTOR 0x00000013
#define DEVPROP_TYPE_SECURITY_DESCRIPTOR_STRING 0x00000014
#define DEVPROP_TYPE_DEVPROPKEY 0x00000015
#define DEVPROP_TYPE_DEVPROPTYPE 0x00000016
#define DEVPROP_TYPE_ERROR 0x00000017
#define DEVPROP_TYPE_NTSTATUS 0x00000018
#define DEVPROP_TYPE_STRING_INDIRECT 0x00000019
#define DEVPROP_TYPE_BYTE 0x00000003
#define DEVPROP_TYPE_INT32 0x00000006
#define DEVPROP_TYPE_UINT32 0x00000007
#define DEVPROP_TYPE_UINT64 0x00000009
#define DEVPROP_TYPE_GUID 0x0000000D
#define DEVPROP_TYPE_BOOLEAN 0x00000011
#define DEVPROP_TYPE_STRING 0x00000012
#define DEVPROP_TYPE_STRING_LIST 0x00002012
#define DEVPROP_TYPE_BINARY 0x00001003
#define PLUGPLAY_PROPERTY_PERSISTENT 0x00000001

#endif

/* Every inclusion decides anew, so that initguid.h may come after other headers. */
#undef DEFINE_GUID
#undef DEFINE_DEVPROPKEY
#ifdef INITGUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                               \
    EXTERN_C __attribute__((__weak__)) const GUID name;                                            \
    const GUID name = {(ULONG)(l), w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}
#define DEFINE_DEVPROPKEY(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8, pid)                    \
    EXTERN_C __attribute__((__weak__)) const DEVPROPKEY name;                                      \
    const DEVPROPKEY name = {{(ULONG)(l), w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}, pid}
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) EXTERN_C const GUID name
#define DEFINE_DEVPROPKEY(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8, pid)                    \
    EXTERN_C const DEVPROPKEY name
#endif
#define DEFINE_GUIDSTRUCT(text, name)
#define DEFINE_GUIDNAMED(name) name
