// Files: open, read, write, control, cancel, close.
#include "file_driver.hpp"

#include <support/both_machines.hpp>

#include <irp/mdl.h>
#include <irp/verifier.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using irp::pending_irp;

class Files : public BothMachines {
protected:
    static bool is_set(HANDLE event) {
        LARGE_INTEGER now{};
        return NtWaitForSingleObject(event, FALSE, &now) == STATUS_SUCCESS;
    }

    const irp::verifier_scope verified{"default"};
    file_driver driver;
    IO_STATUS_BLOCK result = untouched;
    char buffer[8] = "-------";
};

TEST_P(Files, OpenAndClose_SendCreateCleanupAndClose) {
    opened_file file(u"\\Device\\Test", FILE_READ_DATA);
    EXPECT_EQ(driver.majors, (std::vector<UCHAR>{IRP_MJ_CREATE}));
    EXPECT_EQ(driver.access, ACCESS_MASK{FILE_READ_DATA});
    EXPECT_EQ(driver.file->Type, IO_TYPE_FILE);
    EXPECT_TRUE(driver.file->ReadAccess);
    EXPECT_FALSE(driver.file->WriteAccess);
    EXPECT_EQ(driver.device()->ReferenceCount, 1);
    EXPECT_EQ(file.close(), STATUS_SUCCESS);
    EXPECT_EQ(driver.majors, (std::vector<UCHAR>{IRP_MJ_CREATE, IRP_MJ_CLEANUP, IRP_MJ_CLOSE}));
    EXPECT_EQ(driver.device()->ReferenceCount, 0);
}

TEST_P(Files, CreateThatFails_LeavesNoFile) {
    driver.create_status = STATUS_ACCESS_DENIED;
    HANDLE handle = nullptr;
    EXPECT_EQ(open(handle, u"\\Device\\Test"), STATUS_ACCESS_DENIED);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(driver.majors, (std::vector<UCHAR>{IRP_MJ_CREATE}));
    EXPECT_EQ(driver.device()->ReferenceCount, 0);
}

TEST_P(Files, DeviceThatIsInitializing_IsNotOpened) {
    driver.device()->Flags |= DO_DEVICE_INITIALIZING;
    HANDLE handle = nullptr;
    EXPECT_EQ(open(handle, u"\\Device\\Test"), STATUS_NO_SUCH_DEVICE);
}

TEST_P(Files, ExclusiveDevice_HasOneFile) {
    const file_driver single(u"\\Device\\Single", 0, true);
    HANDLE second = nullptr;
    {
        const opened_file first(u"\\Device\\Single");
        EXPECT_EQ(open(second, u"\\Device\\Single"), STATUS_ACCESS_DENIED);
    }
    const opened_file again(u"\\Device\\Single");
}

