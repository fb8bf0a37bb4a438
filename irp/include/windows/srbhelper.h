/* Access to the fields of either kind of SRB. The functions are inline. Source: WDK srbhelper.h
   reference. */
#ifndef IRPVERBS_WINDOWS_SRBHELPER_H
#define IRPVERBS_WINDOWS_SRBHELPER_H

#include <srb.h>

union _CDB;

#define SRB_ALIGN_SIZEOF(type) (((ULONG)sizeof(type) + 7) & ~7u)

/* NULL for an SRB of the old kind. IRQL: any, here and below. */
static inline PSTORAGE_REQUEST_BLOCK IrpverbsSrbEx(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK srb = (PSTORAGE_REQUEST_BLOCK)Srb;
    return srb->Function == SRB_FUNCTION_STORAGE_REQUEST_BLOCK ? srb : NULL;
}

/* The block of data number Index, or NULL when its offset does not fit. */
static inline PSRBEX_DATA SrbGetSrbExDataByIndex(PSTORAGE_REQUEST_BLOCK SrbEx, ULONG Index) {
    if (SrbEx->Function != SRB_FUNCTION_STORAGE_REQUEST_BLOCK || Index >= SrbEx->NumSrbExData)
        return NULL;
    ULONG offset = SrbEx->SrbExDataOffset[Index];
    if (offset < sizeof(STORAGE_REQUEST_BLOCK) || offset >= SrbEx->SrbLength) return NULL;
    return (PSRBEX_DATA)(PVOID)((PUCHAR)SrbEx + offset);
}
static inline PSRBEX_DATA SrbGetSrbExDataByType(PSTORAGE_REQUEST_BLOCK SrbEx, SRBEXDATATYPE Type) {
    for (ULONG index = 0; index < SrbEx->NumSrbExData; ++index) {
        PSRBEX_DATA data = SrbGetSrbExDataByIndex(SrbEx, index);
        if (data != NULL && data->Type == Type) return data;
    }
    return NULL;
}
static inline PSRBEX_DATA SrbGetPrimarySrbExData(PSTORAGE_REQUEST_BLOCK SrbEx) {
    return SrbGetSrbExDataByIndex(SrbEx, 0);
}
static inline PSTOR_ADDR_BTL8 IrpverbsSrbAddress(PSTORAGE_REQUEST_BLOCK SrbEx) {
    return (PSTOR_ADDR_BTL8)(PVOID)((PUCHAR)SrbEx + SrbEx->AddressOffset);
}

