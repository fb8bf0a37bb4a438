/* Buffers that the peer writes to directly: riomap, riowrite. */
#include "stream.h"

#include <errno.h>
#include <string.h>

/* ---- own buffers */

static bool has_slot(const struct stream* stream, int slot) {
    const struct stream_own_mapping* each;
    for (each = stream->mappings; each != NULL; each = each->next)
        if (each->slot == slot) return true;
    return false;
}

/* -1: none is free. */
static int free_slot(const struct stream* stream) {
    int slot;
    for (slot = 0; slot < (int)stream->peers_mapping_count && slot < STREAM_MOST_MAPPINGS; ++slot)
        if (!has_slot(stream, slot)) return slot;
    return -1;
}

static int set_slot(const struct stream* stream, struct stream_own_mapping* made, int prot) {
    made->slot = -1;
    if ((prot & PROT_WRITE) == 0) return 0;
    made->slot = free_slot(stream);
    made->is_pending = true;
    return made->slot >= 0 ? 0 : ENOSPC;
}

static int add_mapping(struct stream* stream, struct stream_own_mapping* made, void* buf,
                       size_t len, int prot) {
    const int error = set_slot(stream, made, prot);
    if (error != 0) return error;
    made->mr =
        irpverbs_ibv_reg_mr(stream->id->pd, buf, len,
                            made->slot >= 0 ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0);
    if (made->mr == NULL) return errno;
    made->next = stream->mappings;
    stream->mappings = made;
    return 0;
}

static int map(struct stream* stream, void* buf, size_t len, int prot, off_t* offset) {
    struct stream_own_mapping* made;
    int error;
    if (stream->id->pd == NULL) return ENOTCONN;
    if ((prot & ~PROT_WRITE) != 0 || len > UINT32_MAX) return EINVAL;
    made = calloc(1, sizeof *made);
    if (made == NULL) return ENOMEM;
    if (*offset == -1) *offset = (off_t)(uintptr_t)buf;
    made->offset = (uint64_t)*offset;
    error = add_mapping(stream, made, buf, len, prot);
    if (error != 0) free(made);
    return error;
}

off_t riomap(int socket, void* buf, size_t len, int prot, int flags, off_t offset) {
    struct stream_call call;
    int error = EINVAL;
    if (!stream_begin(&call, socket)) return -1;
    if (flags == 0) error = map(call.on, buf, len, prot, &offset);
    stream_end(&call);
    return error == 0 ? offset : stream_result(error);
}

static void free_mapping(struct stream_own_mapping* mapping) {
    irpverbs_ibv_dereg_mr(mapping->mr);
    free(mapping);
}

static int unmap(struct stream* stream, const void* buf, size_t len) {
    struct stream_own_mapping** at = &stream->mappings;
    struct stream_own_mapping* found;
    while (*at != NULL && ((*at)->mr->addr != buf || (*at)->mr->length != len))
        at = &(*at)->next;
    if (*at == NULL) return EINVAL;
    found = *at;
    *at = found->next;
    free_mapping(found);
    return 0;
}

int riounmap(int socket, void* buf, size_t len) {
    struct stream_call call;
    int error;
    if (!stream_begin(&call, socket)) return -1;
    error = unmap(call.on, buf, len);
    stream_end(&call);
    return stream_result(error);
}

void stream_free_mappings(struct stream* stream) {
    while (stream->mappings != NULL) {
        struct stream_own_mapping* first = stream->mappings;
        stream->mappings = first->next;
        free_mapping(first);
    }
}

bool stream_has_mapping(const struct stream* stream) {
    const struct stream_own_mapping* each;
    for (each = stream->mappings; each != NULL; each = each->next)
        if (each->is_pending) return true;
    return false;
}

int stream_send_mapping(struct stream* stream) {
    struct stream_own_mapping* each = stream->mappings;
    while (!each->is_pending)
        each = each->next;
    each->is_pending = false;
    return stream_write_mapping(stream, each);
}

/* ---- the peer's buffers */

/* The part of a mapping behind an offset. Its length is 0 if the peer has mapped none there. */
static struct stream_segment find_mapped(const struct stream* stream, uint64_t offset) {
    struct stream_segment found = {0, 0, 0};
    uint32_t i;
    for (i = 0; i < stream->options.mappings; ++i) {
        const struct stream_mapping* each = &stream->table->mappings[i];
        if (offset < each->offset || offset - each->offset >= each->segment.length) continue;
        found = each->segment;
        found.address += offset - each->offset;
        found.length -= (uint32_t)(offset - each->offset);
        break;
    }
    return found;
}

int stream_write_mapped(struct stream* stream, const uint8_t* from, size_t size, uint64_t offset,
                        uint32_t* written) {
    const struct stream_segment to = find_mapped(stream, offset);
    if (to.length == 0) return EFAULT;
    *written = stream_stage(stream, from, size < to.length ? size : to.length);
    return stream_write_directly(stream, *written, to.address, to.key);
}
