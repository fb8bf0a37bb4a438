/* Access to the subnet administrator: sessions on a port, queries and changes of its records,
   events of the subnet. Source: seed 003 throughout. */
#ifndef IRPVERBS_SAA_IBMF_SAA_H
#define IRPVERBS_SAA_IBMF_SAA_H

#include <ibmf/ibmf.h>
#include <saa/sa_recs.h>

/* The time that a request waits for the SA before it ends with IBMF_TRANS_TIMEOUT. The library
   sends a request 20 times, with an ibmf_retrans_t (ibmf/ibmf.h) of 19 retries whose retrans_rttv
   is two subnet time-outs (2 x 4.096 us x 2^SubnetTimeOut of the port) and whose retrans_rtv is the
   response time in the SA's ClassPortInfo (4.096 us x 2^RespTimeValue), or 0, IBMF's default, until
   that time is known. Intervals below a second double with each retry, up to a second. The time in
   the port's queue (ibmf_saa_limit_port) does not count. When an SM that has ceased to be the
   master times out, the library sends the request to the new master. No C call sets another time;
   the C++ wrappers (saa/async.hpp) accept a deadline. */

#define IBMF_SAA_PKEY_WC 0 /* any partition */
#define IBMF_SAA_MTU_WC 0  /* any MTU, for ibmf_saa_gid_to_pathrecords */

typedef uint8_t ib_mtu_t; /* a code of IB_MTU */

typedef enum _ibmf_saa_access_type_t {
    IBMF_SAA_RETRIEVE, /* GetTable; Get of ClassPortInfo, GetMulti of MultiPathRecords,
                          GetTraceTable of TraceRecords */
    IBMF_SAA_UPDATE,   /* Set */
    IBMF_SAA_DELETE    /* Delete */
} ibmf_saa_access_type_t;

/* An opaque handle. The library never reuses its value for another session. */
typedef struct ibmf_saa_handle* ibmf_saa_handle_t;

/* Reports the end of an asynchronous ibmf_sa_access, once.
   result: host-endian records, of length bytes in all; NULL and 0 when there are none.
   Ownership: result is the client's, which frees it with free().
   IRQL: PASSIVE_LEVEL; may block, and may close the session.
   status: the value that a blocking ibmf_sa_access returns; IBMF_TRANS_FAILURE after a
   cancellation. */
typedef void (*ibmf_saa_cb_t)(void* callback_arg, size_t length, char* result, int status);

typedef struct ibmf_saa_access_args_s {
    uint16_t sq_attr_id; /* SA_*_ATTRID, or any other */
    ibmf_saa_access_type_t sq_access_type;
    uint64_t sq_component_mask; /* the components of the template that the SA compares:
                                   SA_*_COMPMASK_* */
    /* The host-endian record of an attribute that saa/records.hpp knows; otherwise wire bytes. The
       GIDs of a MultiPathRecord follow it. The template of a TraceRecord is a sa_path_record_t. */
    void* sq_template;
    /* Bytes of the template of an unknown attribute, 1 to 200. Ignored for a known attribute: the
       library reads the whole host structure (and the GIDs of a MultiPathRecord). */
    size_t sq_template_length;
    ibmf_saa_cb_t sq_callback; /* NULL: the call blocks */
    void* sq_callback_arg;
} ibmf_saa_access_args_t;

typedef enum ibmf_saa_subnet_event_e {
    IBMF_SAA_EVENT_GID_AVAILABLE,
    IBMF_SAA_EVENT_GID_UNAVAILABLE,
    IBMF_SAA_EVENT_MCG_CREATED,
    IBMF_SAA_EVENT_MCG_DELETED,
    IBMF_SAA_EVENT_CAP_MASK_CHG,
    IBMF_SAA_EVENT_SYS_IMG_GUID_CHG,
    IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG /* the set of producers whose events the SA reports has
                                            changed */
} ibmf_saa_subnet_event_t;

/* ie_producer_event_status_mask: the SA reports events of these producers. */
#define IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_CA (1 << 0)
#define IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SWITCH (1 << 1)
#define IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_ROUTER (1 << 2)
#define IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SM (1 << 3)

