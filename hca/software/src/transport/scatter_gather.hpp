// The data segments of a work request as one sequence of bytes.
#pragma once

#include "hooks.hpp"

#include <ci/data_path.h>

namespace irpverbs::hca_software::transport {

using segments = std::span<const ib_local_ds_t>;

ULONGLONG total_length(segments list);

/// True if all segments lie in memory that their keys give access to.
bool are_accessible(memory_access& memory, segments list, ib_access_t rights);

/// True if the key gives access to the range, whose memory need not be one piece.
inline bool is_accessible(memory_access& memory, ULONG key, ULONGLONG address, ULONGLONG size,
                          ib_access_t rights) {
    return memory.find_piece(key, address, size, rights) != nullptr;
}

/// Calls `use(memory, bytes)` with each piece of the range until it returns false, or the key gives
/// no access to the rest: then the result is false.
template <class Use>
bool for_each_piece(memory_access& memory, ULONG key, ULONGLONG address, ULONGLONG size,
                    ib_access_t rights, const Use& use) {
    while (size != 0) {
        ULONGLONG piece = size;
        UCHAR* at = memory.find_piece(key, address, piece, rights);
        if (at == nullptr || !use(at, static_cast<std::size_t>(piece))) return false;
        address += piece;
        size -= piece;
    }
    return true;
}

/// Appends the bytes from `offset` on. False: a key is no longer valid.
bool gather(memory_access& memory, segments list, ULONGLONG offset, ULONG size, payload& to);

/// Writes a payload at `offset`, in ascending order. The segments have room for it. False: a key is
/// not valid, lacks IB_AC_LOCAL_WRITE, or a page is not mapped.
bool scatter(memory_access& memory, segments list, ULONGLONG offset, const payload& from);

/// As scatter, to the memory of a receive that the caller completes with this payload: see
/// memory_access::deliver.
bool scatter_to_receive(memory_access& memory, segments list, ULONGLONG offset,
                        const payload& from);

/// Copies a payload to memory of the engine. False: a page is not mapped.
bool collect(memory_access& memory, UCHAR* to, const payload& from);

/// Copies a payload to consecutive memory, in ascending order. False: a page is not mapped.
bool copy_payload(memory_access& memory, UCHAR* to, const payload& from);
/// Copies a payload to a range of a key. False: also the key gives no access to it.
bool copy_payload(memory_access& memory, ULONG key, ULONGLONG address, ib_access_t rights,
                  const payload& from);

} // namespace irpverbs::hca_software::transport