/* The fields of a SCSI command, wherever they lie. */
typedef struct _IRPVERBS_SRB_COMMAND {
    PUCHAR ScsiStatus;
    PUCHAR SenseInfoBufferLength;
    PVOID* SenseInfoBuffer;
    PUCHAR Cdb;
    ULONG CdbLength;
    PUCHAR SmallCdbLength; /* where the length is; NULL: it is LargeCdbLength */
    PULONG LargeCdbLength;
} IRPVERBS_SRB_COMMAND;
static inline BOOLEAN IrpverbsSrbCommand(PVOID Srb, IRPVERBS_SRB_COMMAND* Command) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended == NULL) {
        PSCSI_REQUEST_BLOCK srb = (PSCSI_REQUEST_BLOCK)Srb;
        Command->ScsiStatus = &srb->ScsiStatus;
        Command->SenseInfoBufferLength = &srb->SenseInfoBufferLength;
        Command->SenseInfoBuffer = &srb->SenseInfoBuffer;
        Command->Cdb = srb->Cdb;
        Command->CdbLength = srb->CdbLength;
        Command->SmallCdbLength = &srb->CdbLength;
        return TRUE;
    }
    if (extended->SrbFunction != SRB_FUNCTION_EXECUTE_SCSI) return FALSE;
    for (ULONG index = 0; index < extended->NumSrbExData; ++index) {
        PSRBEX_DATA data = SrbGetSrbExDataByIndex(extended, index);
        if (data == NULL) continue;
        if (data->Type == SrbExDataTypeScsiCdb16 || data->Type == SrbExDataTypeScsiCdb32) {
            PSRBEX_DATA_SCSI_CDB32 cdb = (PSRBEX_DATA_SCSI_CDB32)(PVOID)data;
            Command->ScsiStatus = &cdb->ScsiStatus;
            Command->SenseInfoBufferLength = &cdb->SenseInfoBufferLength;
            Command->SenseInfoBuffer = &cdb->SenseInfoBuffer;
            Command->Cdb = cdb->Cdb;
            Command->CdbLength = cdb->CdbLength;
            Command->SmallCdbLength = &cdb->CdbLength;
            return TRUE;
        }
        if (data->Type == SrbExDataTypeScsiCdbVar) {
            PSRBEX_DATA_SCSI_CDB_VAR cdb = (PSRBEX_DATA_SCSI_CDB_VAR)(PVOID)data;
            Command->ScsiStatus = &cdb->ScsiStatus;
            Command->SenseInfoBufferLength = &cdb->SenseInfoBufferLength;
            Command->SenseInfoBuffer = &cdb->SenseInfoBuffer;
            Command->Cdb = cdb->Cdb;
            Command->CdbLength = cdb->CdbLength;
            Command->SmallCdbLength = NULL;
            Command->LargeCdbLength = &cdb->CdbLength;
            return TRUE;
        }
    }
    return FALSE;
}
static inline union _CDB* SrbGetCdb(PVOID Srb) {
    IRPVERBS_SRB_COMMAND command;
    return IrpverbsSrbCommand(Srb, &command) ? (union _CDB*)(PVOID)command.Cdb : NULL;
}
static inline ULONG SrbGetCdbLength(PVOID Srb) {
    IRPVERBS_SRB_COMMAND command;
    return IrpverbsSrbCommand(Srb, &command) ? command.CdbLength : 0;
}
static inline void SrbSetCdbLength(PVOID Srb, UCHAR CdbLength) {
    IRPVERBS_SRB_COMMAND command;
    if (!IrpverbsSrbCommand(Srb, &command)) return;
    if (command.SmallCdbLength != NULL)
        *command.SmallCdbLength = CdbLength;
    else
        *command.LargeCdbLength = CdbLength;
}
static inline PVOID SrbGetScsiData(PSTORAGE_REQUEST_BLOCK SrbEx, PUCHAR CdbLength8,
                                   PULONG CdbLength32, PUCHAR ScsiStatus, PVOID* SenseInfoBuffer,
                                   PUCHAR SenseInfoBufferLength) {
    IRPVERBS_SRB_COMMAND command;
    if (!IrpverbsSrbCommand(SrbEx, &command)) return NULL;
    if (CdbLength8 != NULL) *CdbLength8 = (UCHAR)command.CdbLength;
    if (CdbLength32 != NULL) *CdbLength32 = command.CdbLength;
    if (ScsiStatus != NULL) *ScsiStatus = *command.ScsiStatus;
    if (SenseInfoBuffer != NULL) *SenseInfoBuffer = *command.SenseInfoBuffer;
    if (SenseInfoBufferLength != NULL) *SenseInfoBufferLength = *command.SenseInfoBufferLength;
    return command.Cdb;
}
static inline void SrbSetScsiData(PSTORAGE_REQUEST_BLOCK SrbEx, PUCHAR CdbLength8,
                                  PULONG CdbLength32, PUCHAR ScsiStatus, PVOID* SenseInfoBuffer,
                                  PUCHAR SenseInfoBufferLength) {
    IRPVERBS_SRB_COMMAND command;
    (void)CdbLength8;
    (void)CdbLength32;
    if (!IrpverbsSrbCommand(SrbEx, &command)) return;
    if (ScsiStatus != NULL) *command.ScsiStatus = *ScsiStatus;
    if (SenseInfoBuffer != NULL) *command.SenseInfoBuffer = *SenseInfoBuffer;
    if (SenseInfoBufferLength != NULL) *command.SenseInfoBufferLength = *SenseInfoBufferLength;
}
static inline UCHAR SrbGetScsiStatus(PVOID Srb) {
    IRPVERBS_SRB_COMMAND command;
    return IrpverbsSrbCommand(Srb, &command) ? *command.ScsiStatus : 0;
}
static inline void SrbSetScsiStatus(PVOID Srb, UCHAR ScsiStatus) {
    IRPVERBS_SRB_COMMAND command;
    if (IrpverbsSrbCommand(Srb, &command)) *command.ScsiStatus = ScsiStatus;
}
static inline PVOID SrbGetSenseInfoBuffer(PVOID Srb) {
    IRPVERBS_SRB_COMMAND command;
    return IrpverbsSrbCommand(Srb, &command) ? *command.SenseInfoBuffer : NULL;
}
static inline void SrbSetSenseInfoBuffer(PVOID Srb, PVOID SenseInfoBuffer) {
    IRPVERBS_SRB_COMMAND command;
    if (IrpverbsSrbCommand(Srb, &command)) *command.SenseInfoBuffer = SenseInfoBuffer;
}
static inline UCHAR SrbGetSenseInfoBufferLength(PVOID Srb) {
    IRPVERBS_SRB_COMMAND command;
    return IrpverbsSrbCommand(Srb, &command) ? *command.SenseInfoBufferLength : 0;
}
static inline void SrbSetSenseInfoBufferLength(PVOID Srb, UCHAR Length) {
    IRPVERBS_SRB_COMMAND command;
    if (IrpverbsSrbCommand(Srb, &command)) *command.SenseInfoBufferLength = Length;
}