/* The subject of an event. Members that do not belong to the event are 0. */
typedef struct ibmf_saa_event_details_s {
    ib_gid_t ie_gid;                       /* GID_*: the port's; MCG_*: the group's */
    ib_guid_t ie_sysimg_guid;              /* SYS_IMG_GUID_CHG */
    uint32_t ie_capability_mask;           /* CAP_MASK_CHG */
    ib_lid_t ie_lid;                       /* CAP_MASK_CHG, SYS_IMG_GUID_CHG */
    uint8_t ie_producer_event_status_mask; /* SUBSCRIBER_STATUS_CHG */
} ibmf_saa_event_details_t;

/* Reports an event; may run before ibmf_sa_session_open returns. Each call has a work item, and up
   to 8 calls of a session run at once, so that a call may wait for the next event. The calls may
   run in another order than that of the events: ibmf_saa_event_number (saa/ibmf_saa_extras.h)
   returns it.
   Ownership: event_details is the library's and is valid until the return.
   IRQL: PASSIVE_LEVEL; may block, and may close the session. */
typedef void (*ibmf_saa_subnet_event_cb_t)(ibmf_saa_handle_t ibmf_saa_handle,
                                           ibmf_saa_subnet_event_t ibmf_saa_event,
                                           ibmf_saa_event_details_t* event_details,
                                           void* callback_arg);

typedef struct ibmf_saa_subnet_event_args_s {
    ibmf_saa_subnet_event_cb_t is_event_callback;
    void* is_event_callback_arg;
} ibmf_saa_subnet_event_args_t;

NT_EXTERN_C_BEGIN

/* Opens a session: makes the caller a client of the SA on one port. The sessions of a port, at most
   100, share the port's IBMF registration as SUBN_ADM_MANAGER.
   Ownership: *ibmf_saa_handle is the client's until ibmf_sa_session_close.
   IRQL: PASSIVE_LEVEL; may block, but does not wait for the SA.
   sm_key: 0, unless the client is a subnet manager.
   event_args: NULL requests no events.
   flags: 0, or IBMF_SAA_SESSION_* (saa/ibmf_saa_extras.h). The seed calls flags unused; this
   library refuses other bits, so that a bit defined later never has a silent effect. Statuses:
     IBMF_INVALID_ARG        ibmf_saa_handle or the event callback is NULL, unknown flags, or called
                             at DISPATCH_LEVEL
     IBMF_BAD_VERSION        ibmf_version is not IBMF_VERSION (the seed lists no status for that)
     IBMF_BAD_PORT           no port has that GUID
     IBMF_BAD_PORT_STATE     the port is not active, or its HCA is being removed
     IBMF_BUSY               100 sessions are open on that port
     IBMF_NO_MEMORY
     IBMF_NO_RESOURCES       another client has the port's IBMF registration
     IBMF_TRANSPORT_FAILURE  the driver failed */
NT_API int ibmf_sa_session_open(ib_guid_t port_guid, ib_smkey_t sm_key,
                                ibmf_saa_subnet_event_args_t* event_args, uint_t ibmf_version,
                                uint_t flags, ibmf_saa_handle_t* ibmf_saa_handle);

/* Closes a session: cancels its accesses and waits for its callbacks. After the return no callback
   of the session runs, except one that called this function.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG  ibmf_saa_handle is NULL, flags are not 0, or called at DISPATCH_LEVEL
     IBMF_BAD_HANDLE   no such session, or it is being closed
     IBMF_SUCCESS      *ibmf_saa_handle is NULL */
NT_API int ibmf_sa_session_close(ibmf_saa_handle_t* ibmf_saa_handle, uint_t flags);

