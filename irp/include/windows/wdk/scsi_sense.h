/* Sense data: keys, additional codes, both formats and their decoding. The functions are inline.
   Source: WDK scsi.h reference; T10 SPC "Sense data". */
#ifndef IRPVERBS_WINDOWS_SCSI_SENSE_H
#define IRPVERBS_WINDOWS_SCSI_SENSE_H

#include <windows/wdk/memory.h>

#define SENSE_BUFFER_SIZE 18
#define SENSE_BUFFER_SIZE_EX 252
#define MAX_SENSE_BUFFER_SIZE 255
#define MAX_ADDITIONAL_SENSE_BYTES (MAX_SENSE_BUFFER_SIZE - SENSE_BUFFER_SIZE)
#define SCSI_SENSE_ERRORCODE_FIXED_CURRENT 0x70
#define SCSI_SENSE_ERRORCODE_FIXED_DEFERRED 0x71
#define SCSI_SENSE_ERRORCODE_DESCRIPTOR_CURRENT 0x72
#define SCSI_SENSE_ERRORCODE_DESCRIPTOR_DEFERRED 0x73

#define SCSI_SENSE_NO_SENSE 0x00
#define SCSI_SENSE_RECOVERED_ERROR 0x01
#define SCSI_SENSE_NOT_READY 0x02
#define SCSI_SENSE_MEDIUM_ERROR 0x03
#define SCSI_SENSE_HARDWARE_ERROR 0x04
#define SCSI_SENSE_ILLEGAL_REQUEST 0x05
#define SCSI_SENSE_UNIT_ATTENTION 0x06
#define SCSI_SENSE_DATA_PROTECT 0x07
#define SCSI_SENSE_BLANK_CHECK 0x08
#define SCSI_SENSE_UNIQUE 0x09
#define SCSI_SENSE_COPY_ABORTED 0x0A
#define SCSI_SENSE_ABORTED_COMMAND 0x0B
#define SCSI_SENSE_EQUAL 0x0C
#define SCSI_SENSE_VOL_OVERFLOW 0x0D
#define SCSI_SENSE_MISCOMPARE 0x0E
#define SCSI_SENSE_RESERVED 0x0F
#define SCSI_ILLEGAL_LENGTH 0x20
#define SCSI_EOM 0x40
#define SCSI_FILE_MARK 0x80

#define SCSI_ADSENSE_NO_SENSE 0x00
#define SCSI_ADSENSE_NO_SEEK_COMPLETE 0x02
#define SCSI_ADSENSE_WRITE 0x03
#define SCSI_ADSENSE_LUN_NOT_READY 0x04
#define SCSI_ADSENSE_LUN_COMMUNICATION 0x08
#define SCSI_ADSENSE_SERVO_ERROR 0x09
#define SCSI_ADSENSE_WARNING 0x0B
#define SCSI_ADSENSE_WRITE_ERROR 0x0C
#define SCSI_ADSENSE_COPY_TARGET_DEVICE_ERROR 0x0D
#define SCSI_ADSENSE_CRC_OR_ECC_ERROR 0x10
#define SCSI_ADSENSE_UNRECOVERED_ERROR 0x11
#define SCSI_ADSENSE_TRACK_ERROR 0x14
#define SCSI_ADSENSE_SEEK_ERROR 0x15
#define SCSI_ADSENSE_REC_DATA_NOECC 0x17
#define SCSI_ADSENSE_REC_DATA_ECC 0x18
#define SCSI_ADSENSE_DEFECT_LIST_ERROR 0x19
#define SCSI_ADSENSE_PARAMETER_LIST_LENGTH 0x1A
#define SCSI_ADSENSE_ILLEGAL_COMMAND 0x20
#define SCSI_ADSENSE_ACCESS_DENIED 0x20
#define SCSI_ADSENSE_ILLEGAL_BLOCK 0x21
#define SCSI_ADSENSE_INVALID_TOKEN 0x23
#define SCSI_ADSENSE_INVALID_CDB 0x24
#define SCSI_ADSENSE_INVALID_LUN 0x25
#define SCSI_ADSENSE_INVALID_FIELD_PARAMETER_LIST 0x26
#define SCSI_ADSENSE_WRITE_PROTECT 0x27
#define SCSI_ADSENSE_MEDIUM_CHANGED 0x28
#define SCSI_ADSENSE_BUS_RESET 0x29
#define SCSI_ADSENSE_PARAMETERS_CHANGED 0x2A
#define SCSI_ADSENSE_INSUFFICIENT_TIME_FOR_OPERATION 0x2E
#define SCSI_ADSENSE_INVALID_MEDIA 0x30
#define SCSI_ADSENSE_DEFECT_LIST 0x32
#define SCSI_ADSENSE_LB_PROVISIONING 0x38
#define SCSI_ADSENSE_NO_MEDIA_IN_DEVICE 0x3A
#define SCSI_ADSENSE_POSITION_ERROR 0x3B
#define SCSI_ADSENSE_LOGICAL_UNIT_ERROR 0x3E
#define SCSI_ADSENSE_OPERATING_CONDITIONS_CHANGED 0x3F
#define SCSI_ADSENSE_DATA_PATH_FAILURE 0x41
#define SCSI_ADSENSE_POWER_ON_SELF_TEST_FAILURE 0x42
#define SCSI_ADSENSE_INTERNAL_TARGET_FAILURE 0x44
#define SCSI_ADSENSE_DATA_TRANSFER_ERROR 0x4B
#define SCSI_ADSENSE_LUN_FAILED_SELF_CONFIGURATION 0x4C
#define SCSI_ADSENSE_RESOURCE_FAILURE 0x55
#define SCSI_ADSENSE_OPERATOR_REQUEST 0x5A
#define SCSI_ADSENSE_FAILURE_PREDICTION_THRESHOLD_EXCEEDED 0x5D
#define SCSI_ADSENSE_ILLEGAL_MODE_FOR_THIS_TRACK 0x64
#define SCSI_ADSENSE_COPY_PROTECTION_FAILURE 0x6F
#define SCSI_ADSENSE_POWER_CALIBRATION_ERROR 0x73
#define SCSI_ADSENSE_VENDOR_UNIQUE 0x80
#define SCSI_ADSENSE_MUSIC_AREA 0xA0
#define SCSI_ADSENSE_DATA_AREA 0xA1
#define SCSI_ADSENSE_VOLUME_OVERFLOW 0xA7

