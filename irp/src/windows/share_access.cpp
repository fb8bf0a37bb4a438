// The opens of a file that share it: how many read, write and delete, and how many let others do
// so.
#include "standard.hpp"

#include <windows/wdk/files.h>
#include <windows/wdk/status_codes.h>

namespace {

void set_access(FILE_OBJECT& file, ACCESS_MASK access, ULONG share) {
    file.ReadAccess = (access & (FILE_EXECUTE | FILE_READ_DATA)) != 0;
    file.WriteAccess = (access & (FILE_APPEND_DATA | FILE_WRITE_DATA)) != 0;
    file.DeleteAccess = (access & DELETE) != 0;
    if (!file.ReadAccess && !file.WriteAccess && !file.DeleteAccess) return;
    file.SharedRead = (share & FILE_SHARE_READ) != 0;
    file.SharedWrite = (share & FILE_SHARE_WRITE) != 0;
    file.SharedDelete = (share & FILE_SHARE_DELETE) != 0;
}

// An open that neither reads nor writes nor deletes conflicts with no other.
bool is_counted(const FILE_OBJECT& file) {
    return file.ReadAccess || file.WriteAccess || file.DeleteAccess;
}

// Adds a file, or takes it away by a count of -1.
void count(SHARE_ACCESS& opens, const FILE_OBJECT& file, ULONG by) {
    if (!is_counted(file)) return;
    opens.OpenCount += by;
    opens.Readers += file.ReadAccess ? by : 0;
    opens.Writers += file.WriteAccess ? by : 0;
    opens.Deleters += file.DeleteAccess ? by : 0;
    opens.SharedRead += file.SharedRead ? by : 0;
    opens.SharedWrite += file.SharedWrite ? by : 0;
    opens.SharedDelete += file.SharedDelete ? by : 0;
}

// Whether a use of the file fits the opens: all of them share it if this file has it, and this file
// shares it if one of them has it.
bool fits(bool used, bool shared, ULONG users, ULONG sharers, ULONG opens) {
    return (!used || sharers == opens) && (shared || users == 0);
}

bool fits(const SHARE_ACCESS& opens, const FILE_OBJECT& file) {
    return fits(file.ReadAccess, file.SharedRead, opens.Readers, opens.SharedRead,
                opens.OpenCount) &&
           fits(file.WriteAccess, file.SharedWrite, opens.Writers, opens.SharedWrite,
                opens.OpenCount) &&
           fits(file.DeleteAccess, file.SharedDelete, opens.Deleters, opens.SharedDelete,
                opens.OpenCount);
}

} // namespace

extern "C" {

NTSTATUS IoCheckShareAccess(ACCESS_MASK DesiredAccess, ULONG DesiredShareAccess,
                            PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess, BOOLEAN Update) {
    set_access(*FileObject, DesiredAccess, DesiredShareAccess);
    if (is_counted(*FileObject) && !fits(*ShareAccess, *FileObject))
        return STATUS_SHARING_VIOLATION;
    if (Update) IoUpdateShareAccess(FileObject, ShareAccess);
    return STATUS_SUCCESS;
}

void IoSetShareAccess(ACCESS_MASK DesiredAccess, ULONG DesiredShareAccess, PFILE_OBJECT FileObject,
                      PSHARE_ACCESS ShareAccess) {
    set_access(*FileObject, DesiredAccess, DesiredShareAccess);
    *ShareAccess = {};
    IoUpdateShareAccess(FileObject, ShareAccess);
}

void IoUpdateShareAccess(PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess) {
    count(*ShareAccess, *FileObject, 1);
}

void IoRemoveShareAccess(PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess) {
    count(*ShareAccess, *FileObject, static_cast<ULONG>(-1));
}

} // extern "C"
