// The suite's output for people.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::conformance {

/// A line a case; of a failure what was expected, and the sentence that does not hold.
class report final : public ::testing::EmptyTestEventListener {
public:
    explicit report(std::string subject) : subject_(std::move(subject)) {}

private:
    void OnTestEnd(const ::testing::TestInfo& test) override;
    void OnTestProgramEnd(const ::testing::UnitTest& all) override;

    std::string subject_;
    int not_run_ = 0; // since they were interrupted
};

/// All cases as text: a line each, or the rows of a table in Markdown.
std::string list_of_cases(bool markdown);

} // namespace irpverbs::conformance
