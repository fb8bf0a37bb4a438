"""Mistakes in communication management, each of which its tests must find."""
TARGET = "cm_test"
FOLDER = "tests/cm"
LEAST = 95
ENGINE = "cm/src/engine/"
TABLE = "cm/src/state/transitions.cpp"
CONNECTING, ACCEPTING, WAITING, REJECTING, ENDING = (
    ENGINE + name + ".cpp" for name in ("connecting", "accepting", "waiting", "rejecting", "disconnecting"))
CONNECTION, REQUESTS, RECEIVE, CALLS = (
    ENGINE + name + ".cpp" for name in ("connection", "requests", "receive", "client_calls"))

# name, mutated file, [(text, replacement)...]
MISTAKES = [
    # ---- the table
    ("lost_rtu_not_repeated", TABLE,
     [("    {only(established), event::rep, action::repeat, same}, // the RTU was lost\n", "")]),
    ("dreq_before_rtu_ignored", TABLE,
     [("    {replying, event::dreq, action::begin_stop, dreq_rcvd}, // its RTU was lost\n", "")]),
    ("crossing_dreq_ignored", TABLE,
     [("    {only(dreq_sent), event::dreq, action::confirm, timewait}, // both ends at once\n", "")]),
    ("duplicate_dreq_ignored", TABLE,
     [("    {only(timewait), event::dreq, action::confirm_again, same},\n", "")]),
    ("duplicate_request_after_rejection_ignored", TABLE,
     [("    {only(timewait), event::req, action::repeat_rejection, same},\n", "")]),
    ("late_rejection_ignored", TABLE,
     [("    {only(established), event::rej, action::take_rejection, timewait},\n", "")]),
    ("comm_est_ignored", TABLE,
     [("    {replying, event::comm_est, action::start_sending, established},\n", "")]),
    # ---- waits and retries
    ("retries_never_end", WAITING, [("    --retries_left_;\n", "")]),
    ("mra_extends_nothing", WAITING,
     [("    wait_for(response_time(terms.primary.PacketLifeTime, mra.service_timeout));\n",
       "    wait_for(response_wait());\n")]),
    ("mra_names_the_wrong_message", WAITING,
     [("? message_kind::req", "? message_kind::rep")]),
    ("time_not_requested_again", WAITING,
     [("    wait_for(time_of(service_timeout) / 2);\n", "    wait_for(0);\n")]),
    # ---- connecting
    ("psn_of_the_wrong_end", CONNECTING,
     [("    terms.sq_psn = rep.starting_psn;\n", "    terms.sq_psn = terms.rq_psn;\n")]),
    ("grants_exchanged", CONNECTING,
     [("    terms.init_depth = std::min(terms.init_depth, rep.responder_resources);\n",
       "    terms.init_depth = std::min(terms.init_depth, rep.initiator_depth);\n")]),
    ("rnr_retries_of_the_reply_ignored", CONNECTING,
     [("    terms.rnr_retry_count = rep.rnr_retry_count;\n", "")]),
    ("private_data_of_rtu_lost", CONNECTING,
     [("    rtu.private_data = std::exchange(data_, {});\n", "    data_ = {};\n")]),
    # ---- accepting and requests
    ("grants_unlimited", CALLS,
     [("    terms.resp_res = std::min(wanted.resp_res, request_->initiator_depth);\n",
       "    terms.resp_res = 7;\n")]),
    ("reply_without_private_data", ACCEPTING, [("    take_data(rep.private_data);\n", "")]),
    ("psn_of_the_request_ignored", REQUESTS, [("    terms.sq_psn = from.starting_psn;\n", "")]),
    ("path_not_reversed", REQUESTS,
     [("    sa_path_record_t path = path_of(fields);\n",
       "    sa_path_record_t path = path_of(fields);\n    std::swap(path.SLID, path.DLID);\n")]),
    # ---- messages of strangers
    ("stale_connection_stays", RECEIVE, [("        stale->raise({event::stale, fx});\n", "")]),
    ("duplicate_is_a_new_request", RECEIVE,
     [("    if (receive_duplicate(req, message, source, fx)) return;\n", "")]),
    ("ids_of_others_accepted", RECEIVE,
     [("        const auto found = connections_.find(message.remote_id);\n"
       "        if (found == connections_.end()) return nullptr;\n"
       "        return found->peer.id == 0",
       "        const auto found = connections_.begin();\n"
       "        if (found == connections_.end()) return nullptr;\n"
       "        return found->peer.id == 0")]),
    ("impossible_reply_accepted", RECEIVE, [("rep->qpn >= first_client_qp && rep->ca_guid != 0", "true")]),
    ("mtu_not_checked", RECEIVE, [("req.mtu < IB_MTU_256 || req.mtu > port.mtu", "false")]),
    ("reject_without_id_ignored", RECEIVE, [("message.remote_id == 0 && message.reason", "false && message.reason")]),
    # ---- ends
    ("queue_pair_not_stopped", CONNECTION,
     [("    if (qp.connected() || qp.busy()) change_qp(qp_goal::stop, fx);\n", "")]),
    ("dreq_without_private_data", ENDING, [("    take_data(dreq.private_data);\n", "")]),
    ("unconfirmed_counts_as_confirmed", ENDING,
     [("    enter_timewait(why.fx);\n    finish_verb(STATUS_SUCCESS, 0, why.fx);\n",
       "    enter_timewait(why.fx);\n    finish_verb(STATUS_SUCCESS, 1, why.fx);\n")]),
    ("timeout_without_guid", REJECTING, [("        rej.info_length = sizeof(ib_guid_t);\n", "")]),
    ("failed_verb_returns_a_used_queue_pair", CONNECTION,
     [("    reply_ = nullptr;\n    if (qp.busy()) {", "    reply_ = nullptr;\n    if (false) {")]),
    ("owner_never_released", CONNECTION,
     [("    if (owner != nullptr && !is_open_) --std::exchange(owner, nullptr)->children;\n",
       "    if (owner != nullptr && !is_open_) owner = nullptr;\n")]),
]

ROWS = [(name, "*", file, changes) for name, file, changes in MISTAKES]


def arguments_of(_):
    return ["--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=-*Capture*:*Exchange*:*/Real"]
