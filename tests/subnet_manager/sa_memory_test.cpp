// The memory that SA access, IBMF and the software fabric keep under a continuous load.
#include "managed_fabric.hpp"

#include <dispatch/machine.hpp>
#include <hca/hca.hpp>
#include <saa/ibmf_saa.h>

#include <malloc.h>

#include <cstdlib>

namespace {

using namespace irpverbs::testing;
namespace hca = irpverbs::hca;

class SaMemory : public ::testing::Test {
protected:
    SaMemory() { EXPECT_STREQ(name_of(manager_.wait_until_up()), "STATUS_SUCCESS"); }

    static std::size_t live_bytes() { return mallinfo2().uordblks; }

    /// A session with events, and that many accesses at once.
    static void ask_in_a_session(int accesses) {
        KSEMAPHORE ended;
        KeInitializeSemaphore(&ended, 0, INT32_MAX);
        const ibmf_saa_cb_t end = [](void* context, size_t, char* result, int) {
            std::free(result);
            KeReleaseSemaphore(static_cast<KSEMAPHORE*>(context), 0, 1, FALSE);
        };
        ibmf_saa_subnet_event_args_t events{
            [](ibmf_saa_handle_t, ibmf_saa_subnet_event_t, ibmf_saa_event_details_t*, void*) {},
            nullptr};
        ibmf_saa_handle_t session = nullptr;
        ASSERT_EQ(ibmf_sa_session_open(0x0200000000000201, 0, &events, IBMF_VERSION, 0, &session),
                  IBMF_SUCCESS);
        for (int i = 0; i < accesses; ++i) {
            sa_path_record_t wanted{};
            wanted.DLID = static_cast<ib_lid_t>(i % 7 + 1);
            ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID,
                                        IBMF_SAA_RETRIEVE,
                                        SA_PR_COMPMASK_DLID,
                                        &wanted,
                                        0,
                                        end,
                                        &ended};
            std::size_t length = 0;
            void* result = nullptr;
            ASSERT_EQ(ibmf_sa_access(session, &args, 0, &length, &result), IBMF_SUCCESS);
        }
        for (int i = 0; i < accesses; ++i)
            KeWaitForSingleObject(&ended, Executive, KernelMode, FALSE, nullptr);
        EXPECT_EQ(ibmf_sa_session_close(&session, 0), IBMF_SUCCESS);
    }

private:
    irpverbs::dispatch::asio_machine machine_;
    const irpverbs::dispatch::machine::scope here_{machine_};
    const hca::attachment fabric_{unmanaged()};
    running_manager manager_{{.hca = hca::guids()[0]}};
};

// Memory of a peak stays in caches (docs/decisions/sa-access.md); repetitions of the load need no
// more. The slack is for late peaks.
TEST_F(SaMemory, RoundsOfTheSameLoad_KeepNoMore) {
    constexpr int accesses = 300;
    constexpr int rounds = 600;
    constexpr std::size_t slack = 512 * 1024; // below 3 bytes for each access
    for (int i = 0; i < 10; ++i)
        ask_in_a_session(accesses);
    const std::size_t before = live_bytes();
    if (before == 0) GTEST_SKIP() << "the sanitizer's allocator reports no sizes";
    for (int i = 0; i < rounds; ++i)
        ask_in_a_session(accesses);
    EXPECT_LT(live_bytes(), before + slack);
}

} // namespace
