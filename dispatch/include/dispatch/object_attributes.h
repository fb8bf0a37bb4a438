/* The name of an object that a call creates or opens, and how the call treats it. */
#ifndef IRPVERBS_DISPATCH_OBJECT_ATTRIBUTES_H
#define IRPVERBS_DISPATCH_OBJECT_ATTRIBUTES_H

#include <dispatch/ntdef.h>

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory;
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
typedef const OBJECT_ATTRIBUTES* PCOBJECT_ATTRIBUTES;

/* OBJECT_ATTRIBUTES.Attributes */
#define OBJ_INHERIT 0x00000002L
#define OBJ_PERMANENT 0x00000010L
#define OBJ_EXCLUSIVE 0x00000020L
#define OBJ_CASE_INSENSITIVE 0x00000040L
#define OBJ_OPENIF 0x00000080L
#define OBJ_OPENLINK 0x00000100L
#define OBJ_KERNEL_HANDLE 0x00000200L
#define OBJ_FORCE_ACCESS_CHECK 0x00000400L
#define OBJ_IGNORE_IMPERSONATED_DEVICEMAP 0x00000800L
#define OBJ_DONT_REPARSE 0x00001000L
#define OBJ_VALID_ATTRIBUTES 0x00001FF2L

/* Fills *attributes. IRQL: any. Source: WDK InitializeObjectAttributes. */
#define InitializeObjectAttributes(attributes, name, flags, root, security)                        \
    do {                                                                                           \
        (attributes)->Length = sizeof(OBJECT_ATTRIBUTES);                                          \
        (attributes)->RootDirectory = (root);                                                      \
        (attributes)->ObjectName = (name);                                                         \
        (attributes)->Attributes = (flags);                                                        \
        (attributes)->SecurityDescriptor = (security);                                             \
        (attributes)->SecurityQualityOfService = NULL;                                             \
    } while (0)

#endif
