#include <ci/common_buffer.h>

#include <ci/support/common_buffers.hpp>
#include <ci/support/shared_memory.hpp>
#include <dispatch/support/spin_lock.hpp>

#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <new>
#include <sys/mman.h>

namespace irpverbs::ci {

namespace {

using detail::shared_memory;
using detail::unique_descriptor;
using dispatch::detail::spin_guard;

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

struct common_buffer_entry : boost::intrusive::set_base_hook<> {
    std::uintptr_t first() const { return number_of(memory.bytes().data()); }

    unique_descriptor file;
    shared_memory memory;
};

/// All of this process. They do not overlap.
class common_buffer_table {
public:
    static common_buffer_table& only() {
        static auto* const made = new common_buffer_table; // programs may free theirs at exit
        return *made;
    }

    void insert(common_buffer_entry& made) {
        const spin_guard guard(lock_);
        all_.insert(made);
    }
    // Null: it is none.
    std::unique_ptr<common_buffer_entry> remove(const void* address) {
        const spin_guard guard(lock_);
        const auto found = all_.find(number_of(address));
        if (found == all_.end()) return nullptr;
        common_buffer_entry& removed = *found;
        all_.erase(found);
        return std::unique_ptr<common_buffer_entry>(&removed);
    }
    unique_descriptor find(std::uintptr_t first, ULONGLONG size, ULONGLONG& offset) const {
        const spin_guard guard(lock_);
        auto found = all_.upper_bound(first);
        if (found == all_.begin()) return {};
        --found;
        const std::size_t whole = found->memory.bytes().size();
        offset = first - found->first();
        if (size == 0 || size > whole || offset > whole - size) return {};
        return unique_descriptor(fcntl(found->file.get(), F_DUPFD_CLOEXEC, 0));
    }

private:
    struct by_address {
        using type = std::uintptr_t;
        type operator()(const common_buffer_entry& each) const { return each.first(); }
    };

    mutable KSPIN_LOCK lock_ = 0;
    boost::intrusive::set<common_buffer_entry, boost::intrusive::key_of_value<by_address>> all_;
};

} // namespace

unique_descriptor common_buffer_of(const void* address, ULONGLONG size, ULONGLONG& offset) {
    return common_buffer_table::only().find(number_of(address), size, offset);
}

} // namespace irpverbs::ci

using namespace irpverbs::ci;

extern "C" {

NTSTATUS CiAllocateCommonBuffer(SIZE_T Length, PVOID* Buffer) {
    if (Length == 0 || Length > PTRDIFF_MAX) return STATUS_INVALID_PARAMETER;
    std::unique_ptr<common_buffer_entry> made(new (std::nothrow) common_buffer_entry);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->memory = shared_memory::make(Length, shared_memory::others::may_write, made->file,
                                       "irpverbs-buffer");
    if (!made->memory) return STATUS_INSUFFICIENT_RESOURCES;
    *Buffer = made->memory.bytes().data();
    madvise(*Buffer, Length, MADV_DOFORK); // unlike a ring, it is the program's
    common_buffer_table::only().insert(*made.release());
    return STATUS_SUCCESS;
}

VOID CiFreeCommonBuffer(PVOID Buffer) { common_buffer_table::only().remove(Buffer); }

} // extern "C"
