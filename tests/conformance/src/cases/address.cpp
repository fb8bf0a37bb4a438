// Address vectors.
#include "queue_pairs.hpp"

namespace irpverbs::conformance {

namespace address_group {
namespace {

ib_av_attr_t way_to(IB_CA* of, ib_lid_t dlid) {
    ib_av_attr_t made = way_to_own_port(of);
    made.dlid = dlid;
    made.sl = 3;
    return made;
}

/// An address vector; the destructor destroys it.
class av {
public:
    av(IB_PD* parent, const ib_av_attr_t& wanted)
        : av_(reinterpret_cast<IB_AV*>(must(create_av(parent, &wanted)))) {}
    ~av() { EXPECT_STATUS(verb_call(destroy_av(av_)).status(), STATUS_SUCCESS); }
    av(const av&) = delete;
    av& operator=(const av&) = delete;

    operator IB_AV*() const { return av_; }
    ib_av_query_t attributes() const {
        ib_av_query_t attr{};
        EXPECT_STATUS(status_of(query_av(av_, &attr, sizeof(attr))), STATUS_SUCCESS);
        return attr;
    }

private:
    IB_AV* av_;
};

void created_domain_is_busy(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const av way(domain, way_to(opened, 7));
    EXPECT_STATUS(status_of(deallocate_pd(domain)), STATUS_DEVICE_BUSY);
    EXPECT_EQ(way.attributes().attr.dlid, 7);
}

template <class Refuse>
void for_each_wrong_way(IB_CA* opened, const Refuse& refuses) {
    const auto with = [&](auto change) {
        ib_av_attr_t wrong = way_to(opened, 7);
        change(wrong);
        EXPECT_STATUS(refuses(&wrong), STATUS_INVALID_PARAMETER);
    };
    with([](ib_av_attr_t& way) { way.port_num = 0; });
    with([](ib_av_attr_t& way) { way.port_num = 255; });
    with([](ib_av_attr_t& way) { way.dlid = IB_LID_PERMISSIVE; });
    with([](ib_av_attr_t& way) { way.sl = 16; });
    with([](ib_av_attr_t& way) { way.path_bits = 128; });
    with([](ib_av_attr_t& way) {
        way.grh_valid = TRUE;
        way.grh.flow_label = 1u << 20;
    });
    EXPECT_STATUS(refuses(nullptr), STATUS_INVALID_PARAMETER);
}

void wrong_fields_return_invalid_parameter(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const av unused(domain, way_to(opened, 7)); // skips the case on an HCA without address vectors
    for_each_wrong_way(
        opened, [&](const ib_av_attr_t* wrong) { return status_of(create_av(domain, wrong)); });
}

void modify_replaces_attributes(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const av way(domain, way_to(opened, 7));
    ib_av_attr_t other = way_to(opened, 0xC001);
    other.grh_valid = TRUE;
    other.grh.dest_gid = {0xFF12401BFFFF0000, 1};
    other.grh.flow_label = 0xFFFFF;
    other.grh.hop_limit = 9;
    EXPECT_STATUS(status_of(modify_av(way, &other)), STATUS_SUCCESS);
    const ib_av_query_t seen = way.attributes();
    EXPECT_EQ(seen.h_pd, domain);
    EXPECT_EQ(seen.attr.dlid, 0xC001);
    EXPECT_EQ(seen.attr.grh.dest_gid, other.grh.dest_gid);
    EXPECT_EQ(seen.attr.grh.flow_label, 0xFFFFFu);
    EXPECT_EQ(seen.attr.grh.hop_limit, 9);
}

void wrong_modify_changes_nothing(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const av way(domain, way_to(opened, 7));
    for_each_wrong_way(opened,
                       [&](const ib_av_attr_t* wrong) { return status_of(modify_av(way, wrong)); });
    EXPECT_EQ(way.attributes().attr.dlid, 7);
    EXPECT_EQ(way.attributes().attr.sl, 3);
}

void query_short_buffer_returns_too_small(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const av way(domain, way_to(opened, 7));
    ULONG size = 0;
    EXPECT_STATUS(status_of(query_av(way, &size, 3)), STATUS_BUFFER_TOO_SMALL);
    EXPECT_STATUS(status_of(query_av(way, &size, 4)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(size, sizeof(ib_av_query_t));
}

void user_parameters_are_copied(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const ib_av_attr_t wanted = way_to(opened, 7);
    const av unused(domain, wanted); // skips the case on an HCA without address vectors
    verb_call call(for_user(create_av(domain, &wanted)));
    ASSERT_EQ(call.status(), STATUS_SUCCESS);
    auto* made = call.object<IB_AV>();
    EXPECT_STATUS(status_of(for_user(modify_av(made, &wanted))), STATUS_SUCCESS);
    const auto* unmapped = reinterpret_cast<const ib_av_attr_t*>(std::uintptr_t{16});
    EXPECT_STATUS(status_of(for_user(modify_av(made, unmapped))), STATUS_ACCESS_VIOLATION);
    EXPECT_STATUS(status_of(for_user(create_av(domain, unmapped))), STATUS_ACCESS_VIOLATION);
    EXPECT_STATUS(status_of(destroy_av(made)), STATUS_SUCCESS);
}

constexpr const char* wrong_fields =
    "STATUS_INVALID_PARAMETER: also a dlid that is permissive, or an sl, path bits or a flow label "
    "with more than 4, 7 or 20 bits.";
constexpr const char* query = "Attributes of an address vector; sizes and statuses as CiQueryCa.";

constexpr test_case cases[] = {
    {"CreateAv.Success_DomainIsBusy",
     "Ownership: the IB_AV is the caller's until CiDestroyAv completes. It counts as created with "
     "the protection domain.",
     nothing, kind::steps, created_domain_is_busy},
    {"CreateAv.WrongFields_ReturnInvalidParameter", wrong_fields, nothing, kind::steps,
     wrong_fields_return_invalid_parameter},
    {"CreateAv.ForUser_ParametersAreCopied",
     "STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.",
     nothing, kind::steps, user_parameters_are_copied},
    {"ModifyAv.ReplacesAttributes", "Replaces the attributes of an address vector.", nothing,
     kind::steps, modify_replaces_attributes},
    {"ModifyAv.WrongFields_ChangeNothing",
     "STATUS_INVALID_PARAMETER: as CiCreateAv; nothing changed.", nothing, kind::steps,
     wrong_modify_changes_nothing},
    {"QueryAv.ShortBuffer_ReturnsTooSmall", query, nothing, kind::steps,
     query_short_buffer_returns_too_small},
};

} // namespace
} // namespace address_group

const std::span<const test_case> address_cases = address_group::cases;

} // namespace irpverbs::conformance
