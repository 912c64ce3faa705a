package e2bsim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
)

// watcher tells what changes in a directory.
type watcher struct {
	d     *daemon
	top   string
	deep  bool
	entry bool
	file  *os.File // of inotify
	dirs  map[int32]string

	mu     sync.Mutex
	events []*envd.FilesystemEvent
	more   chan struct{} // has room for one: there are events
}

const watched = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB

// watch begins to watch a directory.
func (d *daemon) watch(name string, deep, entry bool) (*watcher, error) {
	if !d.isDir(name) {
		if _, err := d.entry(name); err != nil {
			return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("path %s not found", name))
		}
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path %s not a directory", name))
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	w := &watcher{
		d: d, top: name, deep: deep, entry: entry, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int32]string{}, more: make(chan struct{}, 1),
	}
	if err := w.add(fd, name); err != nil {
		w.close()
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	go w.read(fd)
	return w, nil
}

// add watches a directory, and those below it if the watch is deep.
func (w *watcher) add(fd int, name string) error {
	dir, err := w.d.machine.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	host := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	id, err := unix.InotifyAddWatch(fd, host, watched)
	if err != nil {
		return err
	}
	w.dirs[int32(id)] = name
	if !w.deep {
		return nil
	}
	entries, err := os.ReadDir(host)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := w.add(fd, path.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// read collects the events until the watcher is closed.
func (w *watcher) read(fd int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			field := func(i int) uint32 { return binary.NativeEndian.Uint32(buf[at+4*i:]) } // id, mask, cookie, length of the name
			id, mask, size := int32(field(0)), field(1), int(field(3))
			at += unix.SizeofInotifyEvent
			name := strings.TrimRight(string(buf[at:at+size]), "\x00")
			at += size
			if dir, known := w.dirs[id]; known && name != "" {
				w.tell(fd, path.Join(dir, name), mask)
			}
		}
	}
}

// tell notes one event.
func (w *watcher) tell(fd int, name string, mask uint32) {
	e := &envd.FilesystemEvent{Name: strings.TrimPrefix(strings.TrimPrefix(name, w.top), "/")}
	switch {
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		e.Type = envd.EventType_EVENT_TYPE_CREATE
		if w.deep && mask&unix.IN_ISDIR != 0 {
			_ = w.add(fd, name) // it may be gone already
		}
	case mask&unix.IN_MODIFY != 0:
		e.Type = envd.EventType_EVENT_TYPE_WRITE
	case mask&unix.IN_DELETE != 0:
		e.Type = envd.EventType_EVENT_TYPE_REMOVE
	case mask&unix.IN_MOVED_FROM != 0:
		e.Type = envd.EventType_EVENT_TYPE_RENAME
	default:
		e.Type = envd.EventType_EVENT_TYPE_CHMOD
	}
	if w.entry {
		e.Entry, _ = w.d.entry(name)
	}
	w.mu.Lock()
	w.events = append(w.events, e)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns the events since the last time.
func (w *watcher) take() []*envd.FilesystemEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.events
	w.events = nil
	return all
}

func (w *watcher) close() { _ = w.file.Close() }

// WatchDir streams what changes in a directory.
func (s *filesystemService) WatchDir(ctx context.Context, r *connect.Request[envd.WatchDirRequest], out *connect.ServerStream[envd.WatchDirResponse]) error {
	every, err := s.d.keepalive(r.Header())
	if err != nil {
		return err
	}
	w, err := s.d.watch(absolute(r.Msg.GetPath(), s.d.basicUser(r.Header())), r.Msg.GetRecursive(), r.Msg.GetIncludeEntry())
	if err != nil {
		return err
	}
	defer w.close()
	st := s.d.open(ctx)
	defer s.d.leave(st)
	if err := out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Start{Start: &envd.WatchDirResponse_StartEvent{}}}); err != nil {
		return err
	}
	alive := time.NewTicker(every)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-w.more:
			for _, e := range w.take() {
				err = errors.Join(err, out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Filesystem{Filesystem: e}}))
			}
		case <-alive.C:
			err = out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Keepalive{Keepalive: &envd.WatchDirResponse_KeepAlive{}}})
		case <-ctx.Done():
			err = ctx.Err()
		case <-st.dead:
			panic(http.ErrAbortHandler)
		case <-st.mute:
			<-ctx.Done()
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			return err
		}
	}
}

// CreateWatcher begins to watch a directory; GetWatcherEvents asks for the events.
func (s *filesystemService) CreateWatcher(_ context.Context, r *connect.Request[envd.CreateWatcherRequest]) (*connect.Response[envd.CreateWatcherResponse], error) {
	w, err := s.d.watch(absolute(r.Msg.GetPath(), s.d.basicUser(r.Header())), r.Msg.GetRecursive(), r.Msg.GetIncludeEntry())
	if err != nil {
		return nil, err
	}
	id := "w" + code(20)
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.watchers[id] = w
	return connect.NewResponse(&envd.CreateWatcherResponse{WatcherId: id}), nil
}

// GetWatcherEvents returns the events since the last call.
func (s *filesystemService) GetWatcherEvents(_ context.Context, r *connect.Request[envd.GetWatcherEventsRequest]) (*connect.Response[envd.GetWatcherEventsResponse], error) {
	s.d.mu.Lock()
	w := s.d.watchers[r.Msg.GetWatcherId()]
	s.d.mu.Unlock()
	if w == nil {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("watcher with id %s not found", r.Msg.GetWatcherId()))
	}
	return connect.NewResponse(&envd.GetWatcherEventsResponse{Events: w.take()}), nil
}

// RemoveWatcher ends a watch.
func (s *filesystemService) RemoveWatcher(_ context.Context, r *connect.Request[envd.RemoveWatcherRequest]) (*connect.Response[envd.RemoveWatcherResponse], error) {
	s.d.mu.Lock()
	w := s.d.watchers[r.Msg.GetWatcherId()]
	delete(s.d.watchers, r.Msg.GetWatcherId())
	s.d.mu.Unlock()
	if w == nil {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("watcher with id %s not found", r.Msg.GetWatcherId()))
	}
	w.close()
	return connect.NewResponse(&envd.RemoveWatcherResponse{}), nil
}
