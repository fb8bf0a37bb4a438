/* The queues and the memory of a socket, and how the ends of a connection announce theirs. */
#include "stream.h"

#include <errno.h>
#include <string.h>

static bool is_big_endian(void) { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; }

/* ---- queues */

static int make_queues(struct stream* stream) {
    const struct stream_options* wanted = &stream->options;
    struct ibv_qp_init_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    attr.cap.max_send_wr = wanted->send_requests + STREAM_CONTROLS;
    attr.cap.max_recv_wr = wanted->receive_requests + STREAM_CONTROLS;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = 1;
    attr.cap.max_inline_data = wanted->inline_size;
    stream->completions = irpverbs_ibv_create_comp_channel(stream->id->verbs);
    if (stream->completions == NULL) return errno;
    stream->cq = irpverbs_ibv_create_cq(stream->id->verbs,
                                        (int)(attr.cap.max_send_wr + attr.cap.max_recv_wr), stream,
                                        stream->completions, 0);
    if (stream->cq == NULL) return errno;
    attr.send_cq = attr.recv_cq = stream->cq;
    if (rdma_create_qp(stream->id, NULL, &attr) != 0) return errno;
    stream->out.requests = wanted->send_requests;
    stream->out.inline_size = wanted->inline_size;
    return 0;
}

static int post_first_receives(struct stream* stream) {
    uint32_t i;
    for (i = 0; i < stream->options.receive_requests + STREAM_CONTROLS; ++i) {
        struct ibv_recv_wr what;
        struct ibv_recv_wr* bad;
        int error;
        memset(&what, 0, sizeof what);
        error = ibv_post_recv(stream->id->qp, &what, &bad);
        if (error != 0) return error;
    }
    return 0;
}

/* ---- memory */

static void* make_memory(struct stream* stream, size_t size, int access, struct ibv_mr** mr) {
    void* const made = calloc(1, size);
    if (made == NULL) return NULL;
    *mr = irpverbs_ibv_reg_mr(stream->id->pd, made, size, access | IBV_ACCESS_LOCAL_WRITE);
    if (*mr != NULL) return made;
    free(made);
    return NULL;
}

static void free_memory(void* memory, struct ibv_mr* mr) {
    if (mr != NULL) irpverbs_ibv_dereg_mr(mr);
    free(memory);
}

static int make_buffers(struct stream* stream) {
    struct stream_sender* out = &stream->out;
    struct stream_receiver* in = &stream->in;
    out->staging =
        make_memory(stream, sizeof *out->staging + stream->options.send_size, 0, &out->mr);
    in->ring = make_memory(stream, stream->options.receive_size, IBV_ACCESS_REMOTE_WRITE, &in->mr);
    stream->table =
        make_memory(stream, sizeof *stream->table, IBV_ACCESS_REMOTE_WRITE, &stream->table_mr);
    if (out->staging == NULL || in->ring == NULL || stream->table == NULL) return ENOMEM;
    out->ring = (uint8_t*)(out->staging + 1);
    in->next_half = in->read = stream->options.receive_size / 2; /* the first half is the peer's */
    return 0;
}

int stream_make_endpoint(struct stream* stream) {
    int error = make_queues(stream);
    if (error == 0) error = make_buffers(stream);
    return error == 0 ? post_first_receives(stream) : error;
}

void stream_free_endpoint(struct stream* stream) {
    if (stream->id != NULL && stream->id->qp != NULL) rdma_destroy_qp(stream->id);
    if (stream->cq != NULL) irpverbs_ibv_destroy_cq(stream->cq);
    if (stream->completions != NULL) irpverbs_ibv_destroy_comp_channel(stream->completions);
    free_memory(stream->out.staging, stream->out.mr);
    free_memory(stream->in.ring, stream->in.mr);
    free_memory(stream->table, stream->table_mr);
}

/* ---- greetings */

static struct stream_segment on_wire(const void* at, const struct ibv_mr* mr, uint32_t length) {
    const struct stream_segment made = {htobe64((uintptr_t)at), htobe32(mr->rkey), htobe32(length)};
    return made;
}

static struct stream_segment from_wire(const struct stream_segment* sent) {
    const struct stream_segment made = {be64toh(sent->address), be32toh(sent->key),
                                        be32toh(sent->length)};
    return made;
}

static uint32_t mapping_count(uint8_t sent) {
    return sent <= STREAM_MOST_MAPPINGS ? sent : (sent & 0x7Fu) << 8;
}

struct stream_greeting stream_greet(const struct stream* stream) {
    struct stream_greeting made;
    memset(&made, 0, sizeof made);
    made.version = STREAM_VERSION;
    made.flags = (uint8_t)(STREAM_HAS_MAPPINGS | (is_big_endian() ? STREAM_BIG_ENDIAN : 0));
    made.credits = htobe16((uint16_t)stream->options.receive_requests);
    made.mappings = (uint8_t)stream->options.mappings;
    made.table = on_wire(stream->table, stream->table_mr, STREAM_SEGMENTS);
    made.first = on_wire(stream->in.ring, stream->in.mr, stream->options.receive_size / 2);
    return made;
}

bool stream_take_greeting(struct stream* stream, const void* data, size_t size) {
    struct stream_greeting sent;
    if (data == NULL || size < sizeof sent) return false;
    memcpy(&sent, data, sizeof sent);
    stream->peers_table = from_wire(&sent.table);
    if (sent.version != STREAM_VERSION || stream->peers_table.length == 0) return false;
    stream->swaps = ((sent.flags & STREAM_BIG_ENDIAN) != 0) != is_big_endian();
    if ((sent.flags & STREAM_HAS_MAPPINGS) != 0) {
        stream->peers_mapping_count = mapping_count(sent.mappings);
        stream->peers_mappings = stream->peers_table.address +
                                 stream->peers_table.length * sizeof(struct stream_segment);
    }
    stream->out.limit = be16toh(sent.credits);
    stream->out.targets[0] = from_wire(&sent.first);
    stream->out.next_target = 1;
    stream->in.next_slot = 1 % stream->peers_table.length;
    return true;
}
