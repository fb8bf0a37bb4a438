/* Prefix tables, by which file systems find the longest known prefix of a path.
   Declarations only. Source: WDK ntifs.h reference, PfxInitialize, RtlInitializeUnicodePrefix. */
#ifndef IRPVERBS_WINDOWS_PREFIX_TABLES_H
#define IRPVERBS_WINDOWS_PREFIX_TABLES_H

#include <windows/wdk/rtl.h>

typedef struct _PREFIX_TABLE_ENTRY {
    CSHORT NodeTypeCode;
    CSHORT NameLength;
    struct _PREFIX_TABLE_ENTRY* NextPrefixTree;
    RTL_SPLAY_LINKS Links;
    PSTRING Prefix;
} PREFIX_TABLE_ENTRY, *PPREFIX_TABLE_ENTRY;
typedef struct _PREFIX_TABLE {
    CSHORT NodeTypeCode;
    CSHORT NameLength;
    PPREFIX_TABLE_ENTRY NextPrefixTree;
} PREFIX_TABLE, *PPREFIX_TABLE;
typedef struct _UNICODE_PREFIX_TABLE_ENTRY {
    CSHORT NodeTypeCode;
    CSHORT NameLength;
    struct _UNICODE_PREFIX_TABLE_ENTRY* NextPrefixTree;
    struct _UNICODE_PREFIX_TABLE_ENTRY* CaseMatch;
    RTL_SPLAY_LINKS Links;
    PUNICODE_STRING Prefix;
} UNICODE_PREFIX_TABLE_ENTRY, *PUNICODE_PREFIX_TABLE_ENTRY;
typedef struct _UNICODE_PREFIX_TABLE {
    CSHORT NodeTypeCode;
    CSHORT NameLength;
    PUNICODE_PREFIX_TABLE_ENTRY NextPrefixTree;
    PUNICODE_PREFIX_TABLE_ENTRY LastNextEntry;
} UNICODE_PREFIX_TABLE, *PUNICODE_PREFIX_TABLE;

NT_EXTERN_C_BEGIN
NT_API void PfxInitialize(PPREFIX_TABLE PrefixTable);
NT_API BOOLEAN PfxInsertPrefix(PPREFIX_TABLE PrefixTable, PSTRING Prefix,
                               PPREFIX_TABLE_ENTRY PrefixTableEntry);
NT_API void PfxRemovePrefix(PPREFIX_TABLE PrefixTable, PPREFIX_TABLE_ENTRY PrefixTableEntry);
NT_API PPREFIX_TABLE_ENTRY PfxFindPrefix(PPREFIX_TABLE PrefixTable, PSTRING FullName);
NT_API void RtlInitializeUnicodePrefix(PUNICODE_PREFIX_TABLE PrefixTable);
NT_API BOOLEAN RtlInsertUnicodePrefix(PUNICODE_PREFIX_TABLE PrefixTable, PUNICODE_STRING Prefix,
                                      PUNICODE_PREFIX_TABLE_ENTRY PrefixTableEntry);
NT_API void RtlRemoveUnicodePrefix(PUNICODE_PREFIX_TABLE PrefixTable,
                                   PUNICODE_PREFIX_TABLE_ENTRY PrefixTableEntry);
NT_API PUNICODE_PREFIX_TABLE_ENTRY RtlFindUnicodePrefix(PUNICODE_PREFIX_TABLE PrefixTable,
                                                        PUNICODE_STRING FullName,
                                                        ULONG CaseInsensitiveIndex);
NT_API PUNICODE_PREFIX_TABLE_ENTRY RtlNextUnicodePrefix(PUNICODE_PREFIX_TABLE PrefixTable,
                                                        BOOLEAN Restart);
NT_EXTERN_C_END

#endif