/* Requests the records that match a template from the SA, or requests a change of a record.
   Ownership: the library reads access_args and its template before the return. *result is the
   client's, which frees it with free().
   IRQL: <= DISPATCH_LEVEL with a callback, which may run before the return. PASSIVE_LEVEL without a
   callback: the call blocks.
   length, result: the bytes of the records, and the records: one after the other, host-endian when
   the attribute is known, otherwise as received. 0 and NULL unless a blocking call returns
   IBMF_SUCCESS.
   flags: 0, or IBMF_SAA_BULK (saa/ibmf_saa_extras.h).
   Statuses of the call; after one of these the callback does not run:
     IBMF_INVALID_ARG     a pointer other than the callback and its argument is NULL, unknown flags,
                          or the call would block at DISPATCH_LEVEL
     IBMF_BAD_HANDLE      no such session, or it is being closed
     IBMF_REQ_INVALID     no such access type, or the attribute does not support it; the template of
                          an unknown attribute is empty or does not fit a request
     IBMF_BAD_PORT_STATE  the port is not active, or lacks the default partition
     IBMF_NO_MEMORY, IBMF_NO_RESOURCES
   Statuses of the request, in the return value or the callback, in addition to those above:
     IBMF_SUCCESS            answered; the result of a Set or Delete is the record of the response
     IBMF_TRANS_TIMEOUT      no response after all retries
     IBMF_TRANS_FAILURE      the response is malformed; the access was cancelled; the driver failed
     IBMF_NO_RESOURCES       reported by the SA, or the response is longer than
   IBMF_SAA_MAX_RESPONSE (or than ibmf_saa_limit_responses allows) IBMF_REQ_INVALID        reported
   by the SA; the SA denied the request IBMF_NO_RECORDS         no record matches
     IBMF_TOO_MANY_RECORDS, IBMF_INVALID_GID, IBMF_INSUFF_COMPS, IBMF_UNSUPP_METHOD,
     IBMF_UNSUPP_METHOD_ATTR, IBMF_INVALID_FIELD  reported by the SA
   Cancellation: by ibmf_sa_session_close, or as the C++ wrapper's: IBMF_TRANS_FAILURE. */
NT_API int ibmf_sa_access(ibmf_saa_handle_t ibmf_saa_handle, ibmf_saa_access_args_t* access_args,
                          uint_t flags, size_t* length, void** result);

/* The five functions below block. Each is an ibmf_sa_access with a template of its own.
   Ownership: *result is the client's, which frees it with free(). IRQL: PASSIVE_LEVEL.
   flags, length and statuses: as ibmf_sa_access. */

/* Returns paths from sgid to dgid.
   mtu: the smallest MTU that a path may have. reversible: B_TRUE selects only reversible paths.
   num_paths: in, the largest number of paths, from 1 (the library never requests more than 127 from
   the SA); 0 is refused. Out, the number of paths.
   IBMF_INVALID_ARG also: *num_paths is 0, or mtu is no code of IB_MTU. */
NT_API int ibmf_saa_gid_to_pathrecords(ibmf_saa_handle_t ibmf_saa_handle, ib_gid_t sgid,
                                       ib_gid_t dgid, ib_pkey_t p_key, ib_mtu_t mtu,
                                       boolean_t reversible, uint8_t* num_paths, uint_t flags,
                                       size_t* length, sa_path_record_t** result);

/* Returns one path to each port of the subnet to which the SA has a path, ordered by DGID. The port
   of sgid is one of them, as in the SA's table: a port has a path to itself. */
NT_API int ibmf_saa_paths_from_gid(ibmf_saa_handle_t ibmf_saa_handle, ib_gid_t sgid, ib_pkey_t pkey,
                                   boolean_t reversible, uint_t flags, uint_t* num_paths,
                                   size_t* length, sa_path_record_t** result);

/* Returns the records of the services with that name. IBMF_REQ_INVALID also: 64 bytes or more
   precede its NUL. */
NT_API int ibmf_saa_name_to_service_record(ibmf_saa_handle_t ibmf_saa_handle, char* service_name,
                                           ib_pkey_t p_key, uint_t flags, uint_t* num_records,
                                           size_t* length, sa_service_record_t** result);

/* Returns the records of the services with that id. */
NT_API int ibmf_saa_id_to_service_record(ibmf_saa_handle_t ibmf_saa_handle, ib_svc_id_t service_id,
                                         ib_pkey_t p_key, uint_t flags, uint_t* num_records,
                                         size_t* length, sa_service_record_t** result);

/* Registers a service (IBMF_SAA_UPDATE) with all components of the record, its lease, name and data
   included; or withdraws the service with its ID, GID, P_Key and key (IBMF_SAA_DELETE).
   IBMF_REQ_INVALID also: another access type. */
NT_API int ibmf_saa_update_service_record(ibmf_saa_handle_t ibmf_saa_handle,
                                          sa_service_record_t* service_record,
                                          ibmf_saa_access_type_t access_type, uint_t flags);

NT_EXTERN_C_END

#endif
