/* SA access beyond the seed's interface: priorities, bounds, statistics. Source: irpverbs
   throughout. */
#ifndef IRPVERBS_SAA_IBMF_SAA_EXTRAS_H
#define IRPVERBS_SAA_IBMF_SAA_EXTRAS_H

#include <saa/ibmf_saa.h>

/* The largest number of bytes of records in a response. The library stops a longer response there
   and ends the access with IBMF_NO_RESOURCES. ibmf_saa_limit_responses sets another bound. */
#define IBMF_SAA_MAX_RESPONSE 0x20000000u

/* Flag of a query: the port sends it after the queries without this flag. */
#define IBMF_SAA_BULK 0x1

/* Flag of ibmf_sa_session_open: the library responds to queries for paths between two GIDs from
   earlier responses to the port's sessions, at once and without a request to the SA. It keeps a
   path for five minutes, and "no such path" for two seconds. Before it responds to the Report of an
   event, it invalidates the entries of the port (IBMF_SAA_EVENT_GID_AVAILABLE, _GID_UNAVAILABLE).
   It invalidates all entries after a change of the local port's LID, GID or P_Keys, after a change
   of the SM, and after the port's return. It keeps no entry while the SA does not report which
   ports appear and disappear. The flag has no effect with an sm_key: the SA returns more records to
   a manager than to other clients. */
#define IBMF_SAA_SESSION_CACHED_PATHS 0x1

/* Flag of ibmf_sa_session_open, as IBMF_REG_FLAG_NO_OFFLOAD, for clients with thousands of
   accesses: callbacks of accesses run where the response arrives, at <= DISPATCH_LEVEL, perhaps
   before ibmf_sa_access returns, and may not block. Without the flag each callback has a work item,
   and may block. Event callbacks have a work item in either case. */
#define IBMF_SAA_SESSION_NO_OFFLOAD 0x2

/* An event beyond the seed's: some events before this one are missing. Either more events arrived
   during 8 running calls than the library keeps (256), and the events that follow are the last of
   them; or the port subscribed again, after its return or after a possible change of the SM. */
#define IBMF_SAA_EVENT_LOST ((ibmf_saa_subnet_event_t)7)

NT_EXTERN_C_BEGIN

/* Counters of a port, over all its sessions. */
typedef struct _ibmf_saa_stats {
    /* Now: */
    uint64_t ss_sessions;
    uint64_t ss_waiting; /* accesses that wait for a response */
    uint64_t ss_queued;  /* queries that wait until fewer are in flight */
    uint64_t ss_in_flight;
    /* So far: */
    uint64_t ss_accesses;  /* the port's internal accesses included */
    uint64_t ss_merged;    /* accesses that shared the response to an equal one */
    uint64_t ss_queries;   /* requests sent to the SA */
    uint64_t ss_cancelled; /* queries cancelled after their last access was cancelled */
    uint64_t ss_resent;    /* sent again to another SM, after a time-out */
    uint64_t ss_malformed; /* malformed responses */
} ibmf_saa_stats_t;

/* Counters of the path cache that a port's sessions with IBMF_SAA_SESSION_CACHED_PATHS share. */
typedef struct _ibmf_saa_path_cache_stats {
    /* Now: */
    uint64_t pc_entries;
    uint64_t pc_subscribed; /* 1: the SA reports changes, so the cache keeps responses */
    /* So far: */
    uint64_t pc_hits;
    uint64_t pc_negative_hits; /* hits of "no such path" */
    uint64_t pc_misses;
    uint64_t pc_stale;          /* misses because the entry was too old */
    uint64_t pc_evicted;        /* removed at the limit of 16384 entries */
    uint64_t pc_late_responses; /* not kept: requested before an event */
    /* Entries invalidated, by reason: */
    uint64_t pc_gid_out_of_service;
    uint64_t pc_gid_in_service;
    uint64_t pc_sm_change;
    uint64_t pc_client_reregister;
    uint64_t pc_lid_change; /* a change of the LID or of a GID */
    uint64_t pc_pkey_change;
    uint64_t pc_events_missed; /* events may have been missed */
} ibmf_saa_path_cache_stats_t;

/* Reads the counters of the path cache; all are 0 without a cache. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_query_path_cache(ibmf_saa_handle_t ibmf_saa_handle,
                                     ibmf_saa_path_cache_stats_t* stats);

/* Looks up paths in the port's path cache, without an access: the call sends no request, allocates
   no memory and does not block.
   IRQL: <= DISPATCH_LEVEL.
   wanted, components: the template of a query of PathRecords, as for ibmf_sa_access.
   num_paths: in, the number of elements of paths; out, the number of cached paths that match. paths
   receives as many of them as it has elements.
   Statuses:
     IBMF_INVALID_ARG     a pointer is NULL
     IBMF_BAD_HANDLE      no such session, or it is being closed
     IBMF_NOT_SUPPORTED   the session is without IBMF_SAA_SESSION_CACHED_PATHS, or has an sm_key
     IBMF_BAD_PORT_STATE  the port is not active
     IBMF_NO_RECORDS, IBMF_INVALID_GID  the SA reported a moment ago that there is no such path
     IBMF_FAILURE         not cached: ibmf_sa_access queries the SA */
NT_API int ibmf_saa_lookup_cached_paths(ibmf_saa_handle_t ibmf_saa_handle,
                                        const sa_path_record_t* wanted, uint64_t components,
                                        uint_t* num_paths, sa_path_record_t* paths);

/* Reads the number of the event whose callback is the caller. The events of a session have the
   numbers from 1 on without gaps, in the order in which they arrived; their callbacks may run in
   another order, and up to 8 at once.
   IRQL: PASSIVE_LEVEL, on the thread of the event's callback.
   Statuses:
     IBMF_INVALID_ARG  number is NULL
     IBMF_BAD_HANDLE   no such session
     IBMF_FAILURE      no event callback of that session runs on this thread; *number is 0 */
NT_API int ibmf_saa_event_number(ibmf_saa_handle_t ibmf_saa_handle, uint64_t* number);

/* Reads the port's counters. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_query_stats(ibmf_saa_handle_t ibmf_saa_handle, ibmf_saa_stats_t* stats);

/* Sets how many queries of a port, of all its sessions, are in flight at once; default 64. Further
   queries wait in a queue. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  in_flight is 0
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_limit_port(ibmf_saa_handle_t ibmf_saa_handle, uint_t in_flight);

/* Sets how many bytes of records a response to any session of the port may have; default
   IBMF_SAA_MAX_RESPONSE. The bound applies to accesses that start after the call. Streams
   (saa/record_stream.hpp) have a bound of their own. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  bytes is less than 200, the content of one datagram
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_limit_responses(ibmf_saa_handle_t ibmf_saa_handle, size_t bytes);

NT_EXTERN_C_END

#endif