#define SCSI_SENSEQ_CAUSE_NOT_REPORTABLE 0x00
#define SCSI_SENSEQ_BECOMING_READY 0x01
#define SCSI_SENSEQ_INIT_COMMAND_REQUIRED 0x02
#define SCSI_SENSEQ_MANUAL_INTERVENTION_REQUIRED 0x03
#define SCSI_SENSEQ_FORMAT_IN_PROGRESS 0x04
#define SCSI_SENSEQ_REBUILD_IN_PROGRESS 0x05
#define SCSI_SENSEQ_RECALCULATION_IN_PROGRESS 0x06
#define SCSI_SENSEQ_OPERATION_IN_PROGRESS 0x07
#define SCSI_SENSEQ_LONG_WRITE_IN_PROGRESS 0x08
#define SCSI_SENSEQ_SPACE_ALLOC_IN_PROGRESS 0x14
#define SCSI_SENSEQ_COMM_FAILURE 0x00
#define SCSI_SENSEQ_COMM_TIMEOUT 0x01
#define SCSI_SENSEQ_COMM_PARITY_ERROR 0x02
#define SCSI_SESNEQ_COMM_CRC_ERROR 0x03
#define SCSI_SENSEQ_UNREACHABLE_TARGET 0x04
#define SCSI_SENSEQ_FILEMARK_DETECTED 0x01
#define SCSI_SENSEQ_END_OF_MEDIA_DETECTED 0x02
#define SCSI_SENSEQ_SETMARK_DETECTED 0x03
#define SCSI_SENSEQ_BEGINNING_OF_MEDIA_DETECTED 0x04
#define SCSI_SENSEQ_OPERATION_IS_IN_PROGRESS 0x16
#define SCSI_SENSEQ_ILLEGAL_ELEMENT_ADDR 0x01
#define SCSI_SENSEQ_DESTINATION_FULL 0x0D
#define SCSI_SENSEQ_SOURCE_EMPTY 0x0E
#define SCSI_SENSEQ_INCOMPATIBLE_MEDIA_INSTALLED 0x00
#define SCSI_SENSEQ_UNKNOWN_FORMAT 0x01
#define SCSI_SENSEQ_INCOMPATIBLE_FORMAT 0x02
#define SCSI_SENSEQ_CLEANING_CARTRIDGE_INSTALLED 0x03
#define SCSI_SENSEQ_TARGET_OPERATING_CONDITIONS_CHANGED 0x00
#define SCSI_SENSEQ_MICROCODE_CHANGED 0x01
#define SCSI_SENSEQ_OPERATING_DEFINITION_CHANGED 0x02
#define SCSI_SENSEQ_INQUIRY_DATA_CHANGED 0x03
#define SCSI_SENSEQ_COMPONENT_DEVICE_ATTACHED 0x04
#define SCSI_SENSEQ_DEVICE_IDENTIFIER_CHANGED 0x05
#define SCSI_SENSEQ_REDUNDANCY_GROUP_MODIFIED 0x06
#define SCSI_SENSEQ_REDUNDANCY_GROUP_DELETED 0x07
#define SCSI_SENSEQ_SPARE_MODIFIED 0x08
#define SCSI_SENSEQ_SPARE_DELETED 0x09
#define SCSI_SENSEQ_VOLUME_SET_MODIFIED 0x0A
#define SCSI_SENSEQ_VOLUME_SET_DELETED 0x0B
#define SCSI_SENSEQ_VOLUME_SET_DEASSIGNED 0x0C
#define SCSI_SENSEQ_VOLUME_SET_REASSIGNED 0x0D
#define SCSI_SENSEQ_REPORTED_LUNS_DATA_CHANGED 0x0E
#define SCSI_SENSEQ_RETRIGGERED 0x0F
#define SCSI_SENSEQ_MEDIUM_LOADABLE 0x10
#define SCSI_SENSEQ_MEDIUM_AUXILIARY_MEMORY_ACCESSIBLE 0x11
#define SCSI_SENSEQ_STATE_CHANGE_INPUT 0x00
#define SCSI_SENSEQ_MEDIUM_REMOVAL 0x01
#define SCSI_SENSEQ_WRITE_PROTECT_ENABLE 0x02
#define SCSI_SENSEQ_WRITE_PROTECT_DISABLE 0x03
#define SCSI_SENSEQ_AUTHENTICATION_FAILURE 0x00
#define SCSI_SENSEQ_KEY_NOT_PRESENT 0x01
#define SCSI_SENSEQ_KEY_NOT_ESTABLISHED 0x02
#define SCSI_SENSEQ_READ_OF_SCRAMBLED_SECTOR_WITHOUT_AUTHENTICATION 0x03
#define SCSI_SENSEQ_MEDIA_CODE_MISMATCHED_TO_LOGICAL_UNIT 0x04
#define SCSI_SENSEQ_LOGICAL_UNIT_RESET_COUNT_ERROR 0x05
#define SCSI_SENSEQ_CAPACITY_DATA_CHANGED 0x09
#define SCSI_SENSEQ_INVALID_RELEASE_OF_PERSISTENT_RESERVATION 0x04
#define SCSI_SENSEQ_SPACE_ALLOC_FAILED_WRITE_PROTECT 0x07
#define SCSI_SENSEQ_SOFT_THRESHOLD_REACHED 0x07
#define SCSI_SENSEQ_TOO_MANY_SEGMENT_DESCRIPTORS 0x08
#define SCSI_SENSEQ_INSUFFICIENT_RESOURCES 0x03
#define SCSI_SENSEQ_INITIATOR_RESPONSE_TIMEOUT 0x06
#define SCSI_SENSEQ_TIMEOUT_ON_LOGICAL_UNIT 0x02
#define SCSI_SENSEQ_DATA_UNDERRUN 0x03
#define SCSI_SENSEQ_TOKEN_UNKNOWN 0x07
#define SCSI_SENSEQ_MEDIA_LOAD_EJECT_FAILED 0x00