TEST_P(Files, WrongOptions_AreRefused) {
    HANDLE handle = nullptr;
    EXPECT_EQ(open(handle, u"\\Device\\Test", FILE_READ_DATA, FILE_SYNCHRONOUS_IO_NONALERT),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(open(handle, u"\\Device\\Test", read_write,
                   FILE_SYNCHRONOUS_IO_NONALERT | FILE_SYNCHRONOUS_IO_ALERT),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(open(handle, u"\\Device\\Test", read_write, 0x80000000), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(NtCreateFile(&handle, read_write, nullptr, &result, nullptr, 0, 0, FILE_OPEN, 0,
                           nullptr, 0),
              STATUS_INVALID_PARAMETER);
}

TEST_P(Files, RelativeOpen_HasRelatedFile) {
    const opened_file root;
    FILE_OBJECT* const root_object = driver.file;
    HANDLE handle = nullptr;
    ASSERT_EQ(open(handle, u"Below", read_write, 0, root.handle()), STATUS_SUCCESS);
    EXPECT_EQ(driver.file_name, u"Below");
    EXPECT_EQ(driver.file->RelatedFileObject, root_object);
    NtClose(handle);
    EXPECT_EQ(open(handle, u"Below", read_write, 0, reinterpret_cast<HANDLE>(12)),
              STATUS_INVALID_HANDLE);
}

TEST_P(Files, PendingRead_CompletesWithDataEventAndStatusBlock) {
    HANDLE event = nullptr;
    ASSERT_EQ(NtCreateEvent(&event, 0, nullptr, NotificationEvent, TRUE), STATUS_SUCCESS);
    const opened_file file;
    EXPECT_EQ(file.read(buffer, 8, result, event, 4096), STATUS_PENDING);
    EXPECT_FALSE(is_set(event));
    EXPECT_EQ(result.Status, STATUS_PENDING);
    auto request = driver.queue.remove_next();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->stack().Parameters.Read.Length, 8u);
    EXPECT_EQ(request->stack().Parameters.Read.ByteOffset.QuadPart, 4096);
    EXPECT_EQ(request->get()->RequestorMode, UserMode);
    std::memcpy(request->get()->AssociatedIrp.SystemBuffer, "hello", 5);
    std::move(*request).complete(STATUS_SUCCESS, 5);
    EXPECT_TRUE(is_set(event));
    EXPECT_EQ(result.Status, STATUS_SUCCESS);
    EXPECT_EQ(result.Information, 5u);
    EXPECT_EQ(std::string_view(buffer, 7), "hello--");
    NtClose(event);
}

TEST_P(Files, RequestWithoutEvent_SetsFileEvent) {
    const opened_file file;
    EXPECT_EQ(file.read(buffer, 8, result), STATUS_PENDING);
    EXPECT_FALSE(is_set(file.handle()));
    EXPECT_TRUE(driver.complete());
    EXPECT_TRUE(is_set(file.handle()));
}

TEST_P(Files, FailureInsideCall_LeavesStatusBlockAndEventAlone) {
    driver.serve = [](pending_irp owed) { return std::move(owed).complete(STATUS_DATA_ERROR); };
    const opened_file file;
    EXPECT_EQ(file.read(buffer, 8, result), STATUS_DATA_ERROR);
    EXPECT_EQ(result.Information, untouched.Information);
    EXPECT_FALSE(is_set(file.handle()));
}

TEST_P(Files, WarningInsideCall_IsReportedLikeSuccess) {
    driver.serve = [](pending_irp owed) {
        return std::move(owed).complete(STATUS_BUFFER_OVERFLOW, 8);
    };
    const opened_file file;
    EXPECT_EQ(file.read(buffer, 8, result), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(result.Information, 8u);
    EXPECT_TRUE(is_set(file.handle()));
}

TEST_P(Files, BuffersOfReadAndWrite_FollowDeviceFlags) {
    const file_driver direct(u"\\Device\\Direct", DO_DIRECT_IO);
    const file_driver neither(u"\\Device\\Neither", 0);
    const opened_file on_buffered, on_direct(u"\\Device\\Direct"), on_neither(u"\\Device\\Neither");
    const auto copied = [](pending_irp owed) {
        const IRP& irp = *owed.get();
        EXPECT_EQ(std::memcmp(irp.AssociatedIrp.SystemBuffer, "hello", 5), 0);
        return std::move(owed).complete(STATUS_SUCCESS, 5);
    };
    const auto described = [](pending_irp owed) {
        const IRP& irp = *owed.get();
        EXPECT_EQ(irp.AssociatedIrp.SystemBuffer, nullptr);
        EXPECT_EQ(MmGetMdlByteCount(irp.MdlAddress), 5u);
        EXPECT_EQ(std::memcmp(MmGetSystemAddressForMdlSafe(irp.MdlAddress, NormalPagePriority),
                              "hello", 5),
                  0);
        return std::move(owed).complete(STATUS_SUCCESS, 5);
    };
    const auto passed = [](pending_irp owed) {
        EXPECT_EQ(std::memcmp(owed.get()->UserBuffer, "hello", 5), 0);
        return std::move(owed).complete(STATUS_SUCCESS, 5);
    };
    driver.serve = copied;
    const_cast<file_driver&>(direct).serve = described;
    const_cast<file_driver&>(neither).serve = passed;
    for (const opened_file* each : {&on_buffered, &on_direct, &on_neither}) {
        EXPECT_EQ(each->write("hello", result), STATUS_SUCCESS);
        EXPECT_EQ(result.Information, 5u);
    }
}

constexpr ULONG code(ULONG method, ULONG access = FILE_ANY_ACCESS) {
    return CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, method, access);
}

TEST_P(Files, BuffersOfControlCodes_FollowTheirMethod) {
    driver.serve = [](pending_irp owed) {
        IRP& irp = *owed.get();
        const auto& parameters = owed.stack().Parameters.DeviceIoControl;
        const ULONG method = METHOD_FROM_CTL_CODE(parameters.IoControlCode);
        EXPECT_EQ(parameters.InputBufferLength, 3u);
        EXPECT_EQ(parameters.OutputBufferLength, 7u);
        const void* input =
            method == METHOD_NEITHER ? parameters.Type3InputBuffer : irp.AssociatedIrp.SystemBuffer;
        EXPECT_EQ(std::memcmp(input, "ask", 3), 0);
        void* output = method == METHOD_BUFFERED  ? irp.AssociatedIrp.SystemBuffer
                       : method == METHOD_NEITHER ? irp.UserBuffer
                                                  : MmGetMdlVirtualAddress(irp.MdlAddress);
        if (method == METHOD_IN_DIRECT)
            EXPECT_EQ(std::memcmp(output, "-------", 7), 0);
        else
            std::memcpy(output, "result", 6);
        return std::move(owed).complete(STATUS_SUCCESS, 6);
    };
    const opened_file file;
    for (const ULONG method :
         std::initializer_list<ULONG>{METHOD_BUFFERED, METHOD_OUT_DIRECT, METHOD_NEITHER}) {
        char output[8] = "-------";
        EXPECT_EQ(file.control(code(method), "ask", output, 7, result), STATUS_SUCCESS);
        EXPECT_EQ(result.Information, 6u);
        EXPECT_STREQ(output, "result-");
    }
    EXPECT_EQ(file.control(code(METHOD_IN_DIRECT), "ask", buffer, 7, result), STATUS_SUCCESS);
    EXPECT_STREQ(buffer, "-------");
}

TEST_P(Files, AccessBitsOfCode_AreChecked) {
    driver.serve = [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); };
    const opened_file reader(u"\\Device\\Test", FILE_READ_DATA);
    const auto control = [&](const opened_file& file, ULONG access) {
        return file.control(code(METHOD_BUFFERED, access), "", nullptr, 0, result);
    };
    EXPECT_EQ(control(reader, FILE_ANY_ACCESS), STATUS_SUCCESS);
    EXPECT_EQ(control(reader, FILE_READ_ACCESS), STATUS_SUCCESS);
    EXPECT_EQ(control(reader, FILE_WRITE_ACCESS), STATUS_ACCESS_DENIED);
    EXPECT_EQ(control(reader, FILE_READ_ACCESS | FILE_WRITE_ACCESS), STATUS_ACCESS_DENIED);
    EXPECT_EQ(reader.write("x", result), STATUS_ACCESS_DENIED);
    EXPECT_EQ(NtFlushBuffersFile(reader.handle(), &result), STATUS_ACCESS_DENIED);
    const opened_file writer(u"\\Device\\Test", FILE_WRITE_DATA);
    EXPECT_EQ(control(writer, FILE_WRITE_ACCESS), STATUS_SUCCESS);
    EXPECT_EQ(writer.write("x", result), STATUS_SUCCESS);
    EXPECT_EQ(NtFlushBuffersFile(writer.handle(), &result), STATUS_SUCCESS);
    EXPECT_EQ(writer.read(buffer, 1, result), STATUS_ACCESS_DENIED);
}

// Tests that a driver's own calls are not checked.
TEST_P(Files, ZwCalls_AreOfKernelModeAndUnchecked) {
    driver.serve = [](pending_irp owed) {
        EXPECT_EQ(owed.get()->RequestorMode, KernelMode);
        return std::move(owed).complete(STATUS_SUCCESS);
    };
    const opened_file file(u"\\Device\\Test", FILE_READ_ATTRIBUTES);
    LARGE_INTEGER at{};
    HANDLE const handle = file.handle();
    EXPECT_EQ(ZwReadFile(handle, nullptr, nullptr, nullptr, &result, buffer, 8, &at, nullptr),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwWriteFile(handle, nullptr, nullptr, nullptr, &result, buffer, 8, &at, nullptr),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwDeviceIoControlFile(handle, nullptr, nullptr, nullptr, &result,
                                    code(METHOD_BUFFERED, FILE_READ_ACCESS), nullptr, 0, nullptr,
                                    0),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwFlushBuffersFile(handle, &result), STATUS_SUCCESS);
    EXPECT_EQ(driver.majors.back(), IRP_MJ_FLUSH_BUFFERS);
}

TEST_P(Files, WrongParameters_AreRefused) {
    const opened_file file;
    EXPECT_EQ(file.read(nullptr, 1, result), STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(file.read(buffer, 1, result, nullptr, -5), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(
        NtReadFile(file.handle(), nullptr, nullptr, nullptr, &result, buffer, 1, nullptr, nullptr),
        STATUS_INVALID_PARAMETER);
    EXPECT_EQ(file.read(buffer, 1, result, reinterpret_cast<HANDLE>(8)), STATUS_INVALID_HANDLE);
    EXPECT_EQ(file.read(buffer, 1, result, file.handle()), STATUS_OBJECT_TYPE_MISMATCH);
    const PIO_APC_ROUTINE routine = [](PVOID, PIO_STATUS_BLOCK, ULONG) {};
    LARGE_INTEGER at{};
    EXPECT_EQ(
        NtReadFile(file.handle(), nullptr, routine, nullptr, &result, buffer, 1, &at, nullptr),
        STATUS_NOT_SUPPORTED);
    EXPECT_EQ(driver.majors.size(), 1u);
}

TEST_P(Files, ClosedHandle_IsInvalidForEver) {
    opened_file file;
    HANDLE const stale = file.handle();
    file.close();
    const opened_file next;
    EXPECT_NE(next.handle(), stale);
    LARGE_INTEGER at{};
    EXPECT_EQ(NtReadFile(stale, nullptr, nullptr, nullptr, &result, buffer, 1, &at, nullptr),
              STATUS_INVALID_HANDLE);
    EXPECT_EQ(NtCancelIoFileEx(stale, nullptr, &result), STATUS_INVALID_HANDLE);
    EXPECT_EQ(NtFlushBuffersFile(stale, &result), STATUS_INVALID_HANDLE);
    EXPECT_EQ(NtClose(stale), STATUS_INVALID_HANDLE);
}

TEST_P(Files, SynchronousFile_ReturnsAfterCompletion) {
    const opened_file file(u"\\Device\\Test", read_write, FILE_SYNCHRONOUS_IO_NONALERT);
    EXPECT_TRUE(driver.file->Flags & FO_SYNCHRONOUS_IO);
    driver.file->CurrentByteOffset.QuadPart = 77;
    system_thread server([&] {
        LARGE_INTEGER millisecond;
        millisecond.QuadPart = -10'000;
        while (!driver.complete(STATUS_SUCCESS, 4))
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
    });
    EXPECT_EQ(
        NtReadFile(file.handle(), nullptr, nullptr, nullptr, &result, buffer, 8, nullptr, nullptr),
        STATUS_SUCCESS);
    EXPECT_EQ(result.Information, 4u);
    server.join();
    driver.serve = [](pending_irp owed) {
        EXPECT_EQ(owed.stack().Parameters.Read.ByteOffset.QuadPart, 77);
        return std::move(owed).complete(STATUS_DATA_ERROR);
    };
    EXPECT_EQ(
        NtReadFile(file.handle(), nullptr, nullptr, nullptr, &result, buffer, 8, nullptr, nullptr),
        STATUS_DATA_ERROR);
}

TEST_P(Files, CompletionPort_ReceivesRequestsWithContext) {
    PVOID port = nullptr;
    ASSERT_EQ(IoCreateIoCompletion(&port, 0), STATUS_SUCCESS);
    const opened_file file;
    int key = 0, context = 0;
    FILE_COMPLETION_INFORMATION association{port, &key};
    IO_STATUS_BLOCK set = untouched;
    EXPECT_EQ(NtSetInformationFile(file.handle(), &set, &association, sizeof association,
                                   FileCompletionInformation),
              STATUS_SUCCESS);
    EXPECT_EQ(NtSetInformationFile(file.handle(), &set, &association, sizeof association,
                                   FileCompletionInformation),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(NtSetInformationFile(file.handle(), &set, &association, 4, FileCompletionInformation),
              STATUS_INFO_LENGTH_MISMATCH);
    file.read(buffer, 8, result, nullptr, 0, &context);
    file.read(buffer, 8, set); // without context: no packet
    EXPECT_TRUE(driver.complete(STATUS_SUCCESS, 3));
    EXPECT_TRUE(driver.complete());
    EXPECT_EQ(result.Information, 3u);
    EXPECT_EQ(IoQueryIoCompletion(port), 1);
    PVOID got_key = nullptr, got_context = nullptr;
    IO_STATUS_BLOCK packet{};
    EXPECT_EQ(IoRemoveIoCompletion(port, &got_key, &got_context, &packet, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(got_key, &key);
    EXPECT_EQ(got_context, &context);
    EXPECT_EQ(packet.Information, 3u);
    driver.serve = [](pending_irp owed) { return std::move(owed).complete(STATUS_DATA_ERROR); };
    EXPECT_EQ(file.read(buffer, 8, result, nullptr, 0, &context), STATUS_DATA_ERROR);
    EXPECT_EQ(IoQueryIoCompletion(port), 0);
    IoCloseIoCompletion(port);
}

TEST_P(Files, Information_IsExchangedWithDriver) {
    driver.serve = [](pending_irp owed) {
        const auto& parameters = owed.stack().Parameters.QueryFile;
        EXPECT_EQ(parameters.FileInformationClass, FileStandardInformation);
        EXPECT_EQ(parameters.Length, 8u);
        auto* information = static_cast<char*>(owed.get()->AssociatedIrp.SystemBuffer);
        if (owed.stack().MajorFunction == IRP_MJ_SET_INFORMATION)
            EXPECT_STREQ(information, "-------");
        else
            std::memcpy(information, "size", 4);
        return std::move(owed).complete(STATUS_SUCCESS, 4);
    };
    const opened_file file;
    EXPECT_EQ(NtSetInformationFile(file.handle(), &result, buffer, 8, FileStandardInformation),
              STATUS_SUCCESS);
    EXPECT_STREQ(buffer, "-------");
    EXPECT_EQ(ZwSetInformationFile(file.handle(), &result, buffer, 8, FileStandardInformation),
              STATUS_SUCCESS);
    EXPECT_EQ(NtQueryInformationFile(file.handle(), &result, buffer, 8, FileStandardInformation),
              STATUS_SUCCESS);
    EXPECT_STREQ(buffer, "size---");
    EXPECT_EQ(ZwQueryInformationFile(file.handle(), &result, buffer, 8, FileStandardInformation),
              STATUS_SUCCESS);
    EXPECT_EQ(result.Information, 4u);
}

TEST_P(Files, NtCancelIoFileEx_CancelsTheNamedRequest) {
    const opened_file file;
    IO_STATUS_BLOCK second = untouched, cancelled{};
    file.read(buffer, 8, result);
    file.read(buffer, 8, second);
    EXPECT_EQ(NtCancelIoFileEx(file.handle(), &second, &cancelled), STATUS_SUCCESS);
    EXPECT_EQ(second.Status, STATUS_CANCELLED);
    EXPECT_EQ(result.Status, STATUS_PENDING);
    EXPECT_EQ(NtCancelIoFileEx(file.handle(), &second, &cancelled), STATUS_NOT_FOUND);
    EXPECT_EQ(NtCancelIoFileEx(file.handle(), nullptr, &cancelled), STATUS_SUCCESS);
    EXPECT_EQ(result.Status, STATUS_CANCELLED);
    EXPECT_EQ(NtCancelIoFileEx(file.handle(), nullptr, &cancelled), STATUS_NOT_FOUND);
}

TEST_P(Files, NtCancelIoFile_CancelsRequestsOfItsThread) {
    const opened_file file;
    IO_STATUS_BLOCK others = untouched, cancelled{};
    system_thread([&] { file.read(buffer, 8, others); }).join();
    file.read(buffer, 8, result);
    EXPECT_EQ(NtCancelIoFile(file.handle(), &cancelled), STATUS_SUCCESS);
    EXPECT_EQ(result.Status, STATUS_CANCELLED);
    EXPECT_EQ(others.Status, STATUS_PENDING);
    EXPECT_TRUE(driver.complete());
}

// Tests that the close waits for the request, and CLEANUP does not.
TEST_P(Files, CloseWithRequest_SendsCloseAfterItsCompletion) {
    opened_file file;
    file.read(buffer, 8, result);
    file.close();
    EXPECT_EQ(driver.majors.back(), IRP_MJ_CLEANUP);
    EXPECT_EQ(driver.device()->ReferenceCount, 1);
    EXPECT_TRUE(driver.complete());
    EXPECT_EQ(result.Status, STATUS_SUCCESS);
    LARGE_INTEGER millisecond;
    millisecond.QuadPart = -10'000;
    while (__atomic_load_n(&driver.device()->ReferenceCount, __ATOMIC_ACQUIRE) != 0)
        KeDelayExecutionThread(KernelMode, FALSE, &millisecond); // a work item closes it
    EXPECT_EQ(driver.majors.back(), IRP_MJ_CLOSE);
}

TEST_P(Files, FilterAttachedAfterOpen_SeesRequestsAndClose) {
    struct seen {
        int requests = 0;
        DEVICE_OBJECT* lower = nullptr;
    } seen;
    DRIVER_OBJECT filter{};
    for (PDRIVER_DISPATCH& each : filter.MajorFunction)
        each = [](DEVICE_OBJECT* device, IRP* irp) {
            auto* self = *static_cast<struct seen**>(device->DeviceExtension);
            ++self->requests;
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver(self->lower, irp);
        };
    opened_file file;
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&filter, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    *static_cast<struct seen**>(device->DeviceExtension) = &seen;
    device->Flags |= DO_BUFFERED_IO;
    seen.lower = IoAttachDeviceToDeviceStack(device, driver.device());
    driver.serve = [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); };
    EXPECT_EQ(file.read(buffer, 8, result), STATUS_SUCCESS);
    file.close();
    EXPECT_EQ(seen.requests, 3); // the read, CLEANUP and CLOSE
    IoDetachDevice(driver.device());
    IoDeleteDevice(device);
}

TEST_P(Files, HandleLeftOpen_IsClosedWithItsMachine) {
    dispatch::random_choices choices(1);
    {
        dispatch::sim_machine other(choices);
        const dispatch::machine::scope there(other);
        const file_driver short_lived;
        HANDLE handle = nullptr;
        EXPECT_EQ(open(handle, u"\\Device\\Test"), STATUS_SUCCESS);
    }
}

IRPVERBS_ON_BOTH_MACHINES(Files);

} // namespace
