// Regions in common buffers: the daemon has their memory mapped, and copies without its client.
#include "../connected_end.hpp"
#include "raw_client.hpp"
#include "surviving_peer.hpp"

#include <ci/common_buffer.hpp>
#include <served_objects.hpp>

#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using ci::detail::unique_descriptor;

constexpr std::size_t page = 4096;
constexpr ib_access_t all_rights = IB_AC_LOCAL_WRITE | IB_AC_REMOTE;

/// Mappings of common buffers in this process, which is the daemon and its clients.
int own_buffers() { return own_mappings("irpverbs-buffer"); }

/// A region of a common buffer, or of other memory.
class region {
public:
    region(IB_PD* pd, void* first, std::size_t size, ib_access_t rights = all_rights)
        : bytes_(static_cast<UCHAR*>(first), size), mr_(register_mr(pd, first, size, rights)) {}
    ~region() { EXPECT_EQ(deregister_mr(mr_), STATUS_SUCCESS); }
    region(const region&) = delete;
    region& operator=(const region&) = delete;

    std::span<UCHAR> bytes() const { return bytes_; }
    ULONG key() const { return mr_->LKey; }
    IB_MR* get() const { return mr_; }
    ULONGLONG address() const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(bytes_.data()));
    }
    ib_local_ds_t segment() const { return {address(), static_cast<ULONG>(bytes_.size()), key()}; }
    ib_send_remote_ops_t remote() const { return {address(), 2, 0, key()}; }

private:
    std::span<UCHAR> bytes_;
    IB_MR* mr_;
};

class CommonBuffers : public ::testing::Test {
protected:
    explicit CommonBuffers(const UAL_OPTIONS* limits = nullptr) : serving(limits) {
        here.emplace(serving.uri());
        one.emplace(first_hca());
        other.emplace(first_hca());
        one->connect(*other);
        other->connect(*one);
    }

    /// Returns the status of a work request on these memories.
    ULONG status_of(ib_wr_type_t type, const region& local, const region& remote) {
        ib_local_ds_t segment = local.segment();
        ib_send_wr_t what = one->remote(type, 1, *other, 0);
        what.ds_array = &segment;
        what.remote_ops = remote.remote();
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        return one->next().Status;
    }
    ULONG status_of_send(const region& from, const region& to) {
        ib_local_ds_t into = to.segment();
        ib_recv_wr_t receive{nullptr, 2, &into, 1};
        EXPECT_EQ(CiPostRecv(other->qp, &receive, nullptr), STATUS_SUCCESS);
        ib_local_ds_t segment = from.segment();
        ib_send_wr_t what = one->send(1, 0);
        what.ds_array = &segment;
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        const ULONG status = one->next().Status;
        EXPECT_EQ(other->next().Status, status);
        return status;
    }
    /// Transfers by each kind of work request, with other bytes each time.
    void expect_transfers(const region& from, const region& to) {
        std::ranges::fill(from.bytes(), ++value);
        EXPECT_EQ(status_of_send(from, to), ULONG{IB_WC_SUCCESS});
        expect_same(from, to);
        std::ranges::fill(from.bytes(), ++value);
        EXPECT_EQ(status_of(WR_RDMA_WRITE, from, to), ULONG{IB_WC_SUCCESS});
        expect_same(from, to);
        std::ranges::fill(to.bytes(), ++value);
        EXPECT_EQ(status_of(WR_RDMA_READ, from, to), ULONG{IB_WC_SUCCESS});
        expect_same(from, to);
    }
    static void expect_same(const region& from, const region& to) {
        EXPECT_TRUE(std::ranges::equal(from.bytes(), to.bytes()));
    }
    ULONG mapped() { return serving.counters().CommonMemory; }

    test_daemon serving;
    std::optional<client> here;
    std::optional<connected_end> one;
    std::optional<connected_end> other;
    UCHAR value = 0;
};

