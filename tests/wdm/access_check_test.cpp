// Access checks of drivers: descriptors, accounts and privileges.
#include <gtest/gtest.h>
#include <irp/device_security.h>
#include <ntifs.h>

namespace {

constexpr auto all_of_file = static_cast<ACCESS_MASK>(FILE_ALL_ACCESS);

class AccessCheck : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(RtlCreateSecurityDescriptor(&descriptor_, SECURITY_DESCRIPTOR_REVISION),
                  STATUS_SUCCESS);
        ASSERT_EQ(RtlCreateAcl(list(), sizeof list_, ACL_REVISION), STATUS_SUCCESS);
        ASSERT_EQ(RtlSetDaclSecurityDescriptor(&descriptor_, TRUE, list(), FALSE), STATUS_SUCCESS);
    }
    void TearDown() override { IrpSetAccount(IrpAccountAdministrator); }

    PACL list() { return reinterpret_cast<PACL>(list_); }
    void allow(PSID sid, ACCESS_MASK rights, ULONG flags = 0) {
        ASSERT_EQ(RtlAddAccessAllowedAceEx(list(), ACL_REVISION, flags, rights, sid),
                  STATUS_SUCCESS);
    }
    void deny(PSID sid, ACCESS_MASK rights) {
        allow(sid, rights);
        PVOID entry = nullptr;
        ASSERT_EQ(RtlGetAce(list(), list()->AceCount - 1u, &entry), STATUS_SUCCESS);
        static_cast<ACE_HEADER*>(entry)->AceType = ACCESS_DENIED_ACE_TYPE;
    }
    NTSTATUS check(IRP_ACCOUNT account, ACCESS_MASK wanted, ACCESS_MASK before = 0,
                   KPROCESSOR_MODE mode = UserMode) {
        IrpSetAccount(account);
        SECURITY_SUBJECT_CONTEXT context;
        SeCaptureSubjectContext(&context);
        IrpSetAccount(IrpAccountSystem); // the context keeps what it captured
        NTSTATUS status = STATUS_PENDING;
        const BOOLEAN is_granted =
            SeAccessCheck(&descriptor_, &context, FALSE, wanted, before, &privileges_,
                          IoGetFileObjectGenericMapping(), mode, &granted_, &status);
        EXPECT_EQ(is_granted, NT_SUCCESS(status));
        SeReleaseSubjectContext(&context);
        return status;
    }

    SECURITY_DESCRIPTOR descriptor_{};
    alignas(ACL) UCHAR list_[256]{};
    ACCESS_MASK granted_ = 0;
    PPRIVILEGE_SET privileges_ = nullptr;
};

TEST_F(AccessCheck, EntriesOfTheAccountsGroups_Grant) {
    allow(SeExports->SeAliasUsersSid, GENERIC_READ);
    EXPECT_EQ(check(IrpAccountUser, FILE_READ_DATA), STATUS_SUCCESS);
    EXPECT_EQ(granted_, static_cast<ACCESS_MASK>(FILE_READ_DATA));
    EXPECT_EQ(check(IrpAccountUser, GENERIC_READ), STATUS_SUCCESS);
    EXPECT_EQ(granted_, static_cast<ACCESS_MASK>(FILE_GENERIC_READ));
    EXPECT_EQ(check(IrpAccountUser, FILE_WRITE_DATA), STATUS_ACCESS_DENIED);
    EXPECT_EQ(granted_, 0u);
    EXPECT_EQ(check(IrpAccountGuest, FILE_READ_DATA), STATUS_ACCESS_DENIED);
}

TEST_F(AccessCheck, FirstEntryOfARight_Decides) {
    deny(SeExports->SeAliasUsersSid, FILE_WRITE_DATA);
    allow(SeExports->SeWorldSid, FILE_WRITE_DATA | FILE_READ_DATA);
    deny(SeExports->SeAliasUsersSid, FILE_READ_DATA);
    EXPECT_EQ(check(IrpAccountUser, FILE_READ_DATA), STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountUser, FILE_WRITE_DATA), STATUS_ACCESS_DENIED);
    EXPECT_EQ(check(IrpAccountGuest, FILE_WRITE_DATA), STATUS_SUCCESS);
}

