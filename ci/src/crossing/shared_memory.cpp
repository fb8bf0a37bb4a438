#include <ci/support/shared_memory.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace irpverbs::ci::detail {

namespace {

// Linux 5.1; the headers of the C library may be older.
#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

} // namespace

shared_memory::~shared_memory() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

shared_memory shared_memory::map_bytes(int descriptor, std::size_t size, int protection) {
    void* const mapped = mmap(nullptr, size, protection, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return {};
    shared_memory made({static_cast<std::byte*>(mapped), size});
    if (madvise(mapped, size, MADV_DONTFORK) != 0) return {};
    return made;
}

// The seal against writing spares mappings that exist before it.
shared_memory shared_memory::make(std::size_t size, others rights, unique_descriptor& made,
                                  const char* name) {
    unique_descriptor file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return {};
    shared_memory mapped = map_bytes(file.get(), size, PROT_READ | PROT_WRITE);
    const int seals =
        size_seals | F_SEAL_SEAL | (rights == others::may_read ? F_SEAL_FUTURE_WRITE : 0);
    if (!mapped || fcntl(file.get(), F_ADD_SEALS, seals) != 0) return {};
    made = std::move(file);
    return mapped;
}

// An access to memory whose size could shrink, or to a large page that the system lacks, would end
// this process by SIGBUS. Other files than a memfd have no seals.
bool shared_memory::is_always_accessible(const unique_descriptor& received) {
    const int seals = fcntl(received.get(), F_GET_SEALS);
    if (seals < 0 || (seals & size_seals) != size_seals) return false;
    struct statfs where {};
    return fstatfs(received.get(), &where) == 0 && where.f_type == TMPFS_MAGIC;
}

shared_memory shared_memory::map(const unique_descriptor& received, others own_rights) {
    struct stat found {};
    if (!is_always_accessible(received) || fstat(received.get(), &found) != 0 || found.st_size <= 0)
        return {};
    const int protection = own_rights == others::may_write ? PROT_READ | PROT_WRITE : PROT_READ;
    return map_bytes(received.get(), static_cast<std::size_t>(found.st_size), protection);
}

} // namespace irpverbs::ci::detail
