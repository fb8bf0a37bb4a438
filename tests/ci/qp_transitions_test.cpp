// HcaCheckQpModify against the table of transitions, which stands here a second time, as text.
#include "qp_hca.hpp"

#include <support/both_machines.hpp>

#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

namespace {

using namespace irpverbs::testing;

// from, to, types : required | optional. Source: IBA 11.2.5.2, tables 91 and 92; annex A14.
constexpr std::string_view table = R"(
RESET INIT UD              : PK PO QK |
RESET INIT UC RC INI TGT   : PK PO AF |
RESET INIT SMI GSI         : PK QK |
RESET INIT RAW             : PO |
INIT INIT UD               : | PK PO QK
INIT INIT UC RC INI TGT    : | PK PO AF
INIT INIT SMI GSI          : | PK QK
INIT RTR UD                : | PK QK
INIT RTR UC                : AV MTU DQ RP | AL AF PK
INIT RTR RC                : AV MTU DQ RP MD MR | AL AF PK
INIT RTR INI               : AV MTU DQ RP | AL AF PK
INIT RTR TGT               : AV MTU DQ RP MD MR | AL AF PK
INIT RTR SMI GSI           : | PK QK
INIT RTR RAW               : |
RTR RTS UD SMI GSI         : SP | CS QK
RTR RTS UC                 : SP | CS AL AF MS
RTR RTS RC                 : TO RC RR SP MQ | CS AL AF MR MS
RTR RTS INI                : TO RC RR SP MQ | CS AL AF MS
RTR RTS TGT                : TO SP | CS AL AF MS MR
RTR RTS RAW                : | RL
RTS RTS UD SMI GSI         : | CS QK
RTS RTS UC INI             : | CS AF AL MS
RTS RTS RC TGT             : | CS AF AL MS MR
RTS RTS RAW                : | RL
RTS SQD UD UC RC INI TGT SMI GSI : | SE
SQD RTS UD SMI GSI         : | CS QK
SQD RTS UC INI             : | CS AL AF MS
SQD RTS RC TGT             : | CS AL AF MR MS
SQD SQD UD SMI GSI         : | PK QK
SQD SQD UC                 : | AV AL AF PK MS
SQD SQD RC                 : | PO AV TO RC RR MQ MD AL AF PK MR MS
SQD SQD INI                : | PO AV TO RC RR MQ AL AF PK MS
SQD SQD TGT                : | PO AV TO MD AL AF PK MR MS
SQE RTS UD SMI GSI         : | CS QK
SQE RTS UC                 : | CS AF
)";

const std::map<std::string, ib_qp_type_t> types{{"UD", IB_QPT_UNRELIABLE_DGRM},
                                                {"UC", IB_QPT_UNRELIABLE_CONN},
                                                {"RC", IB_QPT_RELIABLE_CONN},
                                                {"INI", IB_QPT_XRC_INI},
                                                {"TGT", IB_QPT_XRC_TGT},
                                                {"SMI", IB_QPT_QP0},
                                                {"GSI", IB_QPT_QP1},
                                                {"RAW", IB_QPT_RAW_ETHER}};

const std::map<std::string, ib_qp_state_t> states{
    {"RESET", IB_QPS_RESET}, {"INIT", IB_QPS_INIT}, {"RTR", IB_QPS_RTR},  {"RTS", IB_QPS_RTS},
    {"SQD", IB_QPS_SQD},     {"SQE", IB_QPS_SQERR}, {"ERR", IB_QPS_ERROR}};

// Numbers of ibv_modify_qp(3).
const std::map<std::string, ULONG> attributes{
    {"CS", 1u << 1},  {"SE", 1u << 2},  {"AF", 1u << 3},  {"PK", 1u << 4},  {"PO", 1u << 5},
    {"QK", 1u << 6},  {"AV", 1u << 7},  {"MTU", 1u << 8}, {"TO", 1u << 9},  {"RC", 1u << 10},
    {"RR", 1u << 11}, {"RP", 1u << 12}, {"MQ", 1u << 13}, {"AL", 1u << 14}, {"MR", 1u << 15},
    {"SP", 1u << 16}, {"MD", 1u << 17}, {"MS", 1u << 18}, {"DQ", 1u << 20}, {"RL", 1u << 25}};

