"""Mistakes in communication management, each of which its tests must find."""
TARGET = "cm_test"
FOLDER = "tests/cm"
LEAST = 95
ENGINE = "cm/src/engine/"
TABLE = "cm/src/state/transitions.cpp"
CONNECTING, ACCEPTING, WAITING, ENDING = (
    ENGINE + name + ".cpp" for name in ("connecting", "accepting", "waiting", "disconnecting"))
REQUESTS, RECEIVE, LISTENER, PORT = (
    ENGINE + name + ".cpp" for name in ("requests", "receive", "listener", "port"))
RESOLUTION, UD_REQUEST, RESOLUTIONS = (
    ENGINE + name + ".cpp" for name in ("resolution", "ud_request", "receive_resolutions"))

# name, mutated file, [(text, replacement)...]
MISTAKES = [
    # ---- the table
    ("lost_rtu_not_repeated", TABLE,
     [("    {connected, event::rep, action::repeat, same}, // the RTU was lost\n", "")]),
    ("dreq_before_rtu_ignored", TABLE,
     [("    {replying, event::dreq, action::begin_stop, dreq_rcvd}, // its RTU was lost\n", "")]),
    ("crossing_dreq_ignored", TABLE,
     [("    {only(dreq_sent), event::dreq, action::confirm, timewait}, // both ends at once\n", "")]),
    ("duplicate_dreq_ignored", TABLE,
     [("    {only(timewait), event::dreq, action::confirm_again, same},\n", "")]),
    ("duplicate_request_after_rejection_ignored", TABLE,
     [("    {only(timewait), event::req, action::repeat_rejection, same},\n", "")]),
    ("late_rejection_ignored", TABLE,
     [("    {connected, event::rej, action::take_rejection, timewait},\n", "")]),
    ("comm_est_ignored", TABLE,
     [("    {replying, event::comm_est, action::start_sending, established},\n", "")]),
    # ---- waits and retries
    ("mra_extends_nothing", WAITING,
     [("    wait_for(chosen_by_peer(response_time(terms.primary.PacketLifeTime, mra.service_timeout)));\n",
       "    wait_for(response_wait());\n")]),
    ("mra_names_the_wrong_message", WAITING,
     [("? message_kind::req", "? message_kind::rep")]),
    ("rejection_forgotten_before_the_last_retry", ENGINE + "connection.cpp",
     [("has_rejected() ? peers_retries_wait() : response_wait()", "response_wait()")]),
    # ---- connecting
    ("psn_of_the_wrong_end", CONNECTING,
     [("    terms.sq_psn = rep.starting_psn;\n", "    terms.sq_psn = terms.rq_psn;\n")]),
    ("grants_exchanged", CONNECTING,
     [("    terms.init_depth = std::min(terms.init_depth, rep.responder_resources);\n",
       "    terms.init_depth = std::min(terms.init_depth, rep.initiator_depth);\n")]),
    ("private_data_of_rtu_lost", CONNECTING,
     [("    rtu.private_data = std::exchange(data_, {});\n", "    data_ = {};\n")]),
    ("target_of_a_reply_not_read", CONNECTING, [("peer.qpn = queue_pair_in(rep, terms.type);", "peer.qpn = rep.qpn;")]),
    ("initiator_requests_a_reliable_connection", ENGINE + "transport_type.cpp",
     [("of.extended_transport = type == IB_QPT_XRC_INI ? extended_xrc : 0;", "of.extended_transport = 0;")]),
    ("initiator_is_a_peer", ENGINE + "transport_type.cpp", [("(type == IB_QPT_XRC_INI && !peer_to_peer)", "type == IB_QPT_XRC_INI")]),
    # ---- accepting and requests
    ("target_in_the_field_of_a_queue_pair", ACCEPTING, [("(is_target ? rep.eecn : rep.qpn) = attr.num;", "rep.qpn = attr.num;")]),
    ("request_of_an_initiator_is_a_reliable_connection", REQUESTS,
     [("passive_type(from).value_or(IB_QPT_RELIABLE_CONN)", "IB_QPT_RELIABLE_CONN")]),
    ("reply_without_private_data", ACCEPTING, [("    take_data(rep.private_data);\n", "")]),
    ("psn_of_the_request_ignored", REQUESTS, [("    terms.sq_psn = from.starting_psn;\n", "")]),
    # ---- messages of strangers
    ("stale_connection_stays", RECEIVE, [("        stale->raise({event::stale, fx});\n", "")]),
    ("mtu_not_checked", RECEIVE, [("req.mtu < IB_MTU_256 || req.mtu > port.mtu", "false")]),
    # ---- ends
    ("dreq_without_private_data", ENDING, [("    take_data(dreq.private_data);\n", "")]),
    ("unconfirmed_counts_as_confirmed", ENDING,
     [("    enter_timewait(why.fx);\n    finish_verb(STATUS_SUCCESS, 0, why.fx);\n",
       "    enter_timewait(why.fx);\n    finish_verb(STATUS_SUCCESS, 1, why.fx);\n")]),
    # ---- service id resolution
    ("repeated_resolution_is_a_new_one", RESOLUTIONS, [("known != ud_requests_.end()", "false")]),
    # ---- hostile peers
    ("remembered_without_bound", PORT, [("remembered_.size() <= at_most", "true")]),
    ("response_awaited_for_hours", WAITING,
     [("    return as == role::active ? time : chosen_by_peer(time);\n", "    return time;\n")]),
    ("rejected_connection_kept_for_hours", WAITING,
     [("chosen_by_peer((terms.max_retries + 1u) * response_wait())", "(terms.max_retries + 1u) * response_wait()")]),
    ("ports_take_no_turns", LISTENER, [("each.source() != last_served_", "true")]),
    ("full_backlog_stays", LISTENER,
     [("newest == requests_.rend() || waiting_of(newest->source()) <= waiting_of(source) + 1", "true")]),
    ("path_not_refused", RECEIVE,
     [("        apr.remote_id = lap.local_id;\n        return fx.send(source, apr, new_transaction_id());\n",
       "        apr.remote_id = lap.local_id;\n        return;\n")]),
    ("path_of_another_connection_loaded", RECEIVE,
     [("                 : to != nullptr ? to->check(lap)\n", "                 : to != nullptr ? std::uint8_t{IB_CM_AP_LOADED}\n")]),
    ("alternate_lid_not_checked", RECEIVE, [("!is_unicast(req.alternate.remote_lid)", "false")]),
    ("p_key_not_checked", RESOLUTIONS, [("!attributes().pkey_index(req.p_key)", "false")]),
    ("datagrams_offered_to_connections", RECEIVE, [("each.kind == kind && ", "")]),
    ("response_not_remembered", UD_REQUEST, [("    at->remember(*this, time_of(repetitions), fx);\n", "")]),
    ("dropped_request_is_accepted", UD_REQUEST, [("IB_CM_SIDR_REJECTED", "IB_CM_SIDR_VALID")]),
    ("managers_queue_pair_accepted", RESOLUTION, [("valid && !is_client_qp(from.qpn)", "false")]),
    ("resolution_repeated_for_ever", RESOLUTION, [("    --retries_left_;\n", "")]),
    ("ended_resolution_stays", RESOLUTION, [("    at_->remove(*this, fx);\n", "")]),
]

ROWS = [(name, "*", file, changes) for name, file, changes in MISTAKES]


# The campaigns take seconds; most mistakes are found without them.
CAMPAIGNS = "CmCampaign.*:CmHostilePeer.*"


def runs_of(_):
    return [["--gtest_fail_fast", "--gtest_filter=" + chosen]
            for chosen in (f"-*Capture*:*Exchange*:*/Real:{CAMPAIGNS}", CAMPAIGNS)]
