// Devices that only some accounts may open.
#include "file_driver.hpp"

#include <support/bug_checks.hpp>

#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <irp/device_security.h>

#include <array>
#include <random>

namespace {

using namespace irpverbs::testing;

constexpr std::array<IRP_ACCOUNT, 6> accounts{IrpAccountAdministrator, IrpAccountSystem,
                                              IrpAccountService,       IrpAccountUser,
                                              IrpAccountGuest,         IrpAccountAnonymous};

class as_account {
public:
    explicit as_account(IRP_ACCOUNT account) : before_(IrpGetAccount()) { IrpSetAccount(account); }
    ~as_account() { IrpSetAccount(before_); }
    as_account(const as_account&) = delete;
    as_account& operator=(const as_account&) = delete;

private:
    IRP_ACCOUNT before_;
};

/// A driver with a device of a descriptor, that lets all requests succeed.
class secure_device {
public:
    explicit secure_device(const UNICODE_STRING& descriptor, ULONG characteristics = 0) {
        for (PDRIVER_DISPATCH& each : driver_.MajorFunction)
            each = succeed;
        UNICODE_STRING copy = descriptor;
        EXPECT_EQ(IoCreateDeviceSecure(&driver_, 0, unicode(u"\\Device\\Safe").get(),
                                       FILE_DEVICE_UNKNOWN, characteristics, FALSE, &copy, nullptr,
                                       &device_),
                  STATUS_SUCCESS);
        if (device_ != nullptr) device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    }
    explicit secure_device(const std::u16string& descriptor, ULONG characteristics = 0)
        : secure_device(*unicode(descriptor).get(), characteristics) {}
    ~secure_device() {
        if (device_ != nullptr) IoDeleteDevice(device_);
    }
    secure_device(const secure_device&) = delete;
    secure_device& operator=(const secure_device&) = delete;

private:
    static NTSTATUS succeed(DEVICE_OBJECT*, IRP* irp) {
        const auto major = IoGetCurrentIrpStackLocation(irp)->MajorFunction;
        irp->IoStatus.Information = major == IRP_MJ_CREATE ? FILE_OPENED : 0;
        irp->IoStatus.Status = STATUS_SUCCESS;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return STATUS_SUCCESS;
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

bool opens(IRP_ACCOUNT account, ACCESS_MASK access,
           const std::u16string& path = u"\\Device\\Safe") {
    const as_account caller(account);
    HANDLE handle = nullptr;
    const NTSTATUS status = open(handle, path, access);
    EXPECT_TRUE(NT_SUCCESS(status) || status == STATUS_ACCESS_DENIED);
    if (NT_SUCCESS(status)) NtClose(handle);
    return NT_SUCCESS(status);
}

/// The accounts that may open, a letter each in the order of their enumeration.
std::string who(ACCESS_MASK access, const std::u16string& path = u"\\Device\\Safe") {
    std::string letters;
    for (const IRP_ACCOUNT account : accounts)
        if (opens(account, access, path)) letters += "aSsugn"[account];
    return letters;
}

TEST(DeviceSecurity, EachDescriptor_GrantsWhatItsNameSays) {
    struct expectation {
        const UNICODE_STRING& descriptor;
        const char* reads;
        const char* writes;
        const char* executes;
        const char* all;
    };
    for (const auto& [descriptor, reads, writes, executes, all] : {
             expectation{SDDL_DEVOBJ_KERNEL_ONLY, "", "", "", ""},
             expectation{SDDL_DEVOBJ_SYS_ALL, "S", "S", "S", "S"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_ALL, "aS", "aS", "aS", "aS"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_RX, "aS", "S", "aS", "S"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_R, "aSsug", "aS", "aS", "S"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_R_RES_R, "aSsug", "aS", "aS", "S"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_RW_RES_R, "aSsug", "aSsug", "aS", "S"},
             expectation{SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_RWX_RES_RWX, "aSsug", "aSsug", "aSsug",
                         "S"},
         }) {
        const secure_device safe(descriptor);
        EXPECT_EQ(who(GENERIC_READ), reads);
        EXPECT_EQ(who(GENERIC_WRITE), writes);
        EXPECT_EQ(who(GENERIC_EXECUTE), executes);
        EXPECT_EQ(who(GENERIC_ALL), all);
    }
}

TEST(DeviceSecurity, Groups_AreTheAccounts) {
    for (const auto& [group, expected] : {std::pair{u"BA", "aS"},
                                          {u"BU", "au"},
                                          {u"AU", "aSsu"},
                                          {u"IU", "aug"},
                                          {u"SU", "s"},
                                          {u"LS", "s"},
                                          {u"NS", "s"},
                                          {u"BG", "g"},
                                          {u"AN", "n"},
                                          {u"WD", "aSsug"},
                                          {u"S-1-5-18", "S"},
                                          {u"S-1-1-0", "aSsug"},
                                          {u"S-1-5-32-544", "aS"},
                                          {u"RC", ""},
                                          {u"S-1-5-21-1-2-3-500", ""}}) {
        const secure_device safe(u"D:P(A;;GR;;;" + std::u16string(group) + u")");
        EXPECT_EQ(who(GENERIC_READ), expected);
    }
}

TEST(DeviceSecurity, Rights_AddUpOverEntriesAndForms) {
    const secure_device safe(
        u"D:P(A;;FR;;;BU)(A;;0x40000000;;;AU)(A;;CCDC;;;BG)(A;;RCSDWDWO;;;BG)");
    EXPECT_TRUE(opens(IrpAccountUser, GENERIC_READ | GENERIC_WRITE));
    EXPECT_FALSE(opens(IrpAccountUser, GENERIC_EXECUTE));
    EXPECT_FALSE(opens(IrpAccountService, GENERIC_READ));
    EXPECT_TRUE(opens(IrpAccountService, GENERIC_WRITE));
    EXPECT_TRUE(opens(IrpAccountGuest, FILE_READ_DATA | FILE_WRITE_DATA | READ_CONTROL));
    EXPECT_FALSE(opens(IrpAccountGuest, FILE_APPEND_DATA));
    EXPECT_FALSE(opens(IrpAccountGuest, FILE_READ_DATA | SYNCHRONIZE));
}

TEST(DeviceSecurity, MaximumAllowed_IsWhatTheDescriptorGrants) {
    const secure_device safe(SDDL_DEVOBJ_SYS_ALL_ADM_RWX_WORLD_R);
    const as_account caller(IrpAccountUser);
    const opened_file file(u"\\Device\\Safe", MAXIMUM_ALLOWED);
    char buffer[4];
    IO_STATUS_BLOCK result{};
    EXPECT_EQ(file.read(buffer, sizeof buffer, result), STATUS_SUCCESS);
    EXPECT_EQ(file.write("text", result), STATUS_ACCESS_DENIED);
    EXPECT_FALSE(opens(IrpAccountAnonymous, MAXIMUM_ALLOWED));
}

TEST(DeviceSecurity, PathBehindTheName_IsTheDriversToCheckUnlessAskedFor) {
    {
        const secure_device safe(SDDL_DEVOBJ_SYS_ALL);
        EXPECT_EQ(who(GENERIC_READ, u"\\Device\\Safe\\Name"), "aSsugn");
    }
    const secure_device safe(SDDL_DEVOBJ_SYS_ALL, FILE_DEVICE_SECURE_OPEN);
    EXPECT_EQ(who(GENERIC_READ, u"\\Device\\Safe\\Name"), "S");
}

TEST(DeviceSecurity, KernelsOpens_AreNotCheckedUnlessTheyAskForIt) {
    const secure_device safe(SDDL_DEVOBJ_KERNEL_ONLY);
    unicode name(u"\\Device\\Safe");
    for (const auto& [attributes_bits, expected] :
         {std::pair{0L, STATUS_SUCCESS}, {OBJ_FORCE_ACCESS_CHECK, STATUS_ACCESS_DENIED}}) {
        OBJECT_ATTRIBUTES attributes;
        InitializeObjectAttributes(&attributes, name.get(), static_cast<ULONG>(attributes_bits),
                                   nullptr, nullptr);
        HANDLE handle = nullptr;
        IO_STATUS_BLOCK result{};
        EXPECT_EQ(ZwOpenFile(&handle, GENERIC_READ, &attributes, &result, 0, 0), expected);
        if (handle != nullptr) ZwClose(handle);
    }
    EXPECT_FALSE(opens(IrpAccountSystem, GENERIC_READ));
}

TEST(DeviceSecurity, Account_IsEachThreadsOwn) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    machine.spawn("user", [] {
        IrpSetAccount(IrpAccountUser);
        EXPECT_EQ(IrpGetAccount(), IrpAccountUser);
    });
    machine.spawn("other", [] { EXPECT_EQ(IrpGetAccount(), IrpAccountAdministrator); });
    machine.run();
}

TEST(DeviceSecurity, WrongDescriptors_AreRefusedAndCreateNothing) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    unicode name(u"\\Device\\Safe");
    const auto create = [&](const std::u16string& descriptor, UNICODE_STRING* named) {
        unicode text(descriptor);
        return IoCreateDeviceSecure(&driver, 0, named, FILE_DEVICE_UNKNOWN, 0, FALSE, text.get(),
                                    nullptr, &device);
    };
    for (const char16_t* wrong : {u"",
                                  u"D",
                                  u"P",
                                  u"O:BAD:P",
                                  u"D:P(A;;GA;;;SY",
                                  u"D:PA;;GA;;;SY)",
                                  u"D:P(A;;GA;;;XX)",
                                  u"D:P(A;;GA;;;)",
                                  u"D:P(A;;;;;SY)",
                                  u"D:P(A;;GQ;;;SY)",
                                  u"D:P(A;;GAG;;;SY)",
                                  u"D:P(D;;GA;;;SY)",
                                  u"D:P(A;OI;GA;;;SY)",
                                  u"D:P(A;;GA;;SY)",
                                  u"D:P(A;;GA;;;SY;)",
                                  u"D:P(A;;0x;;;SY)",
                                  u"D:P(A;;0x1G;;;SY)",
                                  u"D:P(A;;0x\x0141;;;SY)",
                                  u"D:P(A;;0x100000000;;;SY)",
                                  u"D:P(A;;GA;;;S-1-)",
                                  u"D:P(A;;GA;;;S-1-5-x)",
                                  u"D:P(A;;GA;;;SY)x",
                                  u"D:P()"})
        EXPECT_EQ(create(wrong, name.get()), STATUS_INVALID_PARAMETER)
            << unicode(wrong).get()->Length;
    EXPECT_EQ(create(u"D:P", nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(driver.DeviceObject, nullptr);
    EXPECT_EQ(create(u"D:", name.get()), STATUS_SUCCESS);
    DEVICE_OBJECT* first = device;
    EXPECT_EQ(create(u"D:P", name.get()), STATUS_OBJECT_NAME_COLLISION);
    IoDeleteDevice(first);
    EXPECT_EQ(bug_check_of([&] {
                  IoCreateDeviceSecure(&driver, 0, name.get(), FILE_DEVICE_UNKNOWN, 0, FALSE,
                                       nullptr, nullptr, &device);
              }),
              DRIVER_VERIFIER_IOMANAGER_VIOLATION);
}

TEST(DeviceSecurity, AnyText_IsADescriptorOrRefused) {
    const std::u16string right = u"D:P(A;;GRGW;;;S-1-5-32-544)(A;;0x1200A9;;;WD)";
    const std::u16string letters = u"D:PA;()GRWX0x19-S\xFFFF";
    std::mt19937 chance(1);
    DRIVER_OBJECT driver{};
    int created = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::u16string text = right;
        for (std::size_t changes = chance() % 3 + 1; changes != 0; --changes)
            text.at(chance() % text.size()) = letters.at(chance() % letters.size());
        if (chance() % 4 == 0) text.resize(chance() % text.size());
        DEVICE_OBJECT* device = nullptr;
        const NTSTATUS status =
            IoCreateDeviceSecure(&driver, 0, unicode(u"\\Device\\Any").get(), FILE_DEVICE_UNKNOWN,
                                 0, FALSE, unicode(text).get(), nullptr, &device);
        EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_INVALID_PARAMETER);
        if (!NT_SUCCESS(status)) continue;
        ++created;
        IoDeleteDevice(device);
    }
    EXPECT_GT(created, 100);
    EXPECT_LT(created, 15'000);
}

} // namespace