typedef struct _SENSE_DATA {
    UCHAR ErrorCode : 7;
    UCHAR Valid : 1;
    UCHAR SegmentNumber;
    UCHAR SenseKey : 4;
    UCHAR Reserved : 1;
    UCHAR IncorrectLength : 1;
    UCHAR EndOfMedia : 1;
    UCHAR FileMark : 1;
    UCHAR Information[4];
    UCHAR AdditionalSenseLength;
    UCHAR CommandSpecificInformation[4];
    UCHAR AdditionalSenseCode;
    UCHAR AdditionalSenseCodeQualifier;
    UCHAR FieldReplaceableUnitCode;
    UCHAR SenseKeySpecific[3];
} SENSE_DATA, *PSENSE_DATA, FIXED_SENSE_DATA, *PFIXED_SENSE_DATA;
typedef struct _DESCRIPTOR_SENSE_DATA {
    UCHAR ErrorCode : 7;
    UCHAR Reserved1 : 1;
    UCHAR SenseKey : 4;
    UCHAR Reserved2 : 4;
    UCHAR AdditionalSenseCode;
    UCHAR AdditionalSenseCodeQualifier;
    UCHAR Reserved3[3];
    UCHAR AdditionalSenseLength;
    UCHAR DescriptorBuffer[ANYSIZE_ARRAY];
} DESCRIPTOR_SENSE_DATA, *PDESCRIPTOR_SENSE_DATA;
typedef struct _SENSE_DATA_EX {
    __extension__ union {
        FIXED_SENSE_DATA FixedData;
        DESCRIPTOR_SENSE_DATA DescriptorData;
    };
} SENSE_DATA_EX, *PSENSE_DATA_EX;
typedef struct _SCSI_SENSE_DESCRIPTOR_HEADER {
    UCHAR DescriptorType;
    UCHAR AdditionalLength;
} SCSI_SENSE_DESCRIPTOR_HEADER, *PSCSI_SENSE_DESCRIPTOR_HEADER;
#define SCSI_SENSE_DESCRIPTOR_TYPE_INFORMATION 0x00
#define SCSI_SENSE_DESCRIPTOR_TYPE_COMMAND_SPECIFIC 0x01
#define SCSI_SENSE_DESCRIPTOR_TYPE_SENSE_KEY_SPECIFIC 0x02
#define SCSI_SENSE_DESCRIPTOR_TYPE_FIELD_REPLACEABLE_UNIT 0x03
#define SCSI_SENSE_DESCRIPTOR_TYPE_STREAM_COMMAND 0x04
#define SCSI_SENSE_DESCRIPTOR_TYPE_BLOCK_COMMAND 0x05
typedef struct _SCSI_SENSE_DESCRIPTOR_INFORMATION {
    SCSI_SENSE_DESCRIPTOR_HEADER Header;
    UCHAR Reserved1 : 7;
    UCHAR Valid : 1;
    UCHAR Reserved2;
    UCHAR Information[8];
} SCSI_SENSE_DESCRIPTOR_INFORMATION, *PSCSI_SENSE_DESCRIPTOR_INFORMATION;
typedef struct _SCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND {
    SCSI_SENSE_DESCRIPTOR_HEADER Header;
    UCHAR Reserved1;
    UCHAR Reserved2 : 5;
    UCHAR IncorrectLength : 1;
    UCHAR Reserved3 : 2;
} SCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND, *PSCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND;
typedef ULONG SCSI_SENSE_OPTIONS;
#define SCSI_SENSE_OPTIONS_NONE 0u
#define SCSI_SENSE_OPTIONS_FIXED_FORMAT_IF_UNKNOWN_FORMAT_INDICATED 0x1u