TEST_F(AccessCheck, MaximumAllowed_IsWhatTheAccountHas) {
    allow(SeExports->SeWorldSid, FILE_READ_DATA);
    allow(SeExports->SeLocalSystemSid, GENERIC_ALL);
    EXPECT_EQ(check(IrpAccountUser, MAXIMUM_ALLOWED), STATUS_SUCCESS);
    EXPECT_EQ(granted_, static_cast<ACCESS_MASK>(FILE_READ_DATA));
    EXPECT_EQ(check(IrpAccountSystem, MAXIMUM_ALLOWED), STATUS_SUCCESS);
    EXPECT_EQ(granted_, all_of_file);
    EXPECT_EQ(check(IrpAccountAnonymous, MAXIMUM_ALLOWED), STATUS_ACCESS_DENIED);
    EXPECT_EQ(check(IrpAccountAnonymous, MAXIMUM_ALLOWED, 0, KernelMode), STATUS_SUCCESS);
    EXPECT_EQ(granted_, all_of_file);
}

TEST_F(AccessCheck, AbsentListGrantsAll_EmptyListGrantsNothing) {
    EXPECT_EQ(check(IrpAccountSystem, FILE_READ_DATA), STATUS_ACCESS_DENIED);
    ASSERT_EQ(RtlSetDaclSecurityDescriptor(&descriptor_, TRUE, nullptr, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountGuest, FILE_ALL_ACCESS), STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountGuest, ACCESS_SYSTEM_SECURITY), STATUS_PRIVILEGE_NOT_HELD);
}

TEST_F(AccessCheck, EntryForChildrenOnly_GrantsNothing) {
    allow(SeExports->SeWorldSid, FILE_READ_DATA, INHERIT_ONLY_ACE | CONTAINER_INHERIT_ACE);
    EXPECT_EQ(check(IrpAccountUser, FILE_READ_DATA), STATUS_ACCESS_DENIED);
}

TEST_F(AccessCheck, GrantedBefore_IsNotAskedAgain) {
    EXPECT_EQ(check(IrpAccountUser, FILE_READ_DATA, FILE_READ_DATA | FILE_EXECUTE), STATUS_SUCCESS);
    EXPECT_EQ(granted_, static_cast<ACCESS_MASK>(FILE_READ_DATA | FILE_EXECUTE));
    EXPECT_EQ(check(IrpAccountUser, 0, FILE_EXECUTE), STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountUser, 0), STATUS_ACCESS_DENIED);
}

TEST_F(AccessCheck, Owner_MayReadAndChangeTheList) {
    ASSERT_EQ(RtlSetOwnerSecurityDescriptor(&descriptor_, SeExports->SeAliasUsersSid, FALSE),
              STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountUser, READ_CONTROL | WRITE_DAC), STATUS_SUCCESS);
    EXPECT_EQ(check(IrpAccountUser, WRITE_OWNER), STATUS_ACCESS_DENIED);
    EXPECT_EQ(check(IrpAccountGuest, READ_CONTROL), STATUS_ACCESS_DENIED);
}

TEST_F(AccessCheck, Privilege_GivesOwnershipAndIsReported) {
    EXPECT_EQ(check(IrpAccountAdministrator, WRITE_OWNER | ACCESS_SYSTEM_SECURITY), STATUS_SUCCESS);
    ASSERT_NE(privileges_, nullptr);
    EXPECT_EQ(privileges_->PrivilegeCount, 2u);
    ACCESS_STATE state{};
    EXPECT_EQ(SeAppendPrivileges(&state, privileges_), STATUS_SUCCESS);
    EXPECT_EQ(state.Privileges.PrivilegeSet.PrivilegeCount, 2u);
    EXPECT_EQ(SeAppendPrivileges(&state, privileges_), STATUS_INSUFFICIENT_RESOURCES);
    SeFreePrivileges(privileges_);
}

