/* The names of classes, methods, attributes and statuses, in the words of rdma-core 44. */
#include <infiniband/umad.h>

struct name {
    unsigned value;
    const char* text;
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char* find(const struct name* table, size_t count, unsigned value,
                        const char* otherwise) {
    for (size_t i = 0; i < count; ++i)
        if (table[i].value == value) return table[i].text;
    return otherwise;
}

static const char unknown[] = "<unknown>";

enum {
    subnet_lid_routed = 0x01,
    subnet_administration = 0x03,
    communication = 0x07,
    subnet_directed = 0x81
};

const char* umad_class_str(uint8_t mgmt_class) {
    static const struct name classes[] = {{subnet_lid_routed, "Subn"},
                                          {subnet_directed, "Subn"},
                                          {subnet_administration, "SubnAdm"},
                                          {0x04, "Perf"},
                                          {0x05, "BM"},
                                          {0x06, "DevMgt"},
                                          {communication, "ComMgt"},
                                          {0x08, "SNMP"},
                                          {0x10, "DevAdm"},
                                          {0x11, "BootMgt"},
                                          {0x12, "BIS"},
                                          {0x21, "CongestionManagment"}};
    const char* const found = find(classes, COUNT(classes), mgmt_class, NULL);
    if (found != NULL) return found;
    if ((mgmt_class >= 0x09 && mgmt_class <= 0x0F) || (mgmt_class >= 0x30 && mgmt_class <= 0x4F))
        return "Vendor";
    return mgmt_class >= 0x13 && mgmt_class <= 0x2F ? "Application" : unknown;
}

const char* umad_method_str(uint8_t mgmt_class, uint8_t method) {
    static const struct name methods[] = {
        {0x01, "Get"},    {0x02, "Set"},         {0x03, "Send"},    {0x05, "Trap"},
        {0x06, "Report"}, {0x07, "TrapRepress"}, {0x81, "GetResp"}, {0x86, "ReportResp"}};
    static const struct name sa_methods[] = {
        {0x12, "GetTable"},     {0x13, "GetTraceTable"}, {0x14, "GetMulti"},  {0x15, "Delete"},
        {0x92, "GetTableResp"}, {0x94, "GetMultiResp"},  {0x95, "DeleteResp"}};
    static const char other[] = "<unknown"; /* so in rdma-core */
    const char* const found = find(methods, COUNT(methods), method, NULL);
    if (found != NULL || mgmt_class != subnet_administration) return found != NULL ? found : other;
    return find(sa_methods, COUNT(sa_methods), method, other);
}

const char* umad_common_mad_status_str(__be16 status) {
    static const struct name codes[] = {{1, "Bad Version"},
                                        {2, "Method not supported"},
                                        {3, "Method/Attribute combo not supported"},
                                        {7, "Invalid attribute/modifier field"}};
    const unsigned bits = be16toh(status);
    if ((bits & 1) != 0) return "Busy";
    if ((bits & 2) != 0) return "Redirection required";
    return find(codes, COUNT(codes), bits >> 2 & 7, "Success");
}

const char* umad_sa_mad_status_str(__be16 status) {
    static const char* const codes[] = {
        "Success",           "No Resources", "Request Invalid",         "No Records",
        "Too Many Records",  "Invalid GID",  "Insufficient Components", "Request Denied",
        "Priority Suggested"};
    const unsigned code = be16toh(status) >> 8;
    return code < COUNT(codes) ? codes[code] : "Undefined Error";
}

static const char* subnet_attribute(unsigned attribute) {
    static const struct name all[] = {{0x10, "NodeDescription"},
                                      {0x11, "NodeInfo"},
                                      {0x12, "SwitchInfo"},
                                      {0x14, "GUIDInfo"},
                                      {0x15, "PortInfo"},
                                      {0x16, "P_KeyTable"},
                                      {0x17, "SLtoVLMappingTable"},
                                      {0x18, "VLArbitrationTable"},
                                      {0x19, "LinearForwardingTable"},
                                      {0x1A, "RandomForwardingTable"},
                                      {0x1B, "MulticastForwardingTable"},
                                      {0x1C, "LinkSpeedWidthPairsTable"},
                                      {0x1D, "VendorSpecificMadsTable"},
                                      {0x1E, "HierarchyInfo"},
                                      {0x20, "SMInfo"},
                                      {0x30, "VendorDiag"},
                                      {0x31, "LedInfo"},
                                      {0x32, "CableInfo"},
                                      {0x33, "PortInfoExtended"}};
    return find(all, COUNT(all), attribute, unknown);
}

static const char* administration_attribute(unsigned attribute) {
    static const struct name all[] = {{0x11, "NodeRecord"},
                                      {0x12, "PortInfoRecord"},
                                      {0x13, "SLtoVLMappingTableRecord"},
                                      {0x14, "SwitchInfoRecord"},
                                      {0x15, "LinearForwardingTableRecord"},
                                      {0x16, "RandomForwardingTableRecord"},
                                      {0x17, "MulticastForwardingTableRecord"},
                                      {0x18, "SMInfoRecord"},
                                      {0x19, "LinkSpeedWidthPairsTableRecord"},
                                      {0x20, "LinkRecord"},
                                      {0x30, "GuidInfoRecord"},
                                      {0x31, "ServiceRecord"},
                                      {0x33, "P_KeyTableRecord"},
                                      {0x35, "PathRecord"},
                                      {0x36, "VLArbitrationTableRecord"},
                                      {0x38, "MCMemberRecord"},
                                      {0x39, "TraceRecord"},
                                      {0x3A, "MultiPathRecord"},
                                      {0x3B, "ServiceAssociationRecord"},
                                      {0x3C, "HierarchyInfoRecord"},
                                      {0x3D, "CableInfoRecord"},
                                      {0x3E, "PortInfoExtendedRecord"},
                                      {0xF3, "InformInfoRecord"}};
    return find(all, COUNT(all), attribute, unknown);
}

static const char* connection_attribute(unsigned attribute) {
    static const char* const all[] = {
        "ConnectRequest",      "MsgRcptAck",        "ConnectReject",         "ConnectReply",
        "ReadyToUse",          "DisconnectRequest", "DisconnectReply",       "ServiceIDResReq",
        "ServiceIDResReqResp", "LoadAlternatePath", "AlternatePathResponse", "SuggestAlternatePath",
        "SuggestPathResponse"};
    const unsigned first = 0x10;
    return attribute >= first && attribute - first < COUNT(all) ? all[attribute - first] : unknown;
}

const char* umad_attribute_str(uint8_t mgmt_class, __be16 attr_id) {
    static const struct name common[] = {
        {0x01, "Class Port Info"}, {0x02, "Notice"}, {0x03, "Inform Info"}};
    const unsigned attribute = be16toh(attr_id);
    const char* const found = find(common, COUNT(common), attribute, NULL);
    if (found != NULL) return found;
    switch (mgmt_class) {
    case subnet_lid_routed:
    case subnet_directed:
        return subnet_attribute(attribute);
    case subnet_administration:
        return administration_attribute(attribute);
    case communication:
        return connection_attribute(attribute);
    default:
        return unknown;
    }
}
