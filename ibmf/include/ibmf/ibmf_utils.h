/* Conversion between wire format and structures in host byte order, by a format string. */
#ifndef IRPVERBS_IBMF_IBMF_UTILS_H
#define IRPVERBS_IBMF_IBMF_UTILS_H

#include <ibmf/ib_scalars.h>

NT_EXTERN_C_BEGIN

/* A format is a sequence of items: 'c' 's' 'l' 'L' for 1, 2, 4 and 8 bytes, each after an
   optional decimal count (from 1 to 65535). On the wire the items are big-endian and adjacent.
   In the structure each item is in host byte order and naturally aligned, counted from the start
   of the structure. */

/* Converts `data` to `structure`, item by item, until the format ends or an item does not fit
   into the rest of either. Reads and writes no other bytes.
   Returns: the number of bytes of `data` that were converted (fewer than
   ibmf_utils_wire_size(format) if a buffer was too short), or IBMF_INVALID_ARG: a pointer is
   NULL or the format is invalid; then nothing is written.
   IRQL: any.
   Source: Solaris ibmf_utils.h, where it returns nothing. */
NT_API int ibmf_utils_unpack_data(const char* format, const uchar_t* data, size_t datalen,
                                  void* structure, size_t structlen) NT_NOEXCEPT;

/* Converts `structure` to `data`, item by item, until the format ends or an item does not fit
   into the rest of either.
   Returns: the number of bytes of `data` that were written, or IBMF_INVALID_ARG as
   ibmf_utils_unpack_data.
   IRQL: any. */
NT_API int ibmf_utils_pack_data(const char* format, const void* structure, size_t structlen,
                                uchar_t* data, size_t datalen) NT_NOEXCEPT;

/* Returns the number of bytes on the wire that a format describes, or IBMF_INVALID_ARG for an
   invalid format. IRQL: any. A function of our own. */
NT_API int ibmf_utils_wire_size(const char* format) NT_NOEXCEPT;

NT_EXTERN_C_END

#endif
