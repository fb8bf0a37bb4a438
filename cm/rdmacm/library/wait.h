#include <rdmacm/library.h>

#include <rdma/rdma_verbs.h>
#include <stdlib.h>

/* Waits for the event of an operation, if the id was created without a channel. The event is then
   id->event, until the next operation. Returns -1 and sets errno when it is a failure. */
int wait_when_synchronous(struct rdma_cm_id* id) __attribute__((visibility("hidden")));
