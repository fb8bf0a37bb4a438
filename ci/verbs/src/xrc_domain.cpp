#include "xrc_domain.hpp"

#include "open_device.hpp"
#include "own_objects.hpp"

#include <algorithm>
#include <fcntl.h>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <sys/stat.h>

namespace irpverbs::verbs {

struct own_xrc_domain {
    IB_CA* ca = nullptr;
    bool has_file = false;
    struct stat file {};
    unsigned opens = 1;
    IB_XRCD* xrcd = nullptr;
    IB_PD* pd = nullptr;
};

IB_XRCD* xrc_domain::own() const { return opened->xrcd; }
IB_PD* xrc_domain::protection() const { return opened->pd; }

namespace {

struct domain_table {
    std::mutex lock;
    std::list<own_xrc_domain> all;
};

domain_table& domains() {
    static auto* const only = new domain_table; // programs may close domains while they exit
    return *only;
}

bool is_same(const own_xrc_domain& each, const own_xrc_domain& wanted) {
    return each.ca == wanted.ca && each.has_file && wanted.has_file &&
           each.file.st_dev == wanted.file.st_dev && each.file.st_ino == wanted.file.st_ino;
}

// Returns an errno value.
int read_attributes(const ibv_xrcd_init_attr& attr, own_xrc_domain& wanted) {
    constexpr std::uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if ((attr.comp_mask & ~needed) != 0) return EOPNOTSUPP;
    if (attr.comp_mask != needed) return EINVAL;
    wanted.has_file = attr.fd != -1;
    return wanted.has_file && fstat(attr.fd, &wanted.file) != 0 ? errno : 0;
}

// Returns an errno value.
int allocate(own_xrc_domain& made) {
    made.xrcd = own_object<IB_XRCD>(made.ca,
                                    call(CiAllocateXrcd, made.ca, static_cast<CI_UDATA*>(nullptr)));
    if (made.xrcd == nullptr) return errno;
    made.pd = own_object<IB_PD>(made.ca, call(CiAllocatePd, made.ca, ULONG{IB_PDT_NORMAL},
                                              static_cast<CI_UDATA*>(nullptr)));
    if (made.pd != nullptr) return 0;
    const int error = errno;
    destroy_own(CiDeallocateXrcd, made.xrcd);
    return error;
}

// Under the table's lock. Null and errno after a failure. The errors are those of the kernel.
own_xrc_domain* find_or_make(const own_xrc_domain& wanted, int flags) {
    auto& all = domains().all;
    const auto known =
        std::ranges::find_if(all, [&](const auto& each) { return is_same(each, wanted); });
    if (known != all.end()) {
        if ((flags & O_EXCL) == 0) {
            ++known->opens;
            return &*known;
        }
        errno = EINVAL;
        return nullptr;
    }
    if (wanted.has_file && (flags & O_CREAT) == 0) {
        errno = EAGAIN;
        return nullptr;
    }
    own_xrc_domain& made = all.emplace_back(wanted);
    const int error = allocate(made);
    if (error == 0) return &made;
    all.pop_back();
    errno = error;
    return nullptr;
}

} // namespace

ibv_xrcd* open_xrc_domain(ibv_context* of, ibv_xrcd_init_attr* attr) try {
    own_xrc_domain wanted;
    wanted.ca = open_device::of(of).ca();
    if (const int error = read_attributes(*attr, wanted); error != 0) {
        errno = error;
        return nullptr;
    }
    auto made = std::make_unique<xrc_domain>();
    made->context = of;
    const std::lock_guard guard(domains().lock);
    made->opened = find_or_make(wanted, attr->oflags);
    return made->opened != nullptr ? made.release() : nullptr;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

// Targets belong to the XRC domain, so nothing uses the protection domain when that one has ended.
int close_xrc_domain(ibv_xrcd* xrcd) {
    auto& closed = xrc_domain::of(xrcd);
    own_xrc_domain& its = *closed.opened;
    const std::lock_guard guard(domains().lock);
    if (its.opens == 1) {
        const outcome done = destroy_own(CiDeallocateXrcd, its.xrcd);
        if (!done) return done.error();
        destroy_own(CiDeallocatePd, its.pd);
        domains().all.remove_if([&](const own_xrc_domain& each) { return &each == &its; });
    } else {
        --its.opens;
    }
    delete &closed;
    return 0;
}

} // namespace irpverbs::verbs
