// The table of verbs: its numbers are stable, and each row is complete.
#include "fake_hca.hpp"

#include <ci/names.hpp>
#include <verbs/verb.hpp>

#include <support/bug_checks.hpp>
#include <support/verbs.hpp>

#include <map>
#include <string>
#include <string_view>

namespace {

using namespace irpverbs;

struct row {
    const char* name;
    unsigned code;
    const char* object;
    void (*function)(); // proves that it links
};

const row rows[] = {
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, object, ...)                                                     \
    {"Ci" #Name, code, #object, reinterpret_cast<void (*)()>(Ci##Name)},
#include <ci/verbs.def>
};

// Programs that were compiled earlier, and other processes, identify a verb by its number.
TEST(Verbs, Numbers_OfVerbsThatWereReleased_Stay) {
    const std::map<std::string_view, unsigned> released{
        {"CiOpenCa", 0x10},           {"CiCloseCa", 0x11},
        {"CiGetCaFatalEvent", 0x12},  {"CiGetCaPortEvent", 0x13},
        {"CiQueryCa", 0x14},          {"CiQueryPort", 0x15},
        {"CiModifyCa", 0x16},         {"CiModifyPort", 0x17},
        {"CiCreateCq", 0x20},         {"CiDestroyCq", 0x21},
        {"CiQueryCq", 0x22},          {"CiResizeCq", 0x23},
        {"CiPollCq", 0x24},           {"CiArmCq", 0x25},
        {"CiGetCqCompEvent", 0x26},   {"CiGetCqAsyncEvent", 0x27},
        {"CiRegisterMadAgent", 0x30}, {"CiDeregisterMadAgent", 0x31},
        {"CiSendMad", 0x32},          {"CiGetMad", 0x33},
        {"CiModifyMadAgent", 0x34},   {"CiAllocatePd", 0x40},
        {"CiDeallocatePd", 0x41},     {"CiRegisterMr", 0x50},
        {"CiDeregisterMr", 0x51},     {"CiQueryMr", 0x52},
        {"CiModifyMr", 0x53},         {"CiAllocateFrmr", 0x54},
        {"CiRegisterPmr", 0x55},      {"CiRegisterSmr", 0x56},
        {"CiModifyPmr", 0x57},        {"CiAllocateMw", 0x60},
        {"CiDeallocateMw", 0x61},     {"CiQueryMw", 0x62},
        {"CiCreateAv", 0x70},         {"CiDestroyAv", 0x71},
        {"CiModifyAv", 0x72},         {"CiQueryAv", 0x73},
        {"CiCreateQp", 0x80},         {"CiDestroyQp", 0x81},
        {"CiModifyQp", 0x82},         {"CiQueryQp", 0x83},
        {"CiFlushQp", 0x84},          {"CiGetQpAsyncEvent", 0x85},
        {"CiTransfer", 0x86},         {"CiTransferRecv", 0x87},
        {"CiCreateSrq", 0x90},        {"CiDestroySrq", 0x91},
        {"CiModifySrq", 0x92},        {"CiQuerySrq", 0x93},
        {"CiGetSrqAsyncEvent", 0x94}, {"CiAttachMcast", 0xA0},
        {"CiDetachMcast", 0xA1},      {"CiAllocateXrcd", 0xB0},
        {"CiDeallocateXrcd", 0xB1},
    };
    std::map<std::string_view, unsigned> now;
    for (const row& each : rows)
        now.emplace(each.name, each.code);
    EXPECT_EQ(now, released);
}

TEST(Verbs, Code_OfARow_IsDecodedToItAndOthersToNone) {
    std::map<unsigned, std::string_view> names;
    for (const row& each : rows)
        names.emplace(each.code, each.name);
    for (unsigned code = 0; code < 256; ++code)
        EXPECT_EQ(ci::verb_of(static_cast<UCHAR>(code)), names.contains(code) ? names[code] : "?");
}

TEST(Verbs, Rows_OfOneObject_ShareABlockOf16Codes) {
    std::map<std::string_view, unsigned> blocks;
    for (const row& each : rows) {
        EXPECT_EQ(blocks.emplace(each.object, each.code & 0xF0u).first->second, each.code & 0xF0u)
            << each.name;
        EXPECT_GE(each.code, 0x10u);
        EXPECT_LT(each.code, unsigned{HCA_MN_MAXIMUM_FUNCTION});
        EXPECT_NE(each.function, nullptr);
    }
}

// Every operation is filled in: the common half calls each without a test.
TEST(Verbs, Operations_OfADriverThatHasNone_AreAllThere) {
    HCA_OPERATIONS none{};
    ci::complete_operations(none);
#define CI_OBJECT(object, block)
#define CI_IF_creates(Name) EXPECT_NE(none.Name, nullptr);
#define CI_IF_ends CI_IF_creates
#define CI_IF_submits CI_IF_creates
#define CI_IF_calls CI_IF_creates
#define CI_IF_waits(Name)
#define CI_VERB(NAME, Name, code, object, does, ...) CI_IF_##does(Name)
#include <ci/verbs.def>
}

} // namespace