TEST_F(AccessCheck, NoDescriptorOrNoContext_GrantsNothing) {
    SECURITY_SUBJECT_CONTEXT context;
    SeCaptureSubjectContext(&context);
    NTSTATUS status = STATUS_SUCCESS;
    EXPECT_FALSE(SeAccessCheck(nullptr, &context, FALSE, 1, 0, nullptr,
                               IoGetFileObjectGenericMapping(), UserMode, &granted_, &status));
    EXPECT_EQ(status, STATUS_ACCESS_DENIED);
    SeReleaseSubjectContext(&context);
    EXPECT_FALSE(SeAccessCheck(&descriptor_, &context, FALSE, 1, 0, nullptr,
                               IoGetFileObjectGenericMapping(), UserMode, &granted_, &status));
    EXPECT_EQ(status, STATUS_NO_TOKEN);
}

TEST_F(AccessCheck, Privileges_AreOfTheAccount) {
    IrpSetAccount(IrpAccountUser);
    EXPECT_FALSE(SeSinglePrivilegeCheck(SeExports->SeLoadDriverPrivilege, UserMode));
    EXPECT_TRUE(SeSinglePrivilegeCheck(SeExports->SeLoadDriverPrivilege, KernelMode));
    SECURITY_SUBJECT_CONTEXT context;
    SeCaptureSubjectContext(&context);
    EXPECT_FALSE(SeTokenIsAdmin(SeQuerySubjectContextToken(&context)));
    INITIAL_PRIVILEGE_SET asked{2, 0, {}};
    asked.Privilege[0].Luid = SeExports->SeTcbPrivilege;
    asked.Privilege[1].Luid = RtlConvertUlongToLuid(SE_SHUTDOWN_PRIVILEGE);
    auto* set = reinterpret_cast<PPRIVILEGE_SET>(&asked);
    EXPECT_TRUE(SePrivilegeCheck(set, &context, UserMode));
    EXPECT_EQ(asked.Privilege[0].Attributes, 0u);
    EXPECT_EQ(asked.Privilege[1].Attributes, static_cast<ULONG>(SE_PRIVILEGE_USED_FOR_ACCESS));
    asked.Control = PRIVILEGE_SET_ALL_NECESSARY;
    EXPECT_FALSE(SePrivilegeCheck(set, &context, UserMode));
    IrpSetAccount(IrpAccountAdministrator);
    EXPECT_TRUE(SeSinglePrivilegeCheck(SeExports->SeLoadDriverPrivilege, UserMode));
    EXPECT_FALSE(SeSinglePrivilegeCheck(SeExports->SeTcbPrivilege, UserMode));
}

NTSTATUS check_create(PDEVICE_OBJECT, PIRP irp) {
    PIO_SECURITY_CONTEXT context =
        IoGetCurrentIrpStackLocation(irp)->Parameters.Create.SecurityContext;
    const bool is_admin =
        SeTokenIsAdmin(SeQuerySubjectContextToken(&context->AccessState->SubjectSecurityContext));
    irp->IoStatus.Status = is_admin ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
    irp->IoStatus.Information = 0;
    const NTSTATUS status = irp->IoStatus.Status;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}
NTSTATUS complete(PDEVICE_OBJECT, PIRP irp) {
    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

TEST_F(AccessCheck, CreateRequest_HasTheOpenersAccount) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_CREATE] = check_create;
    driver.MajorFunction[IRP_MJ_CLEANUP] = driver.MajorFunction[IRP_MJ_CLOSE] = complete;
    UNICODE_STRING name;
    RtlInitUnicodeString(&name, L"\\Device\\AccessCheck");
    PDEVICE_OBJECT device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, &name, 0, nullptr, nullptr);
    HANDLE file = nullptr;
    IO_STATUS_BLOCK result{};
    IrpSetAccount(IrpAccountUser);
    EXPECT_EQ(NtOpenFile(&file, FILE_READ_DATA, &attributes, &result, 0, 0), STATUS_ACCESS_DENIED);
    IrpSetAccount(IrpAccountAdministrator);
    ASSERT_EQ(NtOpenFile(&file, FILE_READ_DATA, &attributes, &result, 0, 0), STATUS_SUCCESS);
    NtClose(file);
    IoDeleteDevice(device);
}

} // namespace
