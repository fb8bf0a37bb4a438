/* What SA access has beyond its seed: priorities, bounds, statistics. All ours. */
#ifndef IRPVERBS_SAA_IBMF_SAA_EXTRAS_H
#define IRPVERBS_SAA_IBMF_SAA_EXTRAS_H

#include <saa/ibmf_saa.h>

/* Bytes of records in an answer, at most: a longer one is IBMF_NO_RESOURCES, and is stopped there.
   ibmf_saa_limit_answers sets another bound. */
#define IBMF_SAA_MAX_ANSWER 0x20000000u

/* Flag of a query: it goes after those without it. */
#define IBMF_SAA_BULK 0x1

/* Flag of ibmf_sa_session_open: paths between two GIDs are answered from what the SA has told the
   port's sessions before, for five minutes, that there is none for two seconds; at once, and
   without asking. What an event withdraws is forgotten before the event is answered: a port
   (IBMF_SAA_EVENT_GID_AVAILABLE, _GID_UNAVAILABLE), or all (the port's LID, GID, P_Keys, the SM, or
   the port's return). Nothing is kept while the SA does not report which ports come and go. Has no
   effect with an sm_key: to a manager the SA tells more. */
#define IBMF_SAA_SESSION_CACHED_PATHS 0x1

/* Flag of ibmf_sa_session_open, as IBMF_REG_FLAG_NO_OFFLOAD: callbacks of accesses come where the
   answer does, at <= DISPATCH_LEVEL, perhaps before ibmf_sa_access returns, and may not block; for
   who asks thousands. Without it each has a work item, and may. Events have one in any case. */
#define IBMF_SAA_SESSION_NO_OFFLOAD 0x2

/* An event beside the seed's: some that came before this are missing. More came while 8 calls
   lasted than are kept (256), and those that follow are the last of them; or the port is subscribed
   again after its return, or after the SM may have become another. */
#define IBMF_SAA_EVENT_LOST ((ibmf_saa_subnet_event_t)7)

NT_EXTERN_C_BEGIN

/* What the sessions of a port have under way, and have done, together. */
typedef struct _ibmf_saa_stats {
    /* Now: */
    uint64_t ss_sessions;
    uint64_t ss_waiting; /* accesses */
    uint64_t ss_queued;  /* queries that wait for their turn */
    uint64_t ss_in_flight;
    /* So far: */
    uint64_t ss_accesses;  /* the port's own included */
    uint64_t ss_merged;    /* accesses that shared the answer to an equal one */
    uint64_t ss_queries;   /* requests sent to the SA */
    uint64_t ss_withdrawn; /* queries that nobody waited for any more */
    uint64_t ss_resent;    /* to another SM, after a time-out */
    uint64_t ss_malformed; /* answers that break the rules */
} ibmf_saa_stats_t;

/* What a port remembers for its sessions with IBMF_SAA_SESSION_CACHED_PATHS. */
typedef struct _ibmf_saa_path_cache_stats {
    /* Now: */
    uint64_t pc_entries;
    uint64_t pc_hears; /* 1: the SA reports changes, so answers are kept */
    /* So far: */
    uint64_t pc_hits;
    uint64_t pc_negative_hits; /* "no such path" */
    uint64_t pc_misses;
    uint64_t pc_stale;        /* misses of what was too old */
    uint64_t pc_evicted;      /* made room: 16384 entries at most */
    uint64_t pc_late_answers; /* not kept: asked for before an event */
    /* Entries forgotten, by reason: */
    uint64_t pc_gid_out_of_service;
    uint64_t pc_gid_in_service;
    uint64_t pc_sm_change;
    uint64_t pc_client_reregister;
    uint64_t pc_lid_change; /* or GID */
    uint64_t pc_pkey_change;
    uint64_t pc_unheard; /* events may have been missed */
} ibmf_saa_path_cache_stats_t;

/* Reads what the path cache has counted; all 0 without one. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_query_path_cache(ibmf_saa_handle_t ibmf_saa_handle,
                                     ibmf_saa_path_cache_stats_t* stats);

/* Paths that the port remembers, without an access: nothing is asked, allocated or waited for.
   IRQL: <= DISPATCH_LEVEL.
   wanted, components: the template of a query of PathRecords, as for ibmf_sa_access.
   num_paths: in, places in paths; out, how many paths are remembered, of which paths got as many as
   it has places for.
   Statuses:
     IBMF_INVALID_ARG     a pointer is NULL
     IBMF_BAD_HANDLE      no such session, or it is being closed
     IBMF_NOT_SUPPORTED   the session is without IBMF_SAA_SESSION_CACHED_PATHS, or has an sm_key
     IBMF_BAD_PORT_STATE  the port is not active
     IBMF_NO_RECORDS, IBMF_INVALID_GID  the SA said a moment ago that there is no such path
     IBMF_FAILURE         not remembered: ibmf_sa_access asks */
NT_API int ibmf_saa_recall_paths(ibmf_saa_handle_t ibmf_saa_handle, const sa_path_record_t* wanted,
                                 uint64_t components, uint_t* num_paths, sa_path_record_t* paths);

/* Reads the number of the event that the caller is called back with. The events of a session are
   numbered from 1 on without gaps, in the order in which they arrived; their callbacks may run in
   another order, and up to 8 at once.
   IRQL: PASSIVE_LEVEL, on the thread of the event's callback.
   Statuses:
     IBMF_INVALID_ARG  number is NULL
     IBMF_BAD_HANDLE   no such session
     IBMF_FAILURE      no event callback of that session runs here; *number is 0 */
NT_API int ibmf_saa_event_number(ibmf_saa_handle_t ibmf_saa_handle, uint64_t* number);

/* Reads the statistics. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_query_stats(ibmf_saa_handle_t ibmf_saa_handle, ibmf_saa_stats_t* stats);

/* Sets how many queries of a port, of all its sessions, are in flight at once; at first 64. More
   wait for their turn. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  in_flight is 0
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_limit_port(ibmf_saa_handle_t ibmf_saa_handle, uint_t in_flight);

/* Sets how many bytes of records an answer may have, to any session of the port; at first
   IBMF_SAA_MAX_ANSWER. It holds for what is asked after it. Streams (saa/record_stream.hpp) have a
   bound of their own. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  bytes is less than 200, which one datagram brings
     IBMF_BAD_HANDLE   no such session */
NT_API int ibmf_saa_limit_answers(ibmf_saa_handle_t ibmf_saa_handle, size_t bytes);

NT_EXTERN_C_END

#endif
