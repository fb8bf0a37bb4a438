#include "scatter_gather.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

/// Calls `use` with the memory of each piece of [offset, offset + size) until it returns false.
template <class Use>
bool for_each_piece_of(memory_access& memory, segments list, ULONGLONG offset, ULONGLONG size,
                       ib_access_t rights, const Use& use) {
    for (const ib_local_ds_t& each : list) {
        if (size == 0) return true;
        if (offset >= each.length) {
            offset -= each.length;
            continue;
        }
        const ULONGLONG piece = std::min<ULONGLONG>(each.length - offset, size);
        // Nearly all segments are one piece.
        UCHAR* at = memory.find(each.lkey, each.vaddr + offset, piece, rights);
        if (at != nullptr
                ? !use(at, static_cast<std::size_t>(piece))
                : !for_each_piece(memory, each.lkey, each.vaddr + offset, piece, rights, use))
            return false;
        size -= piece;
        offset = 0;
    }
    return size == 0;
}

} // namespace

ULONGLONG total_length(segments list) {
    ULONGLONG total = 0;
    for (const ib_local_ds_t& each : list)
        total += each.length;
    return total;
}

bool are_accessible(memory_access& memory, segments list, ib_access_t rights) {
    return std::ranges::all_of(list, [&](const ib_local_ds_t& each) {
        return each.length == 0 ||
               memory.find(each.lkey, each.vaddr, each.length, rights) != nullptr ||
               is_accessible(memory, each.lkey, each.vaddr, each.length, rights);
    });
}

bool gather(memory_access& memory, segments list, ULONGLONG offset, ULONG size, payload& to) {
    return for_each_piece_of(memory, list, offset, size, 0,
                             [&](const UCHAR* at, std::size_t piece) {
                                 to.append({at, piece});
                                 return true;
                             });
}

bool scatter(memory_access& memory, segments list, ULONGLONG offset, const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        const UCHAR* next = each.data();
        const auto use = [&](UCHAR* at, std::size_t piece) {
            if (!memory.copy(at, next, piece)) return false;
            next += piece;
            return true;
        };
        if (!for_each_piece_of(memory, list, offset, each.size(), IB_AC_LOCAL_WRITE, use))
            return false;
        offset += each.size();
    }
    return true;
}

bool copy_payload(memory_access& memory, UCHAR* to, const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        if (!memory.copy(to, each.data(), each.size())) return false;
        to += each.size();
    }
    return true;
}

bool copy_payload(memory_access& memory, ULONG key, ULONGLONG address, ib_access_t rights,
                  const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        const UCHAR* next = each.data();
        const auto use = [&](UCHAR* at, std::size_t piece) {
            if (!memory.copy(at, next, piece)) return false;
            next += piece;
            return true;
        };
        if (!for_each_piece(memory, key, address, each.size(), rights, use)) return false;
        address += each.size();
    }
    return true;
}

} // namespace irpverbs::hca_software::transport
