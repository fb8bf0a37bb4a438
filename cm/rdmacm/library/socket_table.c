/* The sockets of both types by their numbers. */
#include "datagram.h"

#include <errno.h>
#include <string.h>

struct entry {
    struct stream* stream; /* NULL: none of this type */
    struct datagram* datagram;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry* entries; /* by number; guarded by the lock, as the next */
static size_t entry_count;

static struct entry find(int socket) {
    struct entry found = {NULL, NULL};
    pthread_mutex_lock(&table_lock);
    if (socket >= 0 && (size_t)socket < entry_count) found = entries[socket];
    pthread_mutex_unlock(&table_lock);
    return found;
}

struct stream* stream_find(int socket) {
    struct stream* const found = find(socket).stream;
    if (found == NULL) errno = EBADF;
    return found;
}

struct datagram* datagram_find(int socket) {
    return find(socket).datagram;
}

static bool make_room(size_t wanted) {
    struct entry* more;
    if (wanted <= entry_count) return true;
    more = realloc(entries, wanted * sizeof *entries);
    if (more == NULL) return false;
    memset(more + entry_count, 0, (wanted - entry_count) * sizeof *entries);
    entries = more;
    entry_count = wanted;
    return true;
}

bool socket_publish(int number, struct stream* stream, struct datagram* datagram) {
    const struct entry made = {stream, datagram};
    bool has_room;
    pthread_mutex_lock(&table_lock);
    has_room = make_room((size_t)number + 1);
    if (has_room) entries[number] = made;
    pthread_mutex_unlock(&table_lock);
    return has_room;
}

void socket_forget(int number) {
    const struct entry none = {NULL, NULL};
    pthread_mutex_lock(&table_lock);
    entries[number] = none;
    pthread_mutex_unlock(&table_lock);
}
