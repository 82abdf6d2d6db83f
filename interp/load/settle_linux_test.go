package load

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Connections are divided evenly, those of one processor together; a loop has a home only where all have one of their own.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		cpus   []int
		n      int
		groups [][]int
		homes  []int
	}{
		{[]int{1, 0, 1, 0}, 2, [][]int{{1, 3}, {0, 2}}, []int{0, 1}},
		{[]int{0, 1, 1, 1}, 2, [][]int{{0, 1}, {2, 3}}, []int{0, 1}}, // of those with the same count the lowest
		{[]int{3, 1, 1, 2, 1}, 2, [][]int{{1, 2}, {4, 3, 0}}, []int{-1, -1}},
		{[]int{3, 1, 1, 3, 3}, 2, [][]int{{1, 2}, {0, 3, 4}}, []int{1, 3}},
		{[]int{0, 0, 0, 0}, 2, [][]int{{0, 1}, {2, 3}}, []int{-1, -1}}, // a server of one thread says nothing
		{[]int{-1, -1, 1, 1}, 2, [][]int{{0, 1}, {2, 3}}, []int{-1, -1}},
		{[]int{4, 2, 0}, 3, [][]int{{2}, {1}, {0}}, []int{0, 2, 4}},
		{[]int{5, 5}, 1, [][]int{{0, 1}}, []int{5}},
	} {
		groups, homes := share(c.cpus, c.n)
		if !reflect.DeepEqual(groups, c.groups) || !reflect.DeepEqual(homes, c.homes) {
			t.Errorf("%v among %d: groups %v on %v, want %v on %v", c.cpus, c.n, groups, homes, c.groups, c.homes)
		}
	}
}

// A loop begins on its home, may then go anywhere, and stays on its thread.
func TestLoopSettles(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 2 * runtime.GOMAXPROCS(0) { // others want the threads
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	const times = 40
	begin := func(from, home int) (began [1024]int) {
		for range times {
			cpu, err := settled(from, home, &all)
			if err != nil {
				t.Fatalf("home %d: %v", home, err)
			}
			began[cpu]++
		}
		return began
	}
	for home := range runtime.NumCPU() {
		if !all.IsSet(home) {
			continue
		}
		if began := begin(-1, home)[home]; began < times*3/4 { // between the call and the look at it the kernel may take it elsewhere
			t.Errorf("%d of %d loops began on processor %d, their home", began, times, home)
		}
	}
	last := runtime.NumCPU() - 1
	for !all.IsSet(last) {
		last--
	}
	for _, home := range []int{-1, 1023} { // none, and one that isn't there
		if began := begin(last, home)[last]; began < times*3/4 {
			t.Errorf("%d of %d loops of the home %d stayed on processor %d", began, times, home, last)
		}
	}
}

// settled is the processor that a loop's thread is on once it has settled, after it was told to begin on another one.
func settled(from, home int, all *unix.CPUSet) (cpu uint32, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer runtime.UnlockOSThread()
		defer runtime.UnlockOSThread()
		if err = errors.Join((&loop{home: from}).settle(), (&loop{home: home}).settle()); err != nil {
			return
		}
		if _, _, e := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
			err = e
			return
		}
		var may unix.CPUSet
		if err = unix.SchedGetaffinity(0, &may); err == nil && may != *all {
			err = errors.New("its thread may not go where it might before")
		}
		thread := unix.Gettid()
		for range 200 {
			if runtime.Gosched(); unix.Gettid() != thread {
				err = fmt.Errorf("it went from thread %d to %d", thread, unix.Gettid())
			}
		}
	}()
	<-done
	return cpu, err
}
