// The suite's text output.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::conformance {

/// Prints a line for each case, and for a failure the expectation and the violated sentence.
class report final : public ::testing::EmptyTestEventListener {
public:
    explicit report(std::string subject) : subject_(std::move(subject)) {}

private:
    void OnTestEnd(const ::testing::TestInfo& test) override;
    void OnTestProgramEnd(const ::testing::UnitTest& all) override;

    std::string subject_;
    int not_run_ = 0; // because of an interruption
};

/// All cases as text: a line for each, or the rows of a Markdown table.
std::string list_of_cases(bool markdown);

} // namespace irpverbs::conformance
