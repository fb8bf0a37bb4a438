// The inline functions of the storage headers: sense data, and SRBs of both kinds.

#include <array>
#include <gtest/gtest.h>
#include <ntifs.h>
#include <scsi.h>
#include <srbhelper.h>

namespace {

std::array<UCHAR, 18> fixed_sense() {
    std::array<UCHAR, 18> bytes{};
    bytes[0] = SCSI_SENSE_ERRORCODE_FIXED_CURRENT;
    bytes[2] = SCSI_SENSE_NOT_READY;
    bytes[7] = 10;
    bytes[12] = SCSI_ADSENSE_LUN_NOT_READY;
    bytes[13] = SCSI_SENSEQ_BECOMING_READY;
    return bytes;
}

// A header of eight bytes, then an information descriptor of twelve.
std::array<UCHAR, 20> descriptor_sense() {
    std::array<UCHAR, 20> bytes{};
    bytes[0] = SCSI_SENSE_ERRORCODE_DESCRIPTOR_CURRENT;
    bytes[1] = SCSI_SENSE_MEDIUM_ERROR;
    bytes[2] = SCSI_ADSENSE_UNRECOVERED_ERROR;
    bytes[7] = 12;
    bytes[8] = SCSI_SENSE_DESCRIPTOR_TYPE_INFORMATION;
    bytes[9] = 10;
    bytes[10] = 0x80; // valid
    return bytes;
}

struct codes {
    UCHAR key = 0, code = 0, qualifier = 0;
};

template <std::size_t size>
bool read(std::array<UCHAR, size> bytes, UCHAR length, codes& found) {
    return ScsiGetSenseKeyAndCodes(bytes.data(), length, SCSI_SENSE_OPTIONS_NONE, &found.key,
                                   &found.code, &found.qualifier) != 0;
}

TEST(SenseData, BothFormats_GiveKeyAndCodes) {
    codes found;
    ASSERT_TRUE(read(fixed_sense(), 18, found));
    EXPECT_EQ(found.key, SCSI_SENSE_NOT_READY);
    EXPECT_EQ(found.code, SCSI_ADSENSE_LUN_NOT_READY);
    EXPECT_EQ(found.qualifier, SCSI_SENSEQ_BECOMING_READY);
    ASSERT_TRUE(read(descriptor_sense(), 20, found));
    EXPECT_EQ(found.key, SCSI_SENSE_MEDIUM_ERROR);
    EXPECT_EQ(found.code, SCSI_ADSENSE_UNRECOVERED_ERROR);
}

TEST(SenseData, CutShort_GivesWhatIsThere) {
    codes found{9, 9, 9};
    ASSERT_TRUE(read(fixed_sense(), 3, found));
    EXPECT_EQ(found.key, SCSI_SENSE_NOT_READY);
    EXPECT_EQ(found.code, 0);
    EXPECT_FALSE(read(fixed_sense(), 2, found));
    EXPECT_FALSE(read(fixed_sense(), 0, found));
}

TEST(SenseData, UnknownFormat_IsRefusedUnlessTheCallerTakesItAsFixed) {
    auto bytes = fixed_sense();
    bytes[0] = 0x55;
    codes found;
    EXPECT_FALSE(read(bytes, 18, found));
    EXPECT_TRUE(ScsiGetSenseKeyAndCodes(bytes.data(), 18,
                                        SCSI_SENSE_OPTIONS_FIXED_FORMAT_IF_UNKNOWN_FORMAT_INDICATED,
                                        &found.key, &found.code, &found.qualifier));
}

TEST(SenseData, Descriptors_AreFoundByTypeWithinTheirLength) {
    auto bytes = descriptor_sense();
    PVOID first = nullptr;
    UCHAR length = 0;
    ASSERT_TRUE(ScsiGetSenseDescriptor(bytes.data(), 20, &first, &length));
    EXPECT_EQ(length, 12);
    UCHAR type = SCSI_SENSE_DESCRIPTOR_TYPE_INFORMATION, found_type = 9, left = 0;
    PVOID found = nullptr;
    ASSERT_TRUE(
        ScsiGetNextSenseDescriptorByType(first, length, &type, 1, &found_type, &found, &left));
    EXPECT_EQ(found_type, type);
    EXPECT_EQ(ScsiGetSenseDescriptorLength(found), 12);
    EXPECT_TRUE(ScsiValidateInformationSenseDescriptor(
        static_cast<PSCSI_SENSE_DESCRIPTOR_INFORMATION>(found), left));
    EXPECT_FALSE(ScsiValidateBlockCommandSenseDescriptor(
        static_cast<PSCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND>(found), left));
    // A descriptor that claims more than there is ends the search.
    bytes[9] = 200;
    EXPECT_FALSE(
        ScsiGetNextSenseDescriptorByType(first, length, &type, 1, &found_type, &found, &left));
    UCHAR block = SCSI_SENSE_DESCRIPTOR_TYPE_BLOCK_COMMAND;
    bytes[9] = 10;
    EXPECT_FALSE(
        ScsiGetNextSenseDescriptorByType(first, length, &block, 1, &found_type, &found, &left));
}

TEST(SenseData, BlockCommandDescriptor_IsValidByItsLength) {
    SCSI_SENSE_DESCRIPTOR_BLOCK_COMMAND block{};
    block.Header.DescriptorType = SCSI_SENSE_DESCRIPTOR_TYPE_BLOCK_COMMAND;
    block.Header.AdditionalLength = 2;
    EXPECT_TRUE(ScsiValidateBlockCommandSenseDescriptor(&block, sizeof block));
    EXPECT_FALSE(ScsiValidateBlockCommandSenseDescriptor(&block, sizeof block - 1));
}

TEST(SenseData, TotalLength_IsTheHeaderAndWhatItNames) {
    auto bytes = fixed_sense();
    UCHAR total = 0;
    ASSERT_TRUE(ScsiGetTotalSenseByteCountIndicated(bytes.data(), 18, &total));
    EXPECT_EQ(total, 18);
    EXPECT_FALSE(ScsiGetTotalSenseByteCountIndicated(bytes.data(), 7, &total));
    bytes[7] = 255;
    EXPECT_FALSE(ScsiGetTotalSenseByteCountIndicated(bytes.data(), 18, &total));
}

TEST(SenseData, ConvertedToFixed_KeepsKeyAndCodes) {
    auto bytes = descriptor_sense();
    SENSE_DATA fixed{};
    ASSERT_TRUE(ScsiConvertToFixedSenseFormat(bytes.data(), 20, &fixed, sizeof fixed));
    EXPECT_EQ(fixed.ErrorCode, SCSI_SENSE_ERRORCODE_FIXED_CURRENT);
    EXPECT_EQ(fixed.SenseKey, SCSI_SENSE_MEDIUM_ERROR);
    EXPECT_EQ(fixed.AdditionalSenseCode, SCSI_ADSENSE_UNRECOVERED_ERROR);
    EXPECT_FALSE(ScsiConvertToFixedSenseFormat(bytes.data(), 20, &fixed, 4));
    EXPECT_FALSE(ScsiConvertToFixedSenseFormat(fixed_sense().data(), 18, &fixed, sizeof fixed));
}

TEST(CommandBlock, EachForm_HasItsCommandsLength) {
    EXPECT_EQ(sizeof(CDB), 16u);
    EXPECT_EQ(sizeof(CDB::CDB6GENERIC), 6u);
    EXPECT_EQ(sizeof(CDB::CDB10), 10u);
    EXPECT_EQ(sizeof(CDB::CDB12), 12u);
    EXPECT_EQ(sizeof(CDB::CDB16), 16u);
    EXPECT_EQ(sizeof(CDB::UNMAP), 10u);
    EXPECT_EQ(sizeof(CDB::READ_CD), 12u);
    EXPECT_EQ(sizeof(CDB::START_STOP), 6u);
    EXPECT_EQ(sizeof(SENSE_DATA), 18u);
    EXPECT_EQ(sizeof(VPD_BLOCK_LIMITS_PAGE), 64u);
    EXPECT_EQ(sizeof(VPD_BLOCK_DEVICE_CHARACTERISTICS_PAGE), 64u);
    EXPECT_EQ(sizeof(MODE_CACHING_PAGE), 12u);
    EXPECT_EQ(sizeof(READ_CAPACITY16_DATA), 32u);
}

TEST(CommandBlock, Numbers_AreReversedInPlaceToo) {
    ULONGLONG quad = 0x0102030405060708;
    ULONG value = 0x01020304, other = 0;
    USHORT half = 0x0102;
    REVERSE_BYTES_QUAD(&quad, &quad)
    REVERSE_BYTES(&other, &value)
    REVERSE_SHORT(&half)
    EXPECT_EQ(quad, 0x0807060504030201u);
    EXPECT_EQ(other, 0x04030201u);
    EXPECT_EQ(half, 0x0201);
    UCHAR bit = 0;
    WHICH_BIT(4096u, bit);
    EXPECT_EQ(bit, 12);
}

// An SRB of either kind, with a SCSI command in it.
struct either_srb : testing::TestWithParam<bool> {
    struct extended {
        STORAGE_REQUEST_BLOCK srb;
        STOR_ADDR_BTL8 address;
        SRBEX_DATA_SCSI_CDB16 command;
    };

