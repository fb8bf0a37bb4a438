// Files with completion tokens.
#include "file_driver.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <irp/file.hpp>
#include <irp/verifier.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace irpverbs::testing;
using namespace std::chrono_literals;
using irp::pending_irp;

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

class AsyncFiles : public BothMachines {
protected:
    const irp::verifier_scope verified{"default"};
    file_driver driver;
    irp::file file{u"\\Device\\Test"};
    std::array<std::byte, 8> buffer{};
    call_result<std::size_t> end;
};

TEST_P(AsyncFiles, Read_CompletesWithDataAndLength) {
    file.read(buffer, 512, end.handler());
    auto request = driver.queue.remove_next();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->stack().Parameters.Read.ByteOffset.QuadPart, 512);
    EXPECT_EQ(request->get()->RequestorMode, UserMode);
    std::memcpy(request->get()->AssociatedIrp.SystemBuffer, "hello", 5);
    std::move(*request).complete(STATUS_SUCCESS, 5);
    EXPECT_EQ(end.status(), STATUS_SUCCESS);
    EXPECT_EQ(end.result(), 5u);
    EXPECT_EQ(std::memcmp(buffer.data(), "hello", 5), 0);
}

TEST_P(AsyncFiles, WriteAndControl_PassTheirBuffers) {
    driver.serve = [](pending_irp owed) {
        EXPECT_EQ(std::memcmp(owed.get()->AssociatedIrp.SystemBuffer, "hello", 5), 0);
        return std::move(owed).complete(STATUS_SUCCESS, 5);
    };
    file.write(bytes("hello"), 0, end.handler());
    EXPECT_EQ(end.result(), 5u);
    call_result<std::size_t> controlled;
    file.control(CTL_CODE(FILE_DEVICE_UNKNOWN, 1, METHOD_BUFFERED, FILE_READ_ACCESS),
                 bytes("hello"), buffer, controlled.handler());
    EXPECT_EQ(controlled.result(), 5u);
    EXPECT_EQ(std::memcmp(buffer.data(), "hello", 5), 0);
}

TEST_P(AsyncFiles, CallWithoutAccessOrFile_CompletesWithItsStatus) {
    irp::file reader(u"\\Device\\Test", FILE_READ_DATA);
    reader.write(bytes("x"), 0, end.handler());
    EXPECT_EQ(end.status(), STATUS_ACCESS_DENIED);
    EXPECT_EQ(reader.close(), STATUS_SUCCESS);
    call_result<std::size_t> closed;
    reader.read(buffer, 0, closed.handler());
    EXPECT_EQ(closed.status(), STATUS_INVALID_HANDLE);
    EXPECT_THROW(irp::file(u"\\Device\\Nothing"), dispatch::status_error);
}

TEST_P(AsyncFiles, SlotDeadlineAndCancel_EndTheRead) {
    asio::cancellation_signal cancel;
    file.read(buffer, 0, asio::bind_cancellation_slot(cancel.slot(), end.handler()));
    cancel.emit(asio::cancellation_type::total);
    EXPECT_EQ(end.status(), STATUS_CANCELLED);
    call_result<std::size_t> late, cancelled;
    file.read(buffer, 0, irp::within(1ms, late.handler()));
    EXPECT_EQ(late.status(), STATUS_IO_TIMEOUT);
    file.read(buffer, 0, cancelled.handler());
    EXPECT_EQ(file.cancel(), STATUS_SUCCESS);
    EXPECT_EQ(cancelled.status(), STATUS_CANCELLED);
    EXPECT_EQ(file.cancel(), STATUS_NOT_FOUND);
}

TEST_P(AsyncFiles, CloseWithRead_SendsCloseAfterIt) {
    file.read(buffer, 0, end.handler());
    file.close();
    EXPECT_EQ(driver.majors.back(), IRP_MJ_CLEANUP);
    EXPECT_TRUE(driver.complete());
    EXPECT_EQ(end.status(), STATUS_SUCCESS);
    LARGE_INTEGER millisecond;
    millisecond.QuadPart = -10'000;
    while (__atomic_load_n(&driver.device()->ReferenceCount, __ATOMIC_ACQUIRE) != 0)
        KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
    EXPECT_EQ(driver.majors.back(), IRP_MJ_CLOSE);
}

TEST_P(AsyncFiles, SymbolicLink_OpensItsTarget) {
    EXPECT_EQ(irp::create_symbolic_link(u"\\??\\COM9", u"\\Device\\Test"), STATUS_SUCCESS);
    EXPECT_NO_THROW(irp::file(u"\\??\\COM9"));
    EXPECT_EQ(irp::delete_symbolic_link(u"\\??\\COM9"), STATUS_SUCCESS);
}

#if defined(BOOST_ASIO_HAS_CO_AWAIT) && defined(__cpp_impl_coroutine)
asio::awaitable<void> echo(const irp::file& file, std::span<std::byte> buffer) {
    EXPECT_EQ(co_await file.write(bytes("hello"), 0, asio::use_awaitable), 5u);
    EXPECT_EQ(co_await file.read(buffer), 5u); // deferred
}

TEST_P(AsyncFiles, Coroutine_AwaitsReadAndWrite) {
    driver.serve = [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS, 5); };
    run_to_end(machine(), [this] { return echo(file, buffer); });
}
#endif

IRPVERBS_ON_BOTH_MACHINES(AsyncFiles);

// Tests that NtCancelIoFileEx, the completion and the slot end an awaited read once.
void race_for_the_result(dispatch::sim_machine& sim) {
    file_driver driver;
    const irp::file file(u"\\Device\\Test");
    std::array<std::byte, 8> buffer{};
    int ends = 0;
    file.read(buffer, 0, [&](boost::system::error_code error, std::size_t) {
        ++ends;
        EXPECT_TRUE(error.value() == STATUS_SUCCESS || error.value() == STATUS_CANCELLED);
    });
    sim.spawn("cancel", [&] {
        IO_STATUS_BLOCK ignored{};
        NtCancelIoFileEx(file.handle(), nullptr, &ignored);
    });
    sim.spawn("complete", [&] { driver.complete(); });
    sim.run();
    EXPECT_EQ(ends, 1);
}

TEST(AsyncFileRaces, CancelAndCompletionRace_HandlerRunsOnce) {
    const irp::verifier_scope verified("default");
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 300;
    options.required_probes = {"file.completed_under_cancel"};
    expect_explored(options, race_for_the_result);
}

} // namespace
