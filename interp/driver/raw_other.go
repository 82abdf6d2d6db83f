//go:build !linux

package driver

import "syscall"

func readNow(fd int, p []byte) (int, error)  { return syscall.Read(fd, p) }
func writeNow(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
