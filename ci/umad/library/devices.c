/* Devices and ports: names, attributes, lists. Source: seed 001 (libibumad), umad_get_ca(3) and its
   likes; the error numbers are those of rdma-core 44. */
#include <umad/border.h>

#include <errno.h>
#include <string.h>

int umad_init(void) { return 0; }

int umad_done(void) { return 0; }

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
    const int before = irpverbs_enter();
    const int count = irpverbs_umad_names(cas, max);
    irpverbs_leave(before);
    return count;
}

int umad_get_ca(const char* ca_name, umad_ca_t* ca) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_get_ca(ca_name, ca);
    irpverbs_leave(before);
    if (result < 0) errno = -result;
    return result;
}

int umad_release_port(umad_port_t* port) {
    if (port == NULL) return -ENODEV;
    free(port->pkeys);
    port->pkeys = NULL;
    port->pkeys_size = 0;
    return 0;
}

int umad_release_ca(umad_ca_t* ca) {
    if (ca == NULL) return -ENODEV;
    for (int i = 0; i <= ca->numports && i < UMAD_CA_MAX_PORTS; ++i) {
        if (ca->ports[i] == NULL) continue;
        umad_release_port(ca->ports[i]);
        free(ca->ports[i]);
        ca->ports[i] = NULL;
    }
    return 0;
}

int umad_get_port(const char* ca_name, int portnum, umad_port_t* port) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_get_port(ca_name, portnum, port);
    irpverbs_leave(before);
    if (result < 0) errno = -result;
    return result;
}

/* Entry 0 is port 0, which a channel adapter does not have. */
int umad_get_ca_portguids(const char* ca_name, __be64* portguids, int max) {
    umad_ca_t ca;
    int count = 0;
    const int result = umad_get_ca(ca_name, &ca);
    if (result < 0) return result == -ENODEV ? -ENODEV : -1;
    if (portguids != NULL && ca.numports + 1 > max)
        count = -ENOMEM;
    else if (portguids != NULL)
        for (int i = 0; i <= ca.numports; ++i)
            portguids[count++] = ca.ports[i] != NULL ? ca.ports[i]->port_guid : 0;
    umad_release_ca(&ca);
    return count;
}

int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_issm_path(ca_name, portnum, path, max);
    irpverbs_leave(before);
    return result;
}

/* A node of a list is one block with its name. */
struct named_node {
    struct umad_device_node node;
    char name[UMAD_CA_NAME_LEN];
};

static struct umad_device_node* new_node(const char name[UMAD_CA_NAME_LEN]) {
    struct named_node* made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    memcpy(made->name, name, sizeof made->name);
    made->node.ca_name = made->name;
    return &made->node;
}

struct umad_device_node* umad_get_ca_device_list(void) {
    char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
    struct umad_device_node* head = NULL;
    struct umad_device_node** end = &head;
    const int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
    for (int i = 0; i < count; ++i) {
        *end = new_node(names[i]);
        if (*end == NULL) {
            umad_free_ca_device_list(head);
            errno = ENOMEM;
            return NULL;
        }
        end = &(*end)->next;
    }
    return head;
}

void umad_free_ca_device_list(struct umad_device_node* head) {
    while (head != NULL) {
        struct umad_device_node* next = head->next;
        free(head); /* and the name in the same block */
        head = next;
    }
}

static int by_name(const void* left, const void* right) {
    const struct umad_device_node* const* l = left;
    const struct umad_device_node* const* r = right;
    return strcmp((*l)->ca_name, (*r)->ca_name);
}

/* Sorts the first `size` nodes, or all when it is 0. */
int umad_sort_ca_device_list(struct umad_device_node** head, size_t size) {
    size_t count = 0;
    if (head == NULL || *head == NULL) return 0;
    for (struct umad_device_node* each = *head; each != NULL; each = each->next)
        ++count;
    if (size != 0 && size < count) count = size;
    struct umad_device_node** all = calloc(count, sizeof *all);
    if (all == NULL) return -ENOMEM;
    struct umad_device_node* rest = *head;
    for (size_t i = 0; i < count; ++i, rest = rest->next)
        all[i] = rest;
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 0; i < count; ++i)
        all[i]->next = i + 1 < count ? all[i + 1] : rest;
    *head = all[0];
    free(all);
    return 0;
}
