package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// InMemory is the Filesystem of a folder in memory: nothing there is ever synced to a disk.
const InMemory = "tmpfs"

// Filesystem names the kind of file system that a path lies on.
func Filesystem(path string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "unknown"
	}
	names := map[int64]string{unix.TMPFS_MAGIC: InMemory, unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs", 0x2fc12fc1: "zfs"}
	if n := names[int64(st.Type)]; n != "" {
		return n
	}
	return fmt.Sprintf("0x%x", st.Type)
}
