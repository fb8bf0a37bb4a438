/* The C run-time library has nothing of it in a kernel. */
#ifndef IRPVERBS_WINDOWS_PROCESS_H_UMBRELLA
#define IRPVERBS_WINDOWS_PROCESS_H_UMBRELLA

#endif
