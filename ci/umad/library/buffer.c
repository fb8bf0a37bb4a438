/* Message buffers: their parts, addresses, and text for debugging. Source: seed 001 (libibumad),
   umad_set_addr(3) and its likes. */
#include "buffer.h"

#include <infiniband/umad.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static int debug_level;

void* umad_get_mad(void* umad) { return ((struct ib_user_mad*)umad)->data; }

size_t umad_size(void) { return sizeof(struct ib_user_mad); }

int umad_status(void* umad) { return (int)((struct ib_user_mad*)umad)->status; }

ib_mad_addr_t* umad_get_mad_addr(void* umad) { return &((struct ib_user_mad*)umad)->addr; }

/* mad_addr NULL: the message has no GRH. */
int umad_set_grh(void* umad, void* mad_addr) {
    ib_mad_addr_t* to = umad_get_mad_addr(umad);
    const ib_mad_addr_t* from = mad_addr;
    to->grh_present = from != NULL;
    if (from == NULL) return 0;
    memcpy(to->gid, from->gid, sizeof to->gid);
    to->flow_label = htonl(from->flow_label);
    to->hop_limit = from->hop_limit;
    to->traffic_class = from->traffic_class;
    return 0;
}

int umad_set_pkey(void* umad, int pkey_index) {
    umad_get_mad_addr(umad)->pkey_index = (uint16_t)pkey_index;
    return 0;
}

int umad_get_pkey(void* umad) { return umad_get_mad_addr(umad)->pkey_index; }

int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
    ib_mad_addr_t* to = umad_get_mad_addr(umad);
    to->lid = dlid;
    to->qpn = dqp;
    to->qkey = qkey;
    to->sl = (uint8_t)sl;
    return 0;
}

int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
    return umad_set_addr_net(umad, htons((uint16_t)dlid), htonl((uint32_t)dqp), sl,
                             htonl((uint32_t)qkey));
}

int umad_debug(int level) {
    if (level >= 0) debug_level = level;
    return debug_level;
}

void umad_addr_dump(ib_mad_addr_t* addr) {
    fprintf(stderr,
            "qpn %u qkey 0x%x lid %u sl %d\n"
            "grh_present %d gid_index %d hop_limit %d traffic_class %d flow_label 0x%x pkey_index "
            "0x%x\n"
            "Gid 0x",
            ntohl(addr->qpn), ntohl(addr->qkey), ntohs(addr->lid), addr->sl, addr->grh_present,
            addr->gid_index, addr->hop_limit, addr->traffic_class, addr->flow_label,
            addr->pkey_index);
    for (size_t i = 0; i < sizeof addr->gid; ++i)
        fprintf(stderr, "%02x", addr->gid[i]);
    fputc('\n', stderr);
}

void umad_dump(void* umad) {
    const struct ib_user_mad* message = umad;
    fprintf(stderr, "agent id %u status %x timeout %u\n", message->agent_id, message->status,
            message->timeout_ms);
    umad_addr_dump(umad_get_mad_addr(umad));
}

void dump_when_debugging(void* umad) {
    if (debug_level > 1) umad_dump(umad);
}