struct masks {
    ULONG required = 0;
    ULONG optional = 0;
};
using transitions = std::map<std::tuple<ib_qp_type_t, ib_qp_state_t, ib_qp_state_t>, masks>;

masks parse_masks(std::istringstream& words) {
    masks read;
    ULONG* into = &read.required;
    for (std::string word; words >> word;)
        if (word == "|")
            into = &read.optional;
        else
            *into |= attributes.at(word);
    return read;
}

transitions parse_table() {
    transitions all;
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string from;
        std::string to;
        if (!(words >> from >> to)) continue;
        std::vector<ib_qp_type_t> its_types;
        for (std::string word; words >> word && word != ":";)
            its_types.push_back(types.at(word));
        const masks read = parse_masks(words);
        for (const ib_qp_type_t type : its_types)
            all.emplace(std::tuple(type, states.at(from), states.at(to)), read);
    }
    for (const auto& [type_name, type] : types)
        for (const auto& [state_name, state] : states) {
            all.emplace(std::tuple(type, state, states.at("RESET")), masks{});
            if (state != IB_QPS_RESET)
                all.emplace(std::tuple(type, state, states.at("ERR")), masks{});
        }
    return all;
}

/// A queue pair of any type in any state, which no verb created.
struct loose_qp {
    HCA_CA ca{};
    HCA_PD pd{};
    HCA_QP qp{};

    explicit loose_qp(DEVICE_OBJECT* fdo) {
        ca.Device = fdo;
        pd.Ca = &ca;
        qp.Pd = &pd;
    }
    NTSTATUS check(ib_qp_type_t type, ib_qp_state_t from, const ib_qp_mod_t& modify) {
        qp.Create.qp_type = type;
        HcaSetQpState(&qp, from);
        return HcaCheckQpModify(&qp, &modify);
    }
};

/// A change to the state with good values for all attributes.
ib_qp_mod_t good_change(ib_qp_state_t from, ib_qp_state_t to, ULONG opts) {
    ib_qp_mod_t change{};
    change.opts = opts;
    change.req_state = to;
    change.current_state = from;
    change.primary_port = 1;
    change.path_mtu = IB_MTU_1024;
    change.apm_state = IB_APM_REARM;
    change.primary_av.port_num = change.alternate_av.port_num = 1;
    return change;
}

class QpTransitions : public BothMachines {};