/* The format's code, 0 without any data. IRQL: any, here and below. */
static inline UCHAR ScsiGetSenseErrorCode(PVOID SenseInfoBuffer) {
    return SenseInfoBuffer == NULL ? 0 : (UCHAR)(*(PUCHAR)SenseInfoBuffer & 0x7f);
}
#define IsSenseDataFormatValueValid(code)                                                          \
    ((code) >= SCSI_SENSE_ERRORCODE_FIXED_CURRENT &&                                               \
     (code) <= SCSI_SENSE_ERRORCODE_DESCRIPTOR_DEFERRED)
#define IsFixedSenseDataFormat(code)                                                               \
    ((code) == SCSI_SENSE_ERRORCODE_FIXED_CURRENT || (code) == SCSI_SENSE_ERRORCODE_FIXED_DEFERRED)
#define IsDescriptorSenseDataFormat(code)                                                          \
    ((code) == SCSI_SENSE_ERRORCODE_DESCRIPTOR_CURRENT ||                                          \
     (code) == SCSI_SENSE_ERRORCODE_DESCRIPTOR_DEFERRED)
#define IsSenseDataCurrentError(code)                                                              \
    ((code) == SCSI_SENSE_ERRORCODE_FIXED_CURRENT ||                                               \
     (code) == SCSI_SENSE_ERRORCODE_DESCRIPTOR_CURRENT)
