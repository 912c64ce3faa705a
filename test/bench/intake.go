package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

const (
	senders    = 64
	intakeTime = 1500 * time.Millisecond // of one measurement
)

// intake stores deliveries, each on the disk before its sender goes on. With
// many senders several share a commit; with one each has its own.
func (b *bench) intake(ctx context.Context, dir string) (result, error) {
	payload, err := payload(ctx, filepath.Join(dir, "rig"))
	if err != nil {
		return result{}, err
	}
	c := bolt.DefaultConfig()
	c.Path = filepath.Join(dir, "store", "yudai.db")
	s, err := bolt.Open(c)
	if err != nil {
		return result{}, err
	}
	var last atomic.Int64
	many, one, err := pairs(ctx, b.repeats(7),
		func() (float64, error) { return accept(ctx, s, &last, senders, payload) },
		func() (float64, error) { return accept(ctx, s, &last, 1, payload) })
	return result{
		checks: []check{{values: ratios(many, one), unit: " times", bound: 15, least: true}},
		facts: []string{fmt.Sprintf("%s deliveries a second from %d senders, %s one after the other; an `issues.labeled` of %s KiB",
			number(median(many)), senders, number(median(one)), number(float64(len(payload))/1024))},
	}, errors.Join(err, s.Close())
}

// accept is how many deliveries a second are stored.
func accept(ctx context.Context, s *bolt.Store, last *atomic.Int64, senders int, payload []byte) (float64, error) {
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	var count atomic.Int64
	for range senders {
		group.Go(func() error {
			for time.Since(began) < intakeTime {
				d := solve.Delivery{GUID: guid(last.Add(1)), Event: "issues", Action: "labeled", Payload: payload}
				if ok, err := s.Accept(ctx, d, solve.Intent{}); err != nil || !ok {
					return errors.Join(err, fmt.Errorf("stored: %t", ok))
				}
				count.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(count.Load()) / time.Since(began).Seconds(), err
}

// guid is a UUID of version 1, as GitHub's are: the fast digits come first.
func guid(n int64) string {
	ticks := 0x1f15a1c00000000 + n*2003
	return fmt.Sprintf("%08x-%04x-1%03x-8f3a-7e4d3c2b1a00", uint32(ticks), uint16(ticks>>32), ticks>>48)
}

// wantPayload is the size of an issues.labeled of GitHub's: it has more URLs than the
// emulator's, whose payload is filled up in the text.
const wantPayload = 11 << 10

// payload is an issues.labeled as the emulator sends it.
func payload(ctx context.Context, dir string) (data []byte, err error) {
	r, err := newRig(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	repo, err := r.repo("calc", calc())
	if err != nil {
		return nil, err
	}
	if _, err := r.hub.Install(r.app, owner); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for filled := 0; ; filled = wantPayload - len(data) {
		for line := 0; filled > 0 && text.Len() < filled; line++ {
			fmt.Fprintf(&text, "%04d: calc_test.sh:%d: %s of %d gave %x, wanted %x\n", line, line*37%997, []string{"sum", "product", "difference"}[line%3], line*line, line*7919, line*104729)
		}
		if _, err := r.label(repo, "Adding subtracts", text.String()); err != nil {
			return nil, err
		}
		if data, err = r.lastDelivery("labeled"); err != nil || len(data) > wantPayload*9/10 {
			return data, err
		}
	}
}

// lastDelivery is the payload of the newest delivery with an action.
func (r *rig) lastDelivery(action string) ([]byte, error) {
	var found githubsim.Delivery
	for _, d := range r.hub.Deliveries(r.app) {
		if d.Action == action {
			found = d
		}
	}
	if found.Payload == nil {
		return nil, fmt.Errorf("no delivery %s", action)
	}
	return found.Payload, nil
}