NTSTATUS expected(const transitions& all, ib_qp_type_t type, ib_qp_state_t from, ib_qp_state_t to,
                  ULONG opts) {
    const auto found = all.find(std::tuple(type, from, to));
    if (found == all.end()) return STATUS_INVALID_DEVICE_STATE;
    const auto [required, optional] = found->second;
    opts &= ~1u;
    return (opts & required) == required && (opts & ~(required | optional)) == 0
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

TEST_P(QpTransitions, EveryTypeStateAndMaskPlusMinusABit_IsAsTheTableSays) {
    const fake_hca hca;
    loose_qp loose(hca.fdo);
    const transitions all = parse_table();
    EXPECT_EQ(all.size(), 64u + 8 * 7 + 8 * 6);
    unsigned wrong = 0;
    unsigned checked = 0;
    for (const auto& [type_name, type] : types)
        for (const auto& [from_name, from] : states)
            for (const auto& [to_name, to] : states) {
                const auto found = all.find(std::tuple(type, from, to));
                const masks its = found != all.end() ? found->second : masks{};
                for (const ULONG base : {its.required, its.required | its.optional})
                    for (unsigned flipped = 0; flipped <= 32; ++flipped) {
                        // Flipping bit 0 leaves the state out, so that it stays.
                        const ULONG flip = flipped < 32 ? 1u << flipped : 0;
                        const ULONG opts = (base | IB_MOD_QP_STATE) ^ flip;
                        const ib_qp_state_t target = (opts & IB_MOD_QP_STATE) != 0 ? to : from;
                        const NTSTATUS status =
                            loose.check(type, from, good_change(from, to, opts));
                        ++checked;
                        if (status == expected(all, type, from, target, opts) || ++wrong > 10)
                            continue;
                        ADD_FAILURE() << type_name << " " << from_name << " to " << to_name
                                      << " opts " << std::hex << opts << ": " << name_of(status);
                    }
            }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(checked, 8u * 7 * 7 * 2 * 33);
}

// The library's names have the numbers of libibverbs, as the header says.
TEST(QpAttributes, Bits_AreThoseOfIbvModifyQp) {
    EXPECT_EQ(IB_MOD_QP_STATE, 1u);
    EXPECT_EQ(IB_MOD_QP_CURRENT_STATE, attributes.at("CS"));
    EXPECT_EQ(IB_MOD_QP_SQD_EVENT, attributes.at("SE"));
    EXPECT_EQ(IB_MOD_QP_ACCESS_CTRL, attributes.at("AF"));
    EXPECT_EQ(IB_MOD_QP_PKEY, attributes.at("PK"));
    EXPECT_EQ(IB_MOD_QP_PRIMARY_PORT, attributes.at("PO"));
    EXPECT_EQ(IB_MOD_QP_QKEY, attributes.at("QK"));
    EXPECT_EQ(IB_MOD_QP_PRIMARY_AV, attributes.at("AV"));
    EXPECT_EQ(IB_MOD_QP_PATH_MTU, attributes.at("MTU"));
    EXPECT_EQ(IB_MOD_QP_LOCAL_ACK_TIMEOUT, attributes.at("TO"));
    EXPECT_EQ(IB_MOD_QP_RETRY_CNT, attributes.at("RC"));
    EXPECT_EQ(IB_MOD_QP_RNR_RETRY_CNT, attributes.at("RR"));
    EXPECT_EQ(IB_MOD_QP_RQ_PSN, attributes.at("RP"));
    EXPECT_EQ(IB_MOD_QP_INIT_DEPTH, attributes.at("MQ"));
    EXPECT_EQ(IB_MOD_QP_ALTERNATE_AV, attributes.at("AL"));
    EXPECT_EQ(IB_MOD_QP_RNR_NAK_TIMEOUT, attributes.at("MR"));
    EXPECT_EQ(IB_MOD_QP_SQ_PSN, attributes.at("SP"));
    EXPECT_EQ(IB_MOD_QP_RESP_RES, attributes.at("MD"));
    EXPECT_EQ(IB_MOD_QP_APM_STATE, attributes.at("MS"));
    EXPECT_EQ(IB_MOD_QP_DEST_QP, attributes.at("DQ"));
    EXPECT_EQ(IB_MOD_QP_RATE_LIMIT, attributes.at("RL"));
}

TEST_P(QpTransitions, SendQueueThatDrains_AllowsOnlyResetAndError) {
    const fake_hca hca;
    loose_qp loose(hca.fdo);
    for (const auto& [name, type] : types) {
        if (type == IB_QPT_RAW_ETHER) continue;
        for (const ib_qp_state_t to : {IB_QPS_RTS, IB_QPS_SQD}) {
            EXPECT_EQ(loose.check(type, IB_QPS_SQD_DRAINING, to_state(to)),
                      STATUS_INVALID_DEVICE_STATE)
                << name;
            EXPECT_EQ(loose.check(type, IB_QPS_SQD_DRAINED, to_state(to)), STATUS_SUCCESS) << name;
        }
        for (const ib_qp_state_t to : {IB_QPS_RESET, IB_QPS_ERROR})
            for (const ib_qp_state_t from : {IB_QPS_SQD_DRAINING, IB_QPS_SQD_DRAINED})
                EXPECT_EQ(loose.check(type, from, to_state(to)), STATUS_SUCCESS) << name;
    }
}

TEST_P(QpTransitions, CurrentState_MustBeTheState) {
    const fake_hca hca;
    loose_qp loose(hca.fdo);
    for (const auto& [name, given] : states) {
        const NTSTATUS status =
            loose.check(IB_QPT_RELIABLE_CONN, IB_QPS_RTS,
                        good_change(given, IB_QPS_RTS, IB_MOD_QP_STATE | IB_MOD_QP_CURRENT_STATE));
        EXPECT_EQ(status, given == IB_QPS_RTS ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE)
            << name;
    }
    for (const ib_qp_state_t given : {IB_QPS_SQD, IB_QPS_SQD_DRAINING, IB_QPS_SQD_DRAINED})
        EXPECT_EQ(
            loose.check(IB_QPT_RELIABLE_CONN, IB_QPS_SQD_DRAINED,
                        good_change(given, IB_QPS_RTS, IB_MOD_QP_STATE | IB_MOD_QP_CURRENT_STATE)),
            STATUS_SUCCESS);
}

TEST_P(QpTransitions, StateThatIsNone_IsAnInvalidParameter) {
    const fake_hca hca;
    loose_qp loose(hca.fdo);
    for (const ib_qp_state_t state : {0u, 3u, 0x30u, 0x50u, 0x70u, 0x181u, 0x200u, ~0u})
        EXPECT_EQ(loose.check(IB_QPT_RELIABLE_CONN, IB_QPS_RTS, to_state(state)),
                  STATUS_INVALID_PARAMETER)
            << state;
}

/// A member, its largest good value and the one behind, or its smallest and the one before.
struct bound {
    const char* name;
    ib_qp_state_t from;
    ib_qp_state_t to;
    std::function<void(ib_qp_mod_t&)> good;
    std::function<void(ib_qp_mod_t&)> bad;
};

#define BOUND(from, to, member, last, behind)                                                      \
    {                                                                                              \
#member " " #behind, from, to,                                                             \
            [](ib_qp_mod_t &                                                                       \
               change) { change.member = last; }, [](ib_qp_mod_t &                                 \
                                                     change) { change.member = behind; }           \
    }

const bound bounds[] = {
    BOUND(IB_QPS_RESET, IB_QPS_INIT, primary_port, 2, 3),
    BOUND(IB_QPS_RESET, IB_QPS_INIT, primary_port, 1, 0),
    BOUND(IB_QPS_RESET, IB_QPS_INIT, access_ctrl, 0x1F, 0x20),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, dest_qp, 0xFFFFFF, 0x1000000),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, rq_psn, 0xFFFFFF, 0x1000000),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, path_mtu, 5, 6),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, path_mtu, 1, 0),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, rnr_nak_timeout, 31, 32),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.port_num, 2, 3),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.port_num, 1, 0),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.dlid, 0xBFFF, 0xC000),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.sl, 15, 16),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.path_bits, 127, 128),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, primary_av.grh.flow_label, 0xFFFFF, 0x100000),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, alternate_av.port_num, 2, 3),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, alternate_av.dlid, 0xBFFF, 0xC000),
    BOUND(IB_QPS_INIT, IB_QPS_RTR, alternate_local_ack_timeout, 31, 32),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, sq_psn, 0xFFFFFF, 0x1000000),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, local_ack_timeout, 31, 32),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, retry_cnt, 7, 8),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, rnr_retry_cnt, 7, 8),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, apm_state, IB_APM_MIGRATED, IB_APM_ARMED),
    BOUND(IB_QPS_RTR, IB_QPS_RTS, apm_state, IB_APM_REARM, 0),
};

