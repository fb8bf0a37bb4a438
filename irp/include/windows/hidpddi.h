/* Report descriptors, as HID class drivers parse them. Only declared. Source: WDK hidpddi.h
   reference. */
#ifndef IRPVERBS_WINDOWS_HIDPDDI_H
#define IRPVERBS_WINDOWS_HIDPDDI_H

#include <hidpi.h>

#include <windows/wdk/wdm.h>

typedef PUCHAR PHIDP_REPORT_DESCRIPTOR;
typedef struct _HIDP_COLLECTION_DESC {
    USAGE UsagePage;
    USAGE Usage;
    UCHAR CollectionNumber;
    UCHAR Reserved[15];
    USHORT InputLength;
    USHORT OutputLength;
    USHORT FeatureLength;
    USHORT PreparsedDataLength;
    PHIDP_PREPARSED_DATA PreparsedData;
} HIDP_COLLECTION_DESC, *PHIDP_COLLECTION_DESC;
typedef struct _HIDP_REPORT_IDS {
    UCHAR ReportID;
    UCHAR CollectionNumber;
    USHORT InputLength;
    USHORT OutputLength;
    USHORT FeatureLength;
} HIDP_REPORT_IDS, *PHIDP_REPORT_IDS;
typedef struct _HIDP_GETCOLDESC_DBG {
    ULONG BreakOffset;
    ULONG ErrorCode;
    ULONG Args[6];
} HIDP_GETCOLDESC_DBG, *PHIDP_GETCOLDESC_DBG;
typedef struct _HIDP_DEVICE_DESC {
    PHIDP_COLLECTION_DESC CollectionDesc;
    ULONG CollectionDescLength;
    PHIDP_REPORT_IDS ReportIDs;
    ULONG ReportIDsLength;
    HIDP_GETCOLDESC_DBG Dbg;
} HIDP_DEVICE_DESC, *PHIDP_DEVICE_DESC;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS HidP_GetCollectionDescription(PHIDP_REPORT_DESCRIPTOR ReportDesc, ULONG DescLength,
                                              POOL_TYPE PoolType,
                                              PHIDP_DEVICE_DESC DeviceDescription);
NT_API void HidP_FreeCollectionDescription(PHIDP_DEVICE_DESC DeviceDescription);
NT_EXTERN_C_END

#endif
