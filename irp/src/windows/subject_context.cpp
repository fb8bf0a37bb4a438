// A subject context is the account of the thread that captured it. Threads do not impersonate.
#include "standard.hpp"

#include <irp/support/account_rights.hpp>
#include <windows/wdk/security.h>

using namespace irpverbs::irp;

extern "C" {

void SeCaptureSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext) {
    *SubjectContext = {};
    SubjectContext->PrimaryToken = token_of(IrpGetAccount());
}
void SeReleaseSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext) { *SubjectContext = {}; }

// A captured account does not change.
void SeLockSubjectContext(PSECURITY_SUBJECT_CONTEXT) {}
void SeUnlockSubjectContext(PSECURITY_SUBJECT_CONTEXT) {}

BOOLEAN SeTokenIsAdmin(PACCESS_TOKEN Token) {
    const auto account = account_of(Token);
    return account && is_member(*account, *group_of_letters(u"BA"));
}
BOOLEAN SeTokenIsRestricted(PACCESS_TOKEN) { return FALSE; }
TOKEN_TYPE SeTokenType(PACCESS_TOKEN) { return TokenPrimary; }

} // extern "C"