TEST_P(QpTransitions, ValueBeyondItsRange_IsAnInvalidParameterAndTheLastOneIsGood) {
    const fake_hca hca; // has two ports
    loose_qp loose(hca.fdo);
    const transitions all = parse_table();
    for (const bound& each : bounds) {
        const masks its = all.at(std::tuple(types.at("RC"), each.from, each.to));
        ib_qp_mod_t change =
            good_change(each.from, each.to, IB_MOD_QP_STATE | its.required | its.optional);
        change.primary_av.grh_valid = TRUE;
        each.good(change);
        EXPECT_EQ(loose.check(IB_QPT_RELIABLE_CONN, each.from, change), STATUS_SUCCESS)
            << each.name;
        each.bad(change);
        EXPECT_EQ(loose.check(IB_QPT_RELIABLE_CONN, each.from, change), STATUS_INVALID_PARAMETER)
            << each.name;
    }
}

TEST_P(QpTransitions, ValueThatNoOptNames_IsIgnored) {
    const fake_hca hca;
    loose_qp loose(hca.fdo);
    ib_qp_mod_t change{};
    std::memset(static_cast<void*>(&change), 0xFF, sizeof(change));
    change.opts = IB_MOD_QP_STATE;
    change.req_state = IB_QPS_ERROR;
    EXPECT_EQ(loose.check(IB_QPT_RELIABLE_CONN, IB_QPS_RTS, change), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(QpTransitions);

} // namespace