/* A getter and a setter of a field that both kinds have. */
#define IRPVERBS_SRB_FIELD(type, getter, setter, old_field, new_field)                             \
    static inline type getter(PVOID Srb) {                                                         \
        PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);                                      \
        return (type)(extended != NULL ? (type)extended->new_field                                 \
                                       : (type)((PSCSI_REQUEST_BLOCK)Srb)->old_field);             \
    }                                                                                              \
    static inline void setter(PVOID Srb, type value) {                                             \
        PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);                                      \
        if (extended != NULL)                                                                      \
            extended->new_field = value;                                                           \
        else                                                                                       \
            ((PSCSI_REQUEST_BLOCK)Srb)->old_field = value;                                         \
    }
IRPVERBS_SRB_FIELD(ULONG, SrbGetSrbFlags, SrbAssignSrbFlags, SrbFlags, SrbFlags)
IRPVERBS_SRB_FIELD(ULONG, SrbGetDataTransferLength, SrbSetDataTransferLength, DataTransferLength,
                   DataTransferLength)
IRPVERBS_SRB_FIELD(PVOID, SrbGetDataBuffer, SrbSetDataBuffer, DataBuffer, DataBuffer)
IRPVERBS_SRB_FIELD(ULONG, SrbGetTimeOutValue, SrbSetTimeOutValue, TimeOutValue, TimeOutValue)
IRPVERBS_SRB_FIELD(PVOID, SrbGetOriginalRequest, SrbSetOriginalRequest, OriginalRequest,
                   OriginalRequest)
