// tshark's view of a capture of InfiniBand packets.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace irpverbs::testing {

/// The lines of tshark's output. Payloads are arbitrary, so they are not searched for protocols.
inline std::vector<std::string> dissect(const std::string& file, const std::string& options) {
    const std::string command = "tshark -r '" + file +
                                "' -o infiniband.identify_payload:FALSE "
                                "--disable-heuristic rpcrdma_infiniband " +
                                options + " 2>/dev/null";
    std::FILE* out = popen(command.c_str(), "r");
    std::vector<std::string> lines(1);
    for (int each = std::getc(out); each != EOF; each = std::getc(out)) {
        if (each == '\n')
            lines.emplace_back();
        else
            lines.back() += static_cast<char>(each);
    }
    EXPECT_EQ(pclose(out), 0) << "tshark is required; tools/bootstrap installs it";
    lines.pop_back();
    return lines;
}

inline void expect_no_errors(const std::string& file, std::size_t packets) {
    const std::vector<std::string> lines = dissect(file, "-T fields -e _ws.col.Info");
    EXPECT_EQ(lines.size(), packets);
    for (const std::string& each : lines) {
        EXPECT_EQ(each.find("Malformed"), std::string::npos) << each;
        EXPECT_EQ(each.find("Unknown"), std::string::npos) << each;
    }
    EXPECT_TRUE(dissect(file, "-T fields -e _ws.expert.message -Y _ws.expert").empty());
}

} // namespace irpverbs::testing