TEST_F(CommonBuffers, BetweenBuffersAndPrivateMemory_AllTransfersArrive) {
    constexpr std::size_t size = 3 * page + 40;
    const ci::common_buffer first(4 * page);
    const ci::common_buffer second(4 * page);
    std::vector<UCHAR> own(size);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{48}}) {
        const region shared(one->pd(), first.bytes().data() + offset, size);
        const region shared_too(other->pd(), second.bytes().data() + offset, size);
        const region private_of_one(one->pd(), own.data(), size);
        const region private_of_other(other->pd(), own.data(), size);
        EXPECT_EQ(mapped(), 2u);
        expect_transfers(shared, shared_too);
        expect_transfers(shared, private_of_other);
        expect_transfers(private_of_one, shared_too);
    }
    EXPECT_EQ(mapped(), 0u);
}

// The client's own pages are not accessible: nothing of its memory is used but the file.
TEST_F(CommonBuffers, Transfer_DoesNotNeedTheClientsMapping) {
    const ci::common_buffer from(page);
    const ci::common_buffer to(page);
    std::memset(from.bytes().data(), 7, page);
    const region source(one->pd(), from.bytes().data(), page);
    const region target(other->pd(), to.bytes().data(), page);
    for (const ci::common_buffer* each : {&from, &to})
        mprotect(each->bytes().data(), page, PROT_NONE);
    EXPECT_EQ(status_of_send(source, target), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(status_of(WR_RDMA_WRITE, source, target), ULONG{IB_WC_SUCCESS});
    for (const ci::common_buffer* each : {&from, &to})
        mprotect(each->bytes().data(), page, PROT_READ | PROT_WRITE);
    expect_same(source, target);
}

// Bytes of small messages to private memory are copied by the client's own poll, which would end it
// here by SIGSEGV.
TEST_F(CommonBuffers, ReceiveOfAPageThatIsGone_IsNoHarmToThePoll) {
    const ci::common_buffer to(page);
    const region target(other->pd(), to.bytes().data(), 8);
    const region source(one->pd(), one->bytes().data(), 8);
    for (int i = 0; i < 3; ++i) // the page has had messages before
        EXPECT_EQ(status_of_send(source, target), ULONG{IB_WC_SUCCESS});
    std::ranges::fill(source.bytes(), ++value);
    mprotect(to.bytes().data(), page, PROT_NONE);
    EXPECT_EQ(status_of_send(source, target), ULONG{IB_WC_SUCCESS});
    mprotect(to.bytes().data(), page, PROT_READ | PROT_WRITE);
    expect_same(source, target);
}

TEST_F(CommonBuffers, Atomics_ReachTheBuffer) {
    const ci::common_buffer result(page);
    const ci::common_buffer counter(page);
    const region into(one->pd(), result.bytes().data(), 8);
    const region at(other->pd(), counter.bytes().data() + 8, 8);
    at.bytes()[0] = 40;
    EXPECT_EQ(status_of(WR_FETCH_ADD, into, at), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(into.bytes()[0], 40);
    EXPECT_EQ(at.bytes()[0], 42);
}

TEST_F(CommonBuffers, RegionsOfABuffer_ShareAMapping) {
    const int before = own_buffers();
    {
        const ci::common_buffer buffer(8 * page);
        EXPECT_EQ(own_buffers(), before + 1);
        std::vector<std::unique_ptr<region>> all;
        for (std::size_t i = 0; i < 8; ++i)
            all.push_back(
                std::make_unique<region>(one->pd(), buffer.bytes().data() + i * page, page));
        EXPECT_EQ(mapped(), 1u);
        EXPECT_EQ(own_buffers(), before + 2);
        while (all.size() > 1)
            all.pop_back();
        EXPECT_EQ(own_buffers(), before + 2);
        const region of_other(other->pd(), buffer.bytes().data(), page); // another connection
        EXPECT_EQ(mapped(), 2u);
        EXPECT_EQ(own_buffers(), before + 3);
    }
    EXPECT_EQ(mapped(), 0u);
    EXPECT_EQ(own_buffers(), before);
}

// A key that is valid gives access to the region alone, with its rights.
TEST_F(CommonBuffers, RightsAndRange_AreThoseOfTheRegion) {
    const ci::common_buffer buffer(4 * page);
    const region local(one->pd(), buffer.bytes().data(), page);
    const region read_only(other->pd(), buffer.bytes().data() + page, page, IB_AC_RDMA_READ);
    EXPECT_EQ(status_of(WR_RDMA_READ, local, read_only), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(status_of(WR_RDMA_WRITE, local, read_only), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    connected_end from(first_hca());
    connected_end to(first_hca());
    from.connect(to);
    to.connect(from);
    const region target(to.pd(), buffer.bytes().data() + 2 * page, page);
    ib_send_wr_t what = from.remote(WR_RDMA_WRITE, 1, to, 8);
    what.remote_ops = {target.address() + page - 4, 0, 0, target.key()};
    EXPECT_EQ(from.post(what), STATUS_SUCCESS);
    EXPECT_EQ(from.next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_EQ(buffer.bytes()[3 * page], std::byte{0});
}

TEST_F(CommonBuffers, RegionWithOtherMemoryToo_IsPrivate) {
    const ci::common_buffer buffer(page);
    const region too_long(one->pd(), buffer.bytes().data(), page + 1);
    const region empty(one->pd(), buffer.bytes().data(), 0);
    EXPECT_EQ(mapped(), 0u);
}

TEST_F(CommonBuffers, ChangedRegion_HasItsNewMemory) {
    const ci::common_buffer source(page);
    const ci::common_buffer first(page);
    const ci::common_buffer second(page);
    std::vector<UCHAR> own(page);
    const region from(one->pd(), source.bytes().data(), page);
    const region target(other->pd(), own.data(), page);
    for (void* const memory :
         {static_cast<void*>(first.bytes().data()), // from private memory
          static_cast<void*>(second.bytes().data()), static_cast<void*>(own.data())}) {
        ib_mr_mod_t change{};
        change.opts = IB_MR_MOD_ADDR;
        change.create.vaddr = memory;
        change.create.length = page;
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiModifyMr(target.get(), &change, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        std::ranges::fill(from.bytes(), ++value);
        ib_local_ds_t segment = from.segment();
        ib_send_wr_t write = one->remote(WR_RDMA_WRITE, 1, *other, 0);
        write.ds_array = &segment;
        write.remote_ops = {reinterpret_cast<std::uintptr_t>(memory), 0, 0, target.get()->RKey};
        EXPECT_EQ(one->post(write), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(std::memcmp(memory, from.bytes().data(), page), 0);
    }
}

// Other rights alone leave the region where it is.
TEST_F(CommonBuffers, ChangedRights_LeaveTheMappingInUse) {
    const ci::common_buffer source(page);
    const ci::common_buffer buffer(page);
    const region from(one->pd(), source.bytes().data(), page);
    const region target(other->pd(), buffer.bytes().data(), page, IB_AC_LOCAL_WRITE);
    ib_mr_mod_t change{};
    change.opts = IB_MR_MOD_ACCESS;
    change.create.access_ctrl = all_rights;
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiModifyMr(target.get(), &change, nullptr, irp);
              }).status(),
              STATUS_SUCCESS);
    std::ranges::fill(from.bytes(), ++value);
    mprotect(buffer.bytes().data(), page, PROT_NONE);
    EXPECT_EQ(status_of(WR_RDMA_WRITE, from, target), ULONG{IB_WC_SUCCESS});
    mprotect(buffer.bytes().data(), page, PROT_READ | PROT_WRITE);
    expect_same(from, target);
}

// The program is wrong, and harms itself alone: the daemon's mapping keeps the memory.
TEST_F(CommonBuffers, BufferThatIsFreedBeforeItsRegion_StaysMapped) {
    const ci::common_buffer source(page);
    const region from(one->pd(), source.bytes().data(), page);
    std::optional<ci::common_buffer> freed(page);
    const region target(other->pd(), freed->bytes().data(), page);
    freed.reset();
    EXPECT_EQ(status_of(WR_RDMA_WRITE, from, target), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(mapped(), 2u);
}

TEST_F(CommonBuffers, ChildOfFork_HasTheBuffer) {
    const ci::common_buffer buffer(page);
    const pid_t child = fork();
    if (child == 0) {
        buffer.bytes()[0] = std::byte{9};
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(buffer.bytes()[0], std::byte{9});
}

TEST(CommonBuffer, NoBytesOrTooMany_IsRefused) {
    void* made = nullptr;
    EXPECT_EQ(CiAllocateCommonBuffer(0, &made), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiAllocateCommonBuffer(~SIZE_T{0}, &made), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiAllocateCommonBuffer(SIZE_T{1} << 60, &made), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(made, nullptr);
    CiFreeCommonBuffer(nullptr);
}

TEST(CommonBuffer, Moved_IsFreedOnce) {
    const int before = own_buffers();
    {
        ci::common_buffer first(page);
        ci::common_buffer second(std::move(first));
        first = std::move(second);
        EXPECT_EQ(own_buffers(), before + 1);
    }
    EXPECT_EQ(own_buffers(), before);
}

class SmallCommonMemory : public CommonBuffers {
protected:
    SmallCommonMemory() : CommonBuffers(&limits()) {}

private:
    static const UAL_OPTIONS& limits() {
        static const UAL_OPTIONS made = [] {
            UAL_OPTIONS options;
            UAL_OPTIONS_INIT(&options);
            options.MaxCommonMemory = 2;
            return options;
        }();
        return made;
    }
};

// A buffer without room is private memory, until another one leaves.
TEST_F(SmallCommonMemory, BeyondTheLimit_RegionsArePrivate) {
    const ci::common_buffer large((std::size_t{1} << 20) + 1);
    const ci::common_buffer small(page);
    const region last(other->pd(), small.bytes().data(), page);
    EXPECT_EQ(mapped(), 1u);
    {
        const region whole(one->pd(), large.bytes().data(), large.bytes().size());
        const region part(one->pd(), large.bytes().data(), page);
        EXPECT_EQ(mapped(), 1u);
        expect_transfers(part, last);
    }
    const ci::common_buffer fits(std::size_t{1} << 20);
    const region mapped_too(one->pd(), fits.bytes().data(), page);
    EXPECT_EQ(mapped(), 2u);
}

// ---- clients that are not ours

/// A client that registers what it passes. It has no memory by another descriptor, so a region that
/// is not mapped is not supported.
struct hostile_owner : raw_ca {
    static constexpr std::size_t size = 2 * page;

    explicit hostile_owner(test_daemon& serving) : raw_ca(serving) {
        pd = ask(request_of(HCA_MN_ALLOCATE_PD, handle, IB_PDT_NORMAL)).information;
    }
    wire::reply register_bytes(const unique_descriptor& file, std::uint64_t offset = 0,
                               ULONGLONG length = size) {
        const ib_mr_create_t region{&pd, length, all_rights, 0};
        wire::request create = request_of(HCA_MN_REGISTER_MR, pd);
        create.value_size = sizeof(region);
        create.offset = offset;
        return ask_with(file, create, region);
    }
    NTSTATUS change(std::uint64_t region, const unique_descriptor& file, std::uint64_t offset = 0) {
        ib_mr_mod_t wanted{};
        wanted.opts = IB_MR_MOD_ADDR;
        wanted.create.vaddr = &pd;
        wanted.create.length = size;
        wire::request modify = request_of(HCA_MN_MODIFY_MR, region);
        modify.value_size = sizeof(wanted);
        modify.offset = offset;
        return ask_with(file, modify, wanted).status;
    }
    NTSTATUS deregister(std::uint64_t region) {
        return status_of(request_of(HCA_MN_DEREGISTER_MR, region));
    }
    template <class Value>
    wire::reply ask_with(const unique_descriptor& file, const wire::request& head,
                         const Value& value) {
        ci::detail::descriptors passed;
        passed[0] = unique_descriptor(dup(file.get()));
        struct {
            wire::request head;
            Value value;
        } whole{head, value};
        static_assert(sizeof(whole) == wire::padded(sizeof(head) + sizeof(value)));
        wire::reply made{};
        send(whole, passed);
        EXPECT_TRUE(receive(made));
        return made;
    }

    std::uint64_t pd = 0;
};

/// A memfd of that size.
unique_descriptor file_of(std::size_t size, int seals, unsigned flags = 0) {
    unique_descriptor made(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    EXPECT_EQ(ftruncate(made.get(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(fcntl(made.get(), F_ADD_SEALS, seals), 0);
    return made;
}

/// This process comes to have so many: the daemon closes those of a message behind its reply.
void expect_descriptors(test_daemon& serving, int count) {
    serving.run([&] { EXPECT_TRUE(await([&] { return own_descriptors() == count; })); });
}

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

TEST(HostileBuffer, SealedMemory_IsMappedWhole) {
    test_daemon serving;
    hostile_owner client(serving);
    const unique_descriptor file = file_of(hostile_owner::size, size_seals);
    const wire::reply made = client.register_bytes(file);
    EXPECT_EQ(made.status, STATUS_SUCCESS);
    EXPECT_EQ(serving.counters().CommonMemory, 1u);
    EXPECT_EQ(client.deregister(made.information), STATUS_SUCCESS);
    EXPECT_EQ(serving.counters().CommonMemory, 0u);
}

// Its size could shrink under the daemon, or it is no memory at all.
TEST(HostileBuffer, FileThatIsNoSealedMemory_IsRefused) {
    test_daemon serving;
    hostile_owner client(serving);
    const int before = own_descriptors();
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    std::vector<unique_descriptor> files;
    files.reserve(7);
    for (const int each : ends)
        files.emplace_back(each);
    files.push_back(file_of(hostile_owner::size, 0));
    files.push_back(file_of(hostile_owner::size, F_SEAL_GROW));
    files.emplace_back(open("/dev/zero", O_RDWR | O_CLOEXEC));
    files.emplace_back(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    files.emplace_back(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    for (const unique_descriptor& each : files)
        EXPECT_EQ(client.register_bytes(each).status, STATUS_INVALID_PARAMETER)
            << &each - files.data();
    files.clear();
    expect_descriptors(serving, before);
    EXPECT_EQ(serving.counters().CommonMemory, 0u);
}

// A large page that is missing would end the daemon at an access.
TEST(HostileBuffer, LargePages_AreRefused) {
    test_daemon serving;
    hostile_owner client(serving);
    const unique_descriptor file(
        memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
    if (!file) GTEST_SKIP() << "this kernel has no large pages";
    EXPECT_EQ(ftruncate(file.get(), off_t{2} << 20), 0);
    EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, size_seals), 0);
    EXPECT_EQ(client.register_bytes(file).status, STATUS_INVALID_PARAMETER);
}

TEST(HostileBuffer, RangeBeyondTheBuffer_IsRefused) {
    test_daemon serving;
    hostile_owner client(serving);
    constexpr std::size_t size = hostile_owner::size;
    const unique_descriptor file = file_of(size, size_seals);
    for (const std::uint64_t offset :
         {std::uint64_t{1}, std::uint64_t{page}, std::uint64_t{size - 1}, std::uint64_t{size},
          ~std::uint64_t{0}, ~std::uint64_t{0} - size + 1, std::uint64_t{1} << 63})
        EXPECT_EQ(client.register_bytes(file, offset).status, STATUS_INVALID_PARAMETER) << offset;
    for (const ULONGLONG length : {ULONGLONG{size} + 1, ULONGLONG{1} << 32 | size})
        EXPECT_EQ(client.register_bytes(file, 0, length).status, STATUS_INVALID_PARAMETER)
            << length;
    EXPECT_EQ(client.register_bytes(file, page, page).status, STATUS_SUCCESS);
    EXPECT_EQ(serving.counters().CommonMemory, 1u);
}

// Without bytes, without the right to write, or by a descriptor that only reads.
TEST(HostileBuffer, MemoryThatCannotBeMapped_IsNotMapped) {
    test_daemon serving;
    hostile_owner client(serving);
    const unique_descriptor file = file_of(hostile_owner::size, size_seals);
    const std::string name = "/proc/self/fd/" + std::to_string(file.get());
    const unique_descriptor read_only(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(client.register_bytes(read_only).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(client.register_bytes(file_of(hostile_owner::size, size_seals | F_SEAL_WRITE)).status,
              STATUS_NOT_SUPPORTED);
    EXPECT_EQ(client.register_bytes(file_of(0, size_seals)).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(serving.counters().CommonMemory, 0u);
}

TEST(HostileBuffer, MoreThanItsUserMayHave_IsNotMapped) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxCommonMemory = 8;
    test_daemon serving(&limits);
    std::optional<hostile_owner> first(serving);
    hostile_owner second(serving);
    const int before = own_descriptors();
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(first->register_bytes(file_of(hostile_owner::size, size_seals)).status,
                  STATUS_SUCCESS);
    for (int i = 0; i < 4; ++i) {
        const NTSTATUS status =
            second.register_bytes(file_of(hostile_owner::size, size_seals)).status;
        EXPECT_EQ(status, i < 2 ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    }
    // More than all limits, of which no page exists.
    EXPECT_EQ(second.register_bytes(file_of(std::size_t{1} << 61, size_seals)).status,
              STATUS_NOT_SUPPORTED);
    EXPECT_EQ(serving.counters().CommonMemory, 8u);
    expect_descriptors(serving, before); // none is kept
    first.reset();
    serving.run([&] { EXPECT_TRUE(await([&] { return serving.counters().CommonMemory == 2; })); });
    EXPECT_EQ(second.register_bytes(file_of(hostile_owner::size, size_seals)).status,
              STATUS_SUCCESS);
}

// Work requests of the time of a change may use either memory, so all stay until the region ends.
TEST(HostileBuffer, ChangesOfARegion_KeepEachBufferOnce) {
    test_daemon serving;
    hostile_owner client(serving);
    const unique_descriptor first = file_of(hostile_owner::size, size_seals);
    const unique_descriptor second = file_of(hostile_owner::size, size_seals);
    const std::uint64_t region = client.register_bytes(first).information;
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(client.change(region, i % 2 == 0 ? second : first), STATUS_SUCCESS);
    EXPECT_EQ(client.change(region, file_of(page, 0)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(client.change(region, first, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(client.change(region + 1, first), STATUS_INVALID_HANDLE);
    EXPECT_EQ(serving.counters().CommonMemory, 2u);
    EXPECT_EQ(client.deregister(region), STATUS_SUCCESS);
    EXPECT_EQ(serving.counters().CommonMemory, 0u);
}

// Otherwise a client that changes a region without end takes the daemon's memory.
TEST(HostileBuffer, BufferThatARegionHasAlready_TakesNoMemory) {
    ual::quota of_user(1);
    ual::served_objects objects(1, of_user);
    ual::served_object& region = *objects.reserve(HCA_MN_REGISTER_MR);
    const auto buffer = std::make_shared<const ual::mapped_buffer>();
    for (int i = 0; i < 3; ++i)
        objects.keep(region, buffer);
    EXPECT_EQ(region.buffers.size(), 1u);
    objects.remove(region);
    EXPECT_EQ(buffer.use_count(), 1);
}

TEST(HostileBuffer, DescriptorsThatNoVerbTakes_AreClosed) {
    test_daemon serving;
    hostile_owner client(serving);
    const int before = own_descriptors();
    const unique_descriptor file = file_of(hostile_owner::size, size_seals);
    for (int i = 0; i < 20; ++i) {
        ci::detail::descriptors passed;
        for (unique_descriptor& each : passed)
            each = unique_descriptor(dup(file.get()));
        client.send(request_of(HCA_MN_QUERY_CA, client.handle, 100), passed);
        wire::reply made{};
        EXPECT_TRUE(client.receive(made));
    }
    expect_descriptors(serving, before + 1);
    EXPECT_EQ(serving.counters().CommonMemory, 0u);
}

TEST(HostileBuffer, ClientThatEnds_LeavesNothing) {
    test_daemon serving;
    const int before = own_mappings("memfd:test");
    for (int i = 0; i < 3; ++i) {
        hostile_owner client(serving);
        for (int k = 0; k < 4; ++k)
            EXPECT_EQ(client.register_bytes(file_of(hostile_owner::size, size_seals)).status,
                      STATUS_SUCCESS);
        EXPECT_EQ(own_mappings("memfd:test"), before + 4);
        if (i == 0) client.send(wire::header{wire::kind::posted, 0, {}, 0, 0}); // a violation
        client.end();
        EXPECT_TRUE(serving.becomes_idle());
        serving.run(
            [&] { EXPECT_TRUE(await([&] { return own_mappings("memfd:test") == before; })); });
        EXPECT_EQ(serving.counters().CommonMemory, 0u);
    }
}

} // namespace