#undef IRPVERBS_SRB_FIELD
static inline ULONG SrbGetSrbLength(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->SrbLength : ((PSCSI_REQUEST_BLOCK)Srb)->Length;
}
static inline ULONG SrbGetSrbFunction(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->SrbFunction : ((PSCSI_REQUEST_BLOCK)Srb)->Function;
}
static inline UCHAR SrbGetSrbStatus(PVOID Srb) { return ((PSCSI_REQUEST_BLOCK)Srb)->SrbStatus; }
static inline void SrbSetSrbStatus(PVOID Srb, UCHAR status) {
    PSCSI_REQUEST_BLOCK srb = (PSCSI_REQUEST_BLOCK)Srb;
    srb->SrbStatus = (UCHAR)((srb->SrbStatus & SRB_STATUS_AUTOSENSE_VALID) | status);
}
static inline void SrbSetSrbFlags(PVOID Srb, ULONG Flags) {
    SrbAssignSrbFlags(Srb, SrbGetSrbFlags(Srb) | Flags);
}
static inline void SrbClearSrbFlags(PVOID Srb, ULONG Flags) {
    SrbAssignSrbFlags(Srb, SrbGetSrbFlags(Srb) & ~Flags);
}
static inline ULONG SrbGetSystemStatus(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->SystemStatus : ((PSCSI_REQUEST_BLOCK)Srb)->InternalStatus;
}
static inline void SrbSetSystemStatus(PVOID Srb, ULONG Status) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended != NULL)
        extended->SystemStatus = Status;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->InternalStatus = Status;
}
static inline UCHAR SrbGetPathId(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? IrpverbsSrbAddress(extended)->Path
                            : ((PSCSI_REQUEST_BLOCK)Srb)->PathId;
}
static inline UCHAR SrbGetTargetId(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? IrpverbsSrbAddress(extended)->Target
                            : ((PSCSI_REQUEST_BLOCK)Srb)->TargetId;
}
static inline UCHAR SrbGetLun(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? IrpverbsSrbAddress(extended)->Lun : ((PSCSI_REQUEST_BLOCK)Srb)->Lun;
}
static inline void SrbGetPathTargetLun(PVOID Srb, PUCHAR PathId, PUCHAR TargetId, PUCHAR Lun) {
    if (PathId != NULL) *PathId = SrbGetPathId(Srb);
    if (TargetId != NULL) *TargetId = SrbGetTargetId(Srb);
    if (Lun != NULL) *Lun = SrbGetLun(Srb);
}
static inline PVOID SrbGetMiniportContext(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->MiniportContext : ((PSCSI_REQUEST_BLOCK)Srb)->SrbExtension;
}
static inline PVOID SrbGetPortContext(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->PortContext : NULL;
}
static inline void SrbSetPortContext(PVOID Srb, PVOID PortContext) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended != NULL) extended->PortContext = PortContext;
}
static inline PVOID SrbGetNextSrb(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? (PVOID)extended->NextSrb : (PVOID)((PSCSI_REQUEST_BLOCK)Srb)->NextSrb;
}
static inline void SrbSetNextSrb(PVOID Srb, PVOID NextSrb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended != NULL)
        extended->NextSrb = (PSTORAGE_REQUEST_BLOCK)NextSrb;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->NextSrb = (PSCSI_REQUEST_BLOCK)NextSrb;
}
static inline ULONG SrbGetRequestTag(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->RequestTag : ((PSCSI_REQUEST_BLOCK)Srb)->QueueTag;
}
static inline void SrbSetRequestTag(PVOID Srb, ULONG RequestTag) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended != NULL)
        extended->RequestTag = RequestTag;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->QueueTag = (UCHAR)RequestTag;
}
#define SrbGetQueueTag SrbGetRequestTag
#define SrbSetQueueTag SrbSetRequestTag
static inline USHORT SrbGetRequestAttribute(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    return extended != NULL ? extended->RequestAttribute : ((PSCSI_REQUEST_BLOCK)Srb)->QueueAction;
}
static inline void SrbSetRequestAttribute(PVOID Srb, UCHAR RequestAttribute) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    if (extended != NULL)
        extended->RequestAttribute = RequestAttribute;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->QueueAction = RequestAttribute;
}
#define SrbGetQueueAction SrbGetRequestAttribute
#define SrbSetQueueAction SrbSetRequestAttribute
static inline void SrbSetQueueSortKey(PVOID Srb, ULONG QueueSortKey) {
    if (IrpverbsSrbEx(Srb) == NULL) ((PSCSI_REQUEST_BLOCK)Srb)->QueueSortKey = QueueSortKey;
}
static inline void SrbZeroSrb(PVOID Srb) {
    PSTORAGE_REQUEST_BLOCK extended = IrpverbsSrbEx(Srb);
    PSCSI_REQUEST_BLOCK srb = (PSCSI_REQUEST_BLOCK)Srb;
    UCHAR function = srb->Function;
    USHORT length = srb->Length;
    ULONG extended_length = extended != NULL ? extended->SrbLength : 0;
    RtlZeroMemory(Srb, extended != NULL ? extended_length : sizeof(SCSI_REQUEST_BLOCK));
    srb->Function = function;
    srb->Length = length;
    if (extended != NULL) extended->SrbLength = extended_length;
}
/* FALSE when the destination is too small. */
static inline BOOLEAN SrbCopySrb(PVOID DestinationSrb, ULONG DestinationSrbLength,
                                 PVOID SourceSrb) {
    ULONG length = IrpverbsSrbEx(SourceSrb) != NULL ? SrbGetSrbLength(SourceSrb)
                                                    : (ULONG)sizeof(SCSI_REQUEST_BLOCK);
    if (DestinationSrbLength < length) return FALSE;
    RtlCopyMemory(DestinationSrb, SourceSrb, length);
    return TRUE;
}

#endif
