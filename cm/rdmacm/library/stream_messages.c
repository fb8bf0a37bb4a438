/* Messages, credits, and the completions of their work requests. */
#include "stream.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>

/* A wr_id: a kind, and the bytes of the ring that the work request frees. */
enum work { WORK_RECEIVE, WORK_DATA, WORK_CONTROL };
static uint64_t work_of(enum work kind, uint32_t bytes) { return (uint64_t)kind << 32 | bytes; }

static uint32_t half_of(const struct stream* stream) { return stream->options.receive_size / 2; }

/* ---- sending */

static struct ibv_send_wr write_of(uint64_t wr_id, uint64_t address, uint32_t key,
                                   const uint32_t* message) {
    struct ibv_send_wr made;
    memset(&made, 0, sizeof made);
    made.wr_id = wr_id;
    made.opcode = message != NULL ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    if (message != NULL) made.imm_data = htobe32(*message);
    made.wr.rdma.remote_addr = address;
    made.wr.rdma.rkey = key;
    return made;
}

static int post(struct stream* stream, struct ibv_send_wr* what, const void* from,
                uint32_t length) {
    struct ibv_sge source = {(uintptr_t)from, length, stream->out.mr->lkey};
    struct ibv_send_wr* bad;
    if (length != 0) {
        what->sg_list = &source;
        what->num_sge = 1;
        if (length <= stream->out.inline_size) what->send_flags = IBV_SEND_INLINE;
    }
    return ibv_post_send(stream->id->qp, what, &bad);
}

bool stream_has_request(const struct stream* stream) { return stream->out.requests != 0; }

bool stream_can_send(const struct stream* stream) {
    const struct stream_sender* out = &stream->out;
    return out->requests != 0 && out->used < stream->options.send_size && out->sent != out->limit &&
           out->targets[out->target].length != 0;
}

uint32_t stream_room(const struct stream* stream) {
    const uint32_t free_bytes = stream->options.send_size - stream->out.used;
    const uint32_t to_end = stream->options.send_size - stream->out.at;
    return free_bytes < to_end ? free_bytes : to_end;
}

uint32_t stream_stage(const struct stream* stream, const void* from, size_t size) {
    enum { MOST_AT_ONCE = 65536 }; /* copying and sending overlap */
    uint32_t part = stream_room(stream);
    if (part > MOST_AT_ONCE) part = MOST_AT_ONCE;
    if (part > size) part = (uint32_t)size;
    memcpy(stream->out.ring + stream->out.at, from, part);
    return part;
}

static int write_ring(struct stream* stream, struct ibv_send_wr* what, uint32_t length) {
    struct stream_sender* out = &stream->out;
    const int error = post(stream, what, out->ring + out->at, length);
    if (error != 0) return error;
    --out->requests;
    out->used += length;
    out->at += length;
    if (out->at == stream->options.send_size) out->at = 0;
    return 0;
}

/* The segment is used up before the message can cause that the peer writes the next one there. */
int stream_write_data(struct stream* stream, uint32_t length) {
    struct stream_sender* out = &stream->out;
    struct stream_segment* target = &out->targets[out->target];
    const uint32_t message = stream_message_of(STREAM_DATA, length);
    struct ibv_send_wr what =
        write_of(work_of(WORK_DATA, length), target->address, target->key, &message);
    target->address += length;
    target->length -= length;
    if (target->length == 0) out->target = (out->target + 1) % STREAM_SEGMENTS;
    ++out->sent;
    return write_ring(stream, &what, length);
}

int stream_write_directly(struct stream* stream, uint32_t length, uint64_t address, uint32_t key) {
    struct ibv_send_wr what = write_of(work_of(WORK_DATA, length), address, key, NULL);
    return write_ring(stream, &what, length);
}

static struct stream_segment in_peers_order(const struct stream* stream,
                                            struct stream_segment own) {
    if (stream->swaps) {
        own.address = bswap_64(own.address);
        own.key = bswap_32(own.key);
        own.length = bswap_32(own.length);
    }
    return own;
}

int stream_write_mapping(struct stream* stream, const struct stream_own_mapping* mapping) {
    const uint32_t slot = (uint32_t)mapping->slot;
    const uint32_t message = stream_message_of(STREAM_MAPPED, slot);
    const struct stream_segment segment = {(uintptr_t)mapping->mr->addr, mapping->mr->rkey,
                                           (uint32_t)mapping->mr->length};
    struct stream_mapping* staged = &stream->out.staging->mappings[slot];
    struct ibv_send_wr what =
        write_of(work_of(WORK_DATA, 0), stream->peers_mappings + slot * sizeof *staged,
                 stream->peers_table.key, &message);
    staged->offset = stream->swaps ? bswap_64(mapping->offset) : mapping->offset;
    staged->segment = in_peers_order(stream, segment);
    --stream->out.requests;
    ++stream->out.sent;
    return post(stream, &what, staged, sizeof *staged);
}

/* ---- messages without credit */

static int post_control(struct stream* stream, uint32_t message,
                        const struct stream_segment* segment, uint64_t address) {
    struct ibv_send_wr what = write_of(work_of(WORK_CONTROL, 0), address,
                                       address != 0 ? stream->peers_table.key : 0, &message);
    const int error = post(stream, &what, segment, segment != NULL ? sizeof *segment : 0);
    if (error == 0) ++stream->out.controls;
    return error;
}

