/* A capture of the packets of HCAs, from C: a pcap file of ERF records of type InfiniBand, for
   Wireshark and tshark. The C++ interface, irpverbs::ci::capture, describes the contents. Source:
   irpverbs throughout. */
#ifndef IRPVERBS_CI_CAPTURE_H
#define IRPVERBS_CI_CAPTURE_H

#include <ci/attributes.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

typedef struct _CI_CAPTURE CI_CAPTURE;

/* Receives the bytes of the file in order: first its header, then whole records, one call at a
   time. Bytes are valid until the return. IRQL: PASSIVE_LEVEL; may block. */
typedef VOID (*PFN_CI_CAPTURE_WRITE)(const VOID* Bytes, SIZE_T Length, VOID* Context);

/* Creates a capture on the caller's machine, without an HCA, and writes the file's header before
   the return. Ownership: *Capture is the caller's until CiEndCapture; Context must live until
   then. IRQL: PASSIVE_LEVEL.
   Statuses:
     STATUS_SUCCESS
     STATUS_INVALID_PARAMETER  Write or Capture is NULL
     STATUS_INSUFFICIENT_RESOURCES */
NT_API NTSTATUS CiBeginCapture(PFN_CI_CAPTURE_WRITE Write, VOID* Context, CI_CAPTURE** Capture);

/* Captures the packets of an HCA from now on. An HCA has one capture at a time, a capture any
   number of HCAs.
   Attributes: the whole block that CiQueryCa returned; it is copied. Addresses and keys in the
   packets are those of the moment of the query.
   IRQL: PASSIVE_LEVEL; one call at a time for a capture.
   Statuses:
     STATUS_SUCCESS
     STATUS_INVALID_PARAMETER  an argument is NULL
     STATUS_DEVICE_BUSY        the HCA has a capture
     STATUS_INSUFFICIENT_RESOURCES */
NT_API NTSTATUS CiCaptureHca(CI_CAPTURE* Capture, PDEVICE_OBJECT Hca, const IB_CA_ATTR* Attributes);

/* Ends the capture of all its HCAs, which must still be attached, writes the remaining records and
   frees the capture. Has no effect on NULL. Returns the number of packets that are missing for lack
   of memory. IRQL: PASSIVE_LEVEL. */
NT_API SIZE_T CiEndCapture(CI_CAPTURE* Capture);

NT_EXTERN_C_END

#endif