#define IsSenseDataDeferredError(code)                                                             \
    ((code) == SCSI_SENSE_ERRORCODE_FIXED_DEFERRED ||                                              \
     (code) == SCSI_SENSE_ERRORCODE_DESCRIPTOR_DEFERRED)

/* The bytes that the data says it has, of at most SenseInfoBufferLength. */
static inline BOOLEAN ScsiGetTotalSenseByteCountIndicated(PVOID SenseInfoBuffer,
                                                          UCHAR SenseInfoBufferLength,
                                                          UCHAR* TotalByteCountIndicated) {
    if (SenseInfoBuffer == NULL || SenseInfoBufferLength < 8) return FALSE;
    ULONG total = 8u + ((PUCHAR)SenseInfoBuffer)[7];
    if (total > MAX_SENSE_BUFFER_SIZE) return FALSE;
    *TotalByteCountIndicated = (UCHAR)total;
    return TRUE;
}
static inline BOOLEAN ScsiGetFixedSenseKeyAndCodes(PVOID SenseInfoBuffer,
                                                   UCHAR SenseInfoBufferLength, PUCHAR SenseKey,
                                                   PUCHAR AdditionalSenseCode,
                                                   PUCHAR AdditionalSenseCodeQualifier) {
    PUCHAR bytes = (PUCHAR)SenseInfoBuffer;
    if (bytes == NULL || SenseInfoBufferLength < 3) return FALSE;
    if (SenseKey != NULL) *SenseKey = bytes[2] & 0x0f;
    if (AdditionalSenseCode != NULL)
        *AdditionalSenseCode = SenseInfoBufferLength > 12 ? bytes[12] : 0;
    if (AdditionalSenseCodeQualifier != NULL)
        *AdditionalSenseCodeQualifier = SenseInfoBufferLength > 13 ? bytes[13] : 0;
    return TRUE;
}
static inline BOOLEAN ScsiGetDescriptorSenseKeyAndCodes(PVOID SenseInfoBuffer,
                                                        UCHAR SenseInfoBufferLength,
                                                        PUCHAR SenseKey, PUCHAR AdditionalSenseCode,
                                                        PUCHAR AdditionalSenseCodeQualifier) {
    PUCHAR bytes = (PUCHAR)SenseInfoBuffer;
    if (bytes == NULL || SenseInfoBufferLength < 2) return FALSE;
    if (SenseKey != NULL) *SenseKey = bytes[1] & 0x0f;
    if (AdditionalSenseCode != NULL)
        *AdditionalSenseCode = SenseInfoBufferLength > 2 ? bytes[2] : 0;
    if (AdditionalSenseCodeQualifier != NULL)
        *AdditionalSenseCodeQualifier = SenseInfoBufferLength > 3 ? bytes[3] : 0;
    return TRUE;
}
static inline BOOLEAN ScsiGetSenseKeyAndCodes(PVOID SenseInfoBuffer, UCHAR SenseInfoBufferLength,
                                              SCSI_SENSE_OPTIONS Options, PUCHAR SenseKey,
                                              PUCHAR AdditionalSenseCode,
                                              PUCHAR AdditionalSenseCodeQualifier) {
    UCHAR code = ScsiGetSenseErrorCode(SenseInfoBuffer);
    if (SenseInfoBuffer == NULL || SenseInfoBufferLength == 0) return FALSE;
    if (IsDescriptorSenseDataFormat(code))
        return ScsiGetDescriptorSenseKeyAndCodes(SenseInfoBuffer, SenseInfoBufferLength, SenseKey,
                                                 AdditionalSenseCode, AdditionalSenseCodeQualifier);
    if (IsFixedSenseDataFormat(code) ||
        (Options & SCSI_SENSE_OPTIONS_FIXED_FORMAT_IF_UNKNOWN_FORMAT_INDICATED) != 0)
        return ScsiGetFixedSenseKeyAndCodes(SenseInfoBuffer, SenseInfoBufferLength, SenseKey,
                                            AdditionalSenseCode, AdditionalSenseCodeQualifier);
    return FALSE;
}
#define ScsiGetSenseDescriptorLength(descriptor)                                                   \
    ((UCHAR)(sizeof(SCSI_SENSE_DESCRIPTOR_HEADER) +                                                \
             ((PSCSI_SENSE_DESCRIPTOR_HEADER)(descriptor))->AdditionalLength))