int stream_send_control(struct stream* stream, enum stream_control what) {
    return post_control(stream, stream_message_of(STREAM_CONTROL, what), NULL, 0);
}

/* The next half becomes a segment of the peer. */
static int offer_half(struct stream* stream, uint32_t message) {
    struct stream_receiver* in = &stream->in;
    struct stream_segment* staged =
        &stream->out.staging->segments[stream->out.controls_made++ % STREAM_CONTROLS];
    const struct stream_segment segment = {(uintptr_t)(in->ring + in->next_half), in->mr->rkey,
                                           half_of(stream)};
    const uint64_t address =
        stream->peers_table.address + in->next_slot * sizeof(struct stream_segment);
    *staged = in_peers_order(stream, segment);
    in->read -= half_of(stream);
    in->next_half = in->next_half == 0 ? half_of(stream) : 0;
    in->next_slot = (in->next_slot + 1) % stream->peers_table.length;
    return post_control(stream, message, staged, address);
}

void stream_give_credits(struct stream* stream) {
    struct stream_receiver* in = &stream->in;
    while (stream->state == STREAM_CONNECTED && stream->out.controls < STREAM_CONTROLS) {
        const bool has_half = in->read >= half_of(stream);
        const uint16_t unreported = (uint16_t)(in->received - in->reported);
        const uint16_t limit = (uint16_t)(in->received + stream->options.receive_requests);
        const uint32_t message = stream_message_of(STREAM_CREDITS, limit);
        int error;
        if (!has_half && unreported < stream->options.receive_requests / 2) return;
        in->reported = in->received;
        error = has_half ? offer_half(stream, message) : post_control(stream, message, NULL, 0);
        if (error != 0) stream_fail(stream, error);
    }
}

/* ---- receiving */

/* The length is written last: a segment that is being written is not there yet. */
static void take_target(struct stream* stream) {
    struct stream_sender* out = &stream->out;
    struct stream_segment* written = &stream->table->targets[out->next_target];
    if (__atomic_load_n(&written->length, __ATOMIC_ACQUIRE) == 0) return;
    out->targets[out->next_target] = *written;
    __atomic_store_n(&written->length, 0, __ATOMIC_RELAXED);
    out->next_target = (out->next_target + 1) % STREAM_SEGMENTS;
}

static void take_control(struct stream* stream, uint32_t what) {
    if (what == STREAM_SHUTDOWN || what == STREAM_DISCONNECT) stream->has_all = true;
    if (what == STREAM_DISCONNECT || (stream->has_all && stream->is_shut))
        stream->state = STREAM_ENDED;
}

static void take_data(struct stream* stream, uint32_t length) {
    struct stream_receiver* in = &stream->in;
    ++in->received;
    if (length <= stream->options.receive_size - in->available)
        in->available += length;
    else
        stream_fail(stream, EPROTO);
}

static void take_message(struct stream* stream, uint32_t message) {
    const uint32_t number = stream_number_of(message);
    ++stream->in.missing;
    switch (stream_kind_of(message)) {
    case STREAM_DATA:
        take_data(stream, number);
        break;
    case STREAM_CREDITS:
        stream->out.limit = (uint16_t)number;
        take_target(stream);
        break;
    case STREAM_MAPPED:
        ++stream->in.received;
        break;
    case STREAM_CONTROL:
        take_control(stream, number);
        break;
    default:
        stream_fail(stream, EPROTO);
    }
}

static int error_of(enum ibv_wc_status status) {
    return status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET;
}

static void take_completion(struct stream* stream, const struct ibv_wc* done) {
    const enum work kind = (enum work)(done->wr_id >> 32);
    if (kind == WORK_CONTROL) --stream->out.controls;
    if (kind == WORK_DATA) {
        ++stream->out.requests;
        stream->out.used -= (uint32_t)done->wr_id;
    }
    if (done->status != IBV_WC_SUCCESS)
        stream_fail(stream, error_of(done->status));
    else if (kind == WORK_RECEIVE)
        take_message(stream, be32toh(done->imm_data));
}

static void post_receives(struct stream* stream) {
    for (; stream->in.missing != 0 && stream->state == STREAM_CONNECTED; --stream->in.missing) {
        struct ibv_recv_wr* bad;
        struct ibv_recv_wr what;
        memset(&what, 0, sizeof what);
        what.wr_id = work_of(WORK_RECEIVE, 0);
        if (ibv_post_recv(stream->id->qp, &what, &bad) != 0) return;
    }
}

void stream_take_completions(struct stream* stream) {
    enum { AT_ONCE = 16 };
    struct ibv_wc done[AT_ONCE];
    int count;
    if (stream->cq == NULL) return;
    do {
        int i;
        count = ibv_poll_cq(stream->cq, AT_ONCE, done);
        if (count < 0) stream_fail(stream, EIO);
        for (i = 0; i < count; ++i)
            take_completion(stream, &done[i]);
        post_receives(stream);
    } while (count == AT_ONCE);
    stream_give_credits(stream);
}