    either_srb() {
        if (!GetParam()) {
            old.Length = sizeof old;
            old.Function = SRB_FUNCTION_EXECUTE_SCSI;
            old.CdbLength = 10;
            old.PathId = 1, old.TargetId = 2, old.Lun = 3;
            return;
        }
        in.srb.Length = FIELD_OFFSET(STORAGE_REQUEST_BLOCK, Signature);
        in.srb.Function = SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
        in.srb.SrbLength = sizeof in;
        in.srb.SrbFunction = SRB_FUNCTION_EXECUTE_SCSI;
        in.srb.AddressOffset = offsetof(extended, address);
        in.srb.NumSrbExData = 1;
        in.srb.SrbExDataOffset[0] = offsetof(extended, command);
        in.address.Path = 1, in.address.Target = 2, in.address.Lun = 3;
        in.command.Type = SrbExDataTypeScsiCdb16;
        in.command.Length = SRBEX_DATA_SCSI_CDB16_LENGTH;
        in.command.CdbLength = 10;
    }
    PVOID srb() { return GetParam() ? static_cast<PVOID>(&in) : &old; }

    SCSI_REQUEST_BLOCK old{};
    extended in{};
};

TEST_P(either_srb, Command_IsTheOneInTheRequest) {
    EXPECT_EQ(SrbGetCdbLength(srb()), 10u);
    SrbSetCdbLength(srb(), 12);
    EXPECT_EQ(SrbGetCdbLength(srb()), 12u);
    SrbSetCdbLength(srb(), 10);
    ASSERT_NE(SrbGetCdb(srb()), nullptr);
    SrbGetCdb(srb())->AsByte[0] = SCSIOP_READ;
    EXPECT_EQ(GetParam() ? in.command.Cdb[0] : old.Cdb[0], SCSIOP_READ);
    UCHAR sense[18];
    SrbSetSenseInfoBuffer(srb(), sense);
    SrbSetSenseInfoBufferLength(srb(), sizeof sense);
    SrbSetScsiStatus(srb(), SCSISTAT_CHECK_CONDITION);
    EXPECT_EQ(SrbGetSenseInfoBuffer(srb()), sense);
    EXPECT_EQ(SrbGetSenseInfoBufferLength(srb()), sizeof sense);
    EXPECT_EQ(SrbGetScsiStatus(srb()), SCSISTAT_CHECK_CONDITION);
    EXPECT_EQ(SrbGetSrbFunction(srb()), static_cast<ULONG>(SRB_FUNCTION_EXECUTE_SCSI));
}

TEST_P(either_srb, Fields_AreReadAndWritten) {
    int data = 0, original = 0;
    SrbSetDataBuffer(srb(), &data);
    SrbSetDataTransferLength(srb(), sizeof data);
    SrbSetTimeOutValue(srb(), 7);
    SrbSetOriginalRequest(srb(), &original);
    SrbAssignSrbFlags(srb(), SRB_FLAGS_DATA_IN);
    SrbSetSrbFlags(srb(), SRB_FLAGS_NO_QUEUE_FREEZE);
    SrbClearSrbFlags(srb(), SRB_FLAGS_DATA_IN);
    SrbSetSystemStatus(srb(), 5);
    SrbSetRequestTag(srb(), 9);
    SrbSetRequestAttribute(srb(), SRB_SIMPLE_TAG_REQUEST);
    SrbSetNextSrb(srb(), srb());
    EXPECT_EQ(SrbGetDataBuffer(srb()), &data);
    EXPECT_EQ(SrbGetDataTransferLength(srb()), sizeof data);
    EXPECT_EQ(SrbGetTimeOutValue(srb()), 7u);
    EXPECT_EQ(SrbGetOriginalRequest(srb()), &original);
    EXPECT_EQ(SrbGetSrbFlags(srb()), static_cast<ULONG>(SRB_FLAGS_NO_QUEUE_FREEZE));
    EXPECT_EQ(SrbGetSystemStatus(srb()), 5u);
    EXPECT_EQ(SrbGetQueueTag(srb()), 9u);
    EXPECT_EQ(SrbGetQueueAction(srb()), SRB_SIMPLE_TAG_REQUEST);
    EXPECT_EQ(SrbGetNextSrb(srb()), srb());
    UCHAR path = 0, target = 0, lun = 0;
    SrbGetPathTargetLun(srb(), &path, &target, &lun);
    EXPECT_EQ(path, 1);
    EXPECT_EQ(target, 2);
    EXPECT_EQ(lun, 3);
}

TEST_P(either_srb, Status_KeepsTheSignOfValidSenseData) {
    old.SrbStatus = in.srb.SrbStatus = SRB_STATUS_ERROR | SRB_STATUS_AUTOSENSE_VALID;
    SrbSetSrbStatus(srb(), SRB_STATUS_SUCCESS);
    EXPECT_EQ(SrbGetSrbStatus(srb()), SRB_STATUS_SUCCESS | SRB_STATUS_AUTOSENSE_VALID);
    EXPECT_EQ(SRB_STATUS(SrbGetSrbStatus(srb())), SRB_STATUS_SUCCESS);
}

TEST_P(either_srb, Copy_NeedsRoomForAll) {
    extended copy{};
    SrbGetCdb(srb())->AsByte[0] = SCSIOP_WRITE;
    EXPECT_FALSE(SrbCopySrb(&copy, SrbGetSrbLength(srb()) - 1, srb()));
    ASSERT_TRUE(SrbCopySrb(&copy, sizeof copy, srb()));
    EXPECT_EQ(SrbGetCdb(&copy)->AsByte[0], SCSIOP_WRITE);
    SrbZeroSrb(&copy);
    EXPECT_EQ(SrbGetDataTransferLength(&copy), 0u);
    EXPECT_EQ(copy.srb.Function, GetParam() ? SRB_FUNCTION_STORAGE_REQUEST_BLOCK : 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, either_srb, testing::Bool());

TEST(ExtendedSrb, BlockOfDataOutsideTheRequest_IsNotFound) {
    STORAGE_REQUEST_BLOCK srb{};
    srb.Function = SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
    srb.SrbFunction = SRB_FUNCTION_EXECUTE_SCSI;
    srb.SrbLength = sizeof srb;
    srb.NumSrbExData = 1;
    srb.SrbExDataOffset[0] = 4096;
    EXPECT_EQ(SrbGetPrimarySrbExData(&srb), nullptr);
    EXPECT_EQ(SrbGetSrbExDataByType(&srb, SrbExDataTypeScsiCdb16), nullptr);
    EXPECT_EQ(SrbGetCdb(&srb), nullptr);
    EXPECT_EQ(SrbGetScsiStatus(&srb), 0);
}

} // namespace
