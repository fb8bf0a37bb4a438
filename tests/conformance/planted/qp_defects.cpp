// Defects of the verbs of protection domains, memory regions and queue pairs.
#include "hook.hpp"

namespace planted {

namespace {

/// Executes the verb, and changes the object or block of attributes that it returned.
template <UCHAR Minor, class Type, void (*Change)(Type&)>
NTSTATUS spoils_object(hook& at, IRP* irp) {
    if (minor_of(irp) != Minor) return at.pass(irp);
    const outcome seen = forward(at, irp);
    if (NT_SUCCESS(seen.status)) Change(*reinterpret_cast<Type*>(seen.information));
    return complete(irp, seen);
}

template <UCHAR Minor, class Type, void (*Change)(Type&)>
NTSTATUS spoils_block(hook& at, IRP* irp) {
    if (minor_of(irp) != Minor) return at.pass(irp);
    auto* block =
        static_cast<Type*>(IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument2);
    const outcome seen = forward(at, irp);
    if (seen.status == STATUS_SUCCESS) Change(*block);
    return complete(irp, seen);
}

/// Succeeds without effect.
template <UCHAR Minor>
NTSTATUS omits(hook& at, IRP* irp) {
    return minor_of(irp) == Minor ? complete(irp, {STATUS_SUCCESS, 0}) : at.pass(irp);
}

void grants_one_less(IB_QP& qp) { --qp.SqDepth; }
void forgets_rkey(IB_MR& mr) { mr.RKey = 0; }
void repeats_keys(IB_MR& mr) { mr.LKey &= 0xFFu; }
void shortens_range(ib_mr_attr_t& attr) { --attr.local_ub; }
void forgets_the_lid(ib_av_query_t& query) { query.attr.dlid = 0; }
void forgets_psn(ib_qp_attr_t& attr) { attr.sq_psn = 0; }
void forgets_number(ib_srq_attr_t& attr) { attr.num = 0; }
void is_always_reset(ib_qp_attr_t& attr) { attr.state = IB_QPS_RESET; }

constexpr defect defects[] = {
    {"grants_one_less", "CreateQp.Granted_AtLeastAsRequested",
     spoils_object<HCA_MN_CREATE_QP, IB_QP, grants_one_less>, nullptr},
    {"forgets_rkey", "RegisterMr.RemoteRights_RequireLocalWrite",
     spoils_object<HCA_MN_REGISTER_MR, IB_MR, forgets_rkey>, nullptr},
    {"repeats_keys", "RegisterMr.Keys_Differ",
     spoils_object<HCA_MN_REGISTER_MR, IB_MR, repeats_keys>, nullptr},
    {"confuses_rights_and_range", "RegisterMr.RemoteRights_RequireLocalWrite",
     confuses<HCA_MN_REGISTER_MR, STATUS_ACCESS_DENIED, STATUS_INVALID_PARAMETER>, nullptr},
    {"shortens_the_range", "QueryMr.ReturnsRangeRightsAndKeys",
     spoils_block<HCA_MN_QUERY_MR, ib_mr_attr_t, shortens_range>, nullptr},
    {"deallocates_with_address_vectors", "CreateAv.Success_DomainIsBusy",
     confuses<HCA_MN_DEALLOCATE_PD, STATUS_DEVICE_BUSY, STATUS_SUCCESS>, nullptr},
    {"accepts_any_address", "CreateAv.WrongFields_ReturnInvalidParameter",
     confuses<HCA_MN_CREATE_AV, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES>, nullptr},
    {"modifies_no_address", "ModifyAv.ReplacesAttributes", omits<HCA_MN_MODIFY_AV>, nullptr},
    {"confuses_wrong_addresses", "ModifyAv.WrongFields_ChangeNothing",
     confuses<HCA_MN_MODIFY_AV, STATUS_INVALID_PARAMETER, STATUS_SUCCESS>, nullptr},
    {"forgets_the_lid_of_an_address", "ModifyAv.ReplacesAttributes",
     spoils_block<HCA_MN_QUERY_AV, ib_av_query_t, forgets_the_lid>, nullptr},
    {"deallocates_with_regions", "DeallocatePd.RegionRemains_ReturnsDeviceBusy",
     confuses<HCA_MN_DEALLOCATE_PD, STATUS_DEVICE_BUSY, STATUS_SUCCESS>, nullptr},
    {"destroys_queues_of_a_queue_pair", "CreateQp.Success_ParentsAreBusy",
     confuses<HCA_MN_DESTROY_CQ, STATUS_DEVICE_BUSY, STATUS_SUCCESS>, nullptr},
    {"accepts_a_queue_of_another_ca", "CreateQp.InvalidParameters_AreRefused",
     confuses<HCA_MN_CREATE_QP, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES>, nullptr},
    {"modifies_nothing", "ModifyQp.EachState_IsReached", omits<HCA_MN_MODIFY_QP>, nullptr},
    {"forgets_the_psn", "ModifyQp.EachState_IsReached",
     spoils_block<HCA_MN_QUERY_QP, ib_qp_attr_t, forgets_psn>, nullptr},
    {"confuses_state_and_attributes", "ModifyQp.MissingTransition_ReturnsInvalidDeviceState",
     confuses<HCA_MN_MODIFY_QP, STATUS_INVALID_DEVICE_STATE, STATUS_INVALID_PARAMETER>, nullptr},
    {"accepts_any_attribute", "ModifyQp.WrongAttributes_ChangeNothing",
     confuses<HCA_MN_MODIFY_QP, STATUS_INVALID_PARAMETER, STATUS_SUCCESS>, nullptr},
    {"destroys_attached_queue_pairs", "AttachMcast.Success_QueuePairIsBusy",
     confuses<HCA_MN_DESTROY_QP, STATUS_DEVICE_BUSY, STATUS_SUCCESS>, nullptr},
    {"confuses_type_and_group", "AttachMcast.OtherType_ReturnsInvalidDeviceRequest",
     confuses<HCA_MN_ATTACH_MCAST, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_PARAMETER>,
     nullptr},
    {"accepts_any_group", "AttachMcast.WrongGroup_ReturnsInvalidParameter",
     confuses<HCA_MN_ATTACH_MCAST, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES>,
     nullptr},
    {"deallocates_used_xrc_domains", "DeallocateXrcd.InUse_ReturnsDeviceBusy",
     confuses<HCA_MN_DEALLOCATE_XRCD, STATUS_DEVICE_BUSY, STATUS_SUCCESS>, nullptr},
    {"forgets_the_number_of_an_srq", "CreateSrq.OfAnXrcDomain_ParentsAreBusy",
     spoils_block<HCA_MN_QUERY_SRQ, ib_srq_attr_t, forgets_number>, nullptr},
    {"accepts_half_an_xrc_domain", "CreateSrq.WrongXrcDomain_IsRefused",
     confuses<HCA_MN_CREATE_SRQ, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES>, nullptr},
    {"accepts_any_queue_of_xrc", "CreateQp.QueuesOfOtherTypes_AreRefused",
     confuses<HCA_MN_CREATE_QP, STATUS_INVALID_PARAMETER, STATUS_INSUFFICIENT_RESOURCES>, nullptr},
    {"flushes_nothing", "FlushQp.Success_EntersError", omits<HCA_MN_FLUSH_QP>, nullptr},
    {"reports_an_old_state", "ModifyQp.RacesWithFlush_ExecuteInTurn",
     spoils_block<HCA_MN_QUERY_QP, ib_qp_attr_t, is_always_reset>, nullptr},
};

} // namespace

const std::span<const defect> qp_defects = defects;

} // namespace planted
