"""Mistakes in the routes of connection management on a shared port, each of which its tests must find."""
TARGET = "hca_software_test"
FOLDER = "tests/hca"
LEAST = 100
ROUTES = "hca/software/src/connection_routes.cpp"
HEADER = "hca/software/src/connection_routes.hpp"
AGENTS = "hca/software/src/mad_agents.cpp"

# name, mutated file, [(text, replacement)...]
MISTAKES = [
    # ---- the receiver of a message
    ("resolution_by_the_id_of_a_connection", ROUTES,
     [("return attribute() == sidr_rep ? local_id() : remote_id();", "return remote_id();")]),
    ("id_of_another_port_believed", ROUTES,
     [("return std::ranges::find(all, found) != all.end() ? found : all.front();",
       "return found != nullptr ? found : all.front();")]),
    ("managers_of_all_ports", AGENTS,
     [(" && each->Agent.Attr.PortNumber == port;\n    });\n    return managers_;", ";\n    });\n    return managers_;")]),
    ("responses_reach_the_first_manager", ROUTES,
     [("    if (!arrived.is_request()) found = owner_of(arrived.id_of_receiver());\n", "")]),
    ("repeated_request_reaches_the_first_manager", ROUTES,
     [("        if (offered != offers_.end()) found = offered->asked;\n",
       "        if (offered != offers_.end() && !arrived.is_request()) found = offered->asked;\n")]),
    ("rejection_by_the_id_of_the_request_reaches_the_first_manager", ROUTES,
     [("        if (offered != offers_.end()) found = offered->asked;\n",
       "        if (offered != offers_.end() && arrived.is_request()) found = offered->asked;\n")]),
    ("rejection_by_the_id_of_a_resolution", ROUTES,
     [("const USHORT request = arrived.is_request() ? arrived.attribute() : USHORT{req};",
       "const USHORT request = arrived.is_request() ? arrived.attribute() : USHORT{sidr_req};")]),
    # ---- offers
    ("offers_of_all_peers_are_one", ROUTES, [("each.from == from && ", "")]),
    ("offers_of_both_kinds_are_one", ROUTES, [("each.attribute == attribute && ", "")]),
    ("repeated_request_is_another_offer", ROUTES, [("        if (known != offers_.end()) return;\n", "")]),
    ("offers_without_bound", ROUTES,
     [("        if (offers_.size() == most_offers) erase(offers_.begin());\n", "")]),
    ("newest_offer_forgotten", ROUTES, [("erase(offers_.begin());", "erase(offers_.end() - 1);")]),
    ("request_not_kept_for_the_next", ROUTES, [("if (!is_only_manager) offers_", "if (is_only_manager) offers_")]),
    ("withdrawn_request_offered", ROUTES,
     [("        if (withdrawn != offers_.end()) erase(withdrawn);\n", "")]),
    ("any_rejection_leads_to_the_next", ROUTES, [("sent.reason() == invalid_service_id, all", "true, all")]),
    ("unknown_service_is_the_last_word", ROUTES, [("sent.reason() == invalid_service_id, all", "false, all")]),
    ("unknown_datagram_service_is_the_last_word", ROUTES,
     [("                           sent.sidr_status() == sidr_not_supported, all",
       "                           false, all")]),
    ("resolution_closes_no_offer", ROUTES,
     [("        return close_offer(what, sidr_req, sent.local_id(),", "        return close_offer(what, sidr_req, 0,")]),
    ("late_rejection_sent", ROUTES, [("return {.is_sent = !is_unknown_service};", "return {};")]),
    ("late_rejection_passes_the_request_on", ROUTES,
     [("    if (offered->asked != &with.by) return {.is_sent = !is_unknown_service};\n", "")]),
    ("asked_manager_not_noted", ROUTES, [("    if (again != nullptr) which.asked = *(asked + 1);\n", "")]),
    ("first_manager_asked_again", ROUTES, [("which.asked = *(asked + 1);", "which.asked = all.front();")]),
    ("accepted_request_stays_an_offer", ROUTES,
     [("    case rep:\n        learn(what);\n        return close_offer(what, req, sent.remote_id(), false, all);",
       "    case rep:\n        learn(what);\n        return {};")]),
    ("delayed_request_stays_an_offer", ROUTES,
     [("learn(what);\n        return close_offer(what, req, sent.remote_id(), false, all);\n    case rep:",
       "learn(what);\n        return {};\n    case rep:")]),
    # ---- communication IDs
    ("id_stays_with_its_first_sender", ROUTES,
     [("    made.owner = &from.by;\n", "    if (made.owner == nullptr) made.owner = &from.by;\n")]),
    ("id_of_a_delayed_request_unknown", ROUTES,
     [("        if (owner_of(sent.local_id()) == nullptr) learn(what);\n", "")]),
    ("delay_makes_a_connection_new", ROUTES,
     [("        if (owner_of(sent.local_id()) == nullptr) learn(what);\n", "        learn(what);\n")]),
    ("connection_of_another_manager_forgotten", ROUTES,
     [("    if (owner_of(id) == &by) connections_.erase(id);\n", "    connections_.erase(id);\n")]),
    ("requests_without_bound", ROUTES, [("            connections_.erase(oldest);\n", "            return;\n")]),
    ("oldest_connection_forgotten", ROUTES,
     [("            (!oldest->second.established || oldest->second.disconnecting))", "            true)")]),
    ("disconnecting_connection_stays", ROUTES,
     [(" || oldest->second.disconnecting))", "))")]),
    ("each_repetition_is_counted", ROUTES,
     [("    if (!std::exchange(found->second.disconnecting, true)) add", "    found->second.disconnecting = true;\n    add")]),
    # ---- the connections of a manager that is removed
    ("passive_connection_is_not_established", ROUTES,
     [("made.established = sent.attribute() == rep;", "made.established = false;")]),
    ("delayed_request_is_established", ROUTES,
     [("made.established = sent.attribute() == rep;", "made.established = true;")]),
    ("active_connection_is_not_established", ROUTES, [("        of.established = true;\n", "")]),
    ("id_of_the_peer_not_learned", ROUTES, [("        of.peer_id = arrived.local_id();\n", "")]),
    ("target_of_the_passive_peer_not_learned", ROUTES, [("number != 0 ? number : load<3>(bytes + 40)", "number")]),
    ("queue_pair_of_the_passive_peer_not_learned", ROUTES, [("        of.peer_qp = arrived.qp_of_rep();\n", "")]),
    ("queue_pair_of_the_active_peer_not_learned", ROUTES,
     [("    if (offered != offers_.end()) made.peer_qp = offered->peer_qp;\n", "")]),
    ("address_of_the_peer_not_learned", ROUTES, [("    made.to = from.to;\n", "")]),
    ("ids_of_the_disconnect_request_exchanged", ROUTES,
     [("store<4>(&made[24], which.first);", "store<4>(&made[24], which.second.peer_id);"),
      ("store<4>(&made[28], which.second.peer_id);", "store<4>(&made[28], which.first);")]),
    ("disconnected_connection_stays", ROUTES,
     [("    } else if (arrived.attribute() == dreq) {\n        of.established = false;\n", "")]),
    ("confirmed_disconnect_forgotten", ROUTES,
     [(" ||\n               arrived.attribute() == drep)", ")")]),
    ("rejected_connection_stays", ROUTES,
     [("arrived.attribute() == sidr_rep || arrived.attribute() == rej ||", "arrived.attribute() == sidr_rep ||")]),
    ("connection_that_its_manager_rejects_stays", ROUTES,
     [("    case rej:\n        forget(sent.local_id(), what.by);\n", "    case rej:\n")]),
    ("nothing_disconnected", HEADER,
     [("            if (each.second.established) send(each.second.to, disconnect_request(each));\n", "")]),
    ("requests_without_reply_disconnected", HEADER, [("if (each.second.established) send(", "send(")]),
    ("connections_of_all_managers_disconnected", HEADER,
     [("            if (each.second.owner != &agent) return false;\n", "")]),
    ("offers_of_all_managers_passed_on", HEADER,
     [("            if (each.asked != &agent) return false;\n", "")]),
    ("offers_of_a_removed_manager_dropped", HEADER,
     [("packet* const again = ask_next(each, all);", "packet* const again = nullptr;")]),
    # ---- a port without a manager
    ("request_without_a_manager_ignored", ROUTES, [("kind != req && kind != sidr_req &&", "kind != sidr_req &&")]),
    ("disconnect_request_without_a_manager_ignored", ROUTES, [(" && kind != dreq) return false;", ") return false;")]),
    ("refusal_without_its_reason", ROUTES, [("        store<2>(&what[34], invalid_service_id);\n", "")]),
    ("refusal_with_the_id_of_its_sender", ROUTES,
     [("        store<2>(&what[16], rej);\n        store<4>(&what[28], id);",
       "        store<2>(&what[16], rej);\n        store<4>(&what[24], id);")]),
]

ROWS = [(name, "*", file, changes, *([[ROUTES, AGENTS]] if file == HEADER else []))
        for name, file, changes in MISTAKES]


# A message that does not arrive ends a test of the simulated machine at once.
def runs_of(_):
    return [["--gtest_fail_fast",
             "--gtest_filter=*/ConnectionRoutes*:*/RemovedConnectionManager*:-*/Real"]]