/* The descriptors of data in the descriptor format, and their length. */
static inline BOOLEAN ScsiGetSenseDescriptor(PVOID SenseInfoBuffer, UCHAR SenseInfoBufferLength,
                                             PVOID* DescriptorBuffer,
                                             PUCHAR DescriptorBufferLength) {
    UCHAR total = 0;
    if (!IsDescriptorSenseDataFormat(ScsiGetSenseErrorCode(SenseInfoBuffer)) ||
        !ScsiGetTotalSenseByteCountIndicated(SenseInfoBuffer, SenseInfoBufferLength, &total))
        return FALSE;
    if (total > SenseInfoBufferLength) total = SenseInfoBufferLength;
    if (total <= 8) return FALSE;
    *DescriptorBuffer = (PUCHAR)SenseInfoBuffer + 8;
    *DescriptorBufferLength = (UCHAR)(total - 8);
    return TRUE;
}
static inline BOOLEAN ScsiGetNextSenseDescriptorByType(PVOID Buffer, UCHAR BufferLength,
                                                       PUCHAR TypeList, ULONG TypeListCount,
                                                       PUCHAR OutType, PVOID* OutBuffer,
                                                       PUCHAR OutBufferLength) {
    PUCHAR next = (PUCHAR)Buffer;
    ULONG left = Buffer == NULL ? 0 : BufferLength;
    while (left >= sizeof(SCSI_SENSE_DESCRIPTOR_HEADER)) {
        ULONG length = sizeof(SCSI_SENSE_DESCRIPTOR_HEADER) + next[1];
        if (length > left) return FALSE;
        for (ULONG index = 0; index < TypeListCount; ++index) {
            if (TypeList[index] != next[0]) continue;
            *OutType = next[0];
            *OutBuffer = next;
            *OutBufferLength = (UCHAR)left;
            return TRUE;
        }
        next += length;
        left -= length;
    }
    return FALSE;
}
static inline BOOLEAN
ScsiValidateInformationSenseDescriptor(PSCSI_SENSE_DESCRIPTOR_INFORMATION Buffer,
                                       UCHAR BufferLength) {
    return Buffer != NULL && BufferLength >= sizeof(SCSI_SENSE_DESCRIPTOR_INFORMATION) &&
           Buffer->Header.DescriptorType == SCSI_SENSE_DESCRIPTOR_TYPE_INFORMATION &&
           Buffer->Header.AdditionalLength ==
               sizeof(SCSI_SENSE_DESCRIPTOR_INFORMATION) - sizeof(SCSI_SENSE_DESCRIPTOR_HEADER) &&
           Buffer->Valid;
}
static inline BOOLEAN
ScsiValidateBlockCommandSenseDescriptor(PSCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND Buffer,
                                        UCHAR BufferLength) {
    return Buffer != NULL && BufferLength >= sizeof(SCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND) &&
           Buffer->Header.DescriptorType == SCSI_SENSE_DESCRIPTOR_TYPE_BLOCK_COMMAND &&
           Buffer->Header.AdditionalLength ==
               sizeof(SCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND) - sizeof(SCSI_SENSE_DESCRIPTOR_HEADER);
}
/* Writes the fixed format of data in either format. */
static inline BOOLEAN ScsiConvertToFixedSenseFormat(PVOID SenseInfoBuffer,
                                                    UCHAR SenseInfoBufferLength, PVOID OutBuffer,
                                                    UCHAR OutBufferLength) {
    UCHAR key = 0, code = 0, qualifier = 0;
    PSENSE_DATA fixed = (PSENSE_DATA)OutBuffer;
    if (OutBuffer == NULL || OutBufferLength < sizeof(SENSE_DATA) ||
        !IsDescriptorSenseDataFormat(ScsiGetSenseErrorCode(SenseInfoBuffer)) ||
        !ScsiGetDescriptorSenseKeyAndCodes(SenseInfoBuffer, SenseInfoBufferLength, &key, &code,
                                           &qualifier))
        return FALSE;
    RtlZeroMemory(fixed, sizeof(SENSE_DATA));
    fixed->ErrorCode = SCSI_SENSE_ERRORCODE_FIXED_CURRENT & 0x7f;
    fixed->SenseKey = key & 0x0f;
    fixed->AdditionalSenseLength = (UCHAR)(sizeof(SENSE_DATA) - 8);
    fixed->AdditionalSenseCode = code;
    fixed->AdditionalSenseCodeQualifier = qualifier;
    return TRUE;
}

#endif
