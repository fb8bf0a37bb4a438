/* Nothing is deprecated here. */
#ifndef IRPVERBS_WINDOWS_DONTUSE_H_UMBRELLA
#define IRPVERBS_WINDOWS_DONTUSE_H_UMBRELLA

#endif
