/* Stream sockets over reliable connections: rsocket(7). A socket's number is the descriptor of its
   event channel. docs/decisions/rsockets.md. */
#ifndef IRPVERBS_RDMACM_STREAM_H
#define IRPVERBS_RDMACM_STREAM_H

#include "stream_wire.h"
#include "wait.h"

#include <rdma/rsocket.h>
#include <verbs/library.h>

#include <stdbool.h>

#pragma GCC visibility push(hidden)

enum stream_state {
    STREAM_NEW,
    STREAM_LISTENING,
    STREAM_OPENING, /* the connection is being made */
    STREAM_CONNECTED,
    STREAM_ENDED /* what was received before may be read */
};

enum { STREAM_CONTROLS = 4 }; /* messages at once that take no credit */

struct stream_options {
    uint32_t send_size; /* bytes */
    uint32_t receive_size;
    uint32_t send_requests; /* work requests */
    uint32_t receive_requests;
    uint32_t inline_size;
    uint32_t mappings; /* that the peer may write */
};

/* The sources of messages to the peer's table. */
struct stream_staging {
    struct stream_segment segments[STREAM_CONTROLS];
    struct stream_mapping mappings[STREAM_MOST_MAPPINGS];
};

/* Sending: a ring of bytes; each work request frees its part when it completes. */
struct stream_sender {
    struct stream_staging* staging; /* the ring follows */
    uint8_t* ring;
    struct ibv_mr* mr;
    uint32_t at;   /* where the next bytes go */
    uint32_t used; /* bytes of work requests that have not completed */
    uint32_t requests;
    uint32_t controls;      /* messages that take no credit, and have not completed */
    uint32_t controls_made; /* their segments take turns */
    uint32_t inline_size;
    uint16_t sent; /* messages that take a credit, modulo 65536 */
    uint16_t limit;
    struct stream_segment targets[STREAM_SEGMENTS]; /* what is left of the peer's segments */
    unsigned target;
    unsigned next_target; /* that the peer writes next */
};

/* Receiving: a ring of two halves. A half is a segment for the peer when all of it has been read.
 */
struct stream_receiver {
    uint8_t* ring;
    struct ibv_mr* mr;
    uint32_t at;        /* the next byte to read */
    uint32_t available; /* bytes */
    uint32_t read;      /* bytes of halves that the peer does not have again */
    uint32_t next_half; /* its offset */
    uint16_t received;  /* messages that took a credit, modulo 65536 */
    uint16_t reported;  /* of these, when the peer last got credits */
    unsigned missing;   /* receives to post */
    unsigned next_slot; /* of the peer's table */
};

/* The memory that the peer writes to, in this order. */
struct stream_table {
    struct stream_segment targets[STREAM_SEGMENTS];
    struct stream_mapping mappings[STREAM_MOST_MAPPINGS];
};

struct stream_own_mapping {
    struct stream_own_mapping* next;
    struct ibv_mr* mr;
    uint64_t offset;
    int slot; /* of the peer's table; -1: for this end only */
    bool is_pending;
};

struct stream {
    pthread_mutex_t lock;    /* guards all below */
    pthread_cond_t progress; /* the thread that waits for descriptors has come back */
    bool is_waited;          /* there is one */

    enum stream_state state;
    int error; /* SO_ERROR */
    bool is_nonblocking;
    bool is_shut; /* this end sends no more */
    bool has_all; /* the peer sends no more */
    bool is_passive;
    struct rdma_event_channel* channel;
    struct rdma_cm_id* id;
    struct stream_options options;

    struct ibv_comp_channel* completions;
    struct ibv_cq* cq;
    struct stream_sender out;
    struct stream_receiver in;
    struct stream_table* table;
    struct ibv_mr* table_mr;
    struct stream_segment peers_table; /* its length is a number of segments */
    uint64_t peers_mappings;
    uint32_t peers_mapping_count;
    bool swaps; /* the peer has the other order of bytes */
    struct stream_own_mapping* mappings;
};

/* A call of the program. The thread may be cancelled where it waits, and nowhere else. */
struct stream_call {
    struct stream* on;
    int cancelability; /* the program's */
    bool may_wait;
};

/* stream_sockets.c */
struct stream* stream_make(void);
void stream_free(struct stream* stream);
/* Makes the number of the socket known. Returns the number, or -1. */
int stream_publish(struct stream* stream);
/* Begins a call, with the lock. False: not a socket. */
bool stream_begin(struct stream_call* call, int socket);
void stream_end(struct stream_call* call);
/* Sets errno and returns -1, unless `error` is 0. */
int stream_result(int error);

/* socket_table.c */
struct datagram;
/* One of the two is NULL. False: no memory. */
bool socket_publish(int number, struct stream* stream, struct datagram* datagram);
void socket_forget(int number);
/* NULL: not a stream socket; errno is EBADF. */
struct stream* stream_find(int socket);
/* NULL: not a datagram socket; errno is as it was. */
struct datagram* datagram_find(int socket);

/* stream_wait.c */
typedef bool stream_condition(const struct stream* stream);
/* Returns 0 when the condition holds, or EAGAIN if the call may not wait for it. */
int stream_await(struct stream_call* call, stream_condition* holds);
bool stream_is_readable(int descriptor);
/* Takes events and completions that have come, and asks for an event of the next completion. */
void stream_advance(struct stream* stream);
/* Takes an event of the channel, if there is one. No effect on NULL. */
void stream_take_notification_of(struct ibv_comp_channel* completions);

/* stream_options.c */
uint32_t* stream_size_option(struct stream_options* options, int level, int name);
uint32_t stream_possible_size(int level, int name, int wanted);

/* stream_connections.c */
void stream_take_events(struct stream* stream);
/* The connection, or the attempt to make one, has ended. */
void stream_fail(struct stream* stream, int error);

/* stream_endpoint.c */
int stream_make_endpoint(struct stream* stream);
void stream_free_endpoint(struct stream* stream);
struct stream_greeting stream_greet(const struct stream* stream);
/* False: of another protocol. */
bool stream_take_greeting(struct stream* stream, const void* data, size_t size);

/* stream_messages.c */
void stream_take_completions(struct stream* stream);
void stream_give_credits(struct stream* stream);
int stream_send_control(struct stream* stream, enum stream_control what);
bool stream_can_send(const struct stream* stream);
bool stream_has_request(const struct stream* stream);
/* Write to the peer's memory; each takes a work request, and a message takes a credit. Return an
   errno value. */
int stream_write_data(struct stream* stream, uint32_t length);
int stream_write_directly(struct stream* stream, uint32_t length, uint64_t address, uint32_t key);
int stream_write_mapping(struct stream* stream, const struct stream_own_mapping* mapping);
/* The bytes that the ring has room for, without a gap. */
uint32_t stream_room(const struct stream* stream);
/* Copies bytes there, for the next write. Returns how many. */
uint32_t stream_stage(const struct stream* stream, const void* from, size_t size);

/* stream_mappings.c */
/* Whether the peer does not know each mapping yet; one message, with a credit, for the next one. */
bool stream_has_mapping(const struct stream* stream);
int stream_send_mapping(struct stream* stream);
/* Writes bytes to the mapping of the peer at an offset; EFAULT: it has none there. */
int stream_write_mapped(struct stream* stream, const uint8_t* from, size_t size, uint64_t offset,
                        uint32_t* written);
void stream_free_mappings(struct stream* stream);

#pragma GCC visibility pop

#endif
