/* Ports of Ethernet (RoCE): a GID is an IP address, there are no LIDs, and no SA knows a path. The
   package makes the path itself when a verb gets an address as its destination; a client that wants
   the path before, for IP addressing above all, calls the function below. */
#ifndef IRPVERBS_CM_ETHERNET_H
#define IRPVERBS_CM_ETHERNET_H

#include <cm/cm.h>

NT_EXTERN_C_BEGIN

/* Writes the path from a port of Ethernet to an address: it starts at the port's address of the
   same kind (IPv4, link-local or other IPv6) with the longest prefix in common, and has the port's
   MTU, the default P_Key, and rdma_cm's hop limit (64) and life time (0.27 s). No packet is sent.
   Ownership: the path is the caller's. IRQL: <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_HOST_UNREACHABLE: the port has no address of that kind.
   STATUS_NOT_SUPPORTED: the port is of InfiniBand. STATUS_INVALID_PARAMETER: a pointer is NULL. */
NT_API NTSTATUS CmQueryEthernetPath(IB_CM* pCm, const ib_gid_t* pAddress, sa_path_record_t* pPath);

/* The addresses of both ends of such a path, for IP addressing. SrcPort: the port number of this
   end. IRQL: any. */
NT_API ib_cm_ip_t CmIpOfPath(const sa_path_record_t* pPath, USHORT SrcPort);

NT_EXTERN_C_END

#endif
