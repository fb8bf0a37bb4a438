/* Functions of buffer.c for the other sources of the library. */
#ifndef IRPVERBS_UMAD_BUFFER_H
#define IRPVERBS_UMAD_BUFFER_H

/* Prints the message at debugging level 2. */
void dump_when_debugging(void* umad);

#endif
