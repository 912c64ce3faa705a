package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// The attacker's hosts: what answers at closed is out of bounds, what answers at open is not.
const (
	closedHost = "127.7.7.7"
	openHost   = "127.8.8.8"
)

// hosts are the attacker's name server and web servers, all on loopback, as root.
type hosts struct {
	name    *net.UDPConn
	servers []*http.Server
	mu      sync.Mutex
	asked   map[string]int
	wait    sync.WaitGroup
}

// openHosts starts them.
func openHosts(ctx context.Context) (*hosts, error) {
	h := &hosts{asked: map[string]int{}}
	var err error
	if h.name, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(closedHost), Port: 53}); err != nil {
		return nil, fmt.Errorf("listen for names: %w", err)
	}
	h.wait.Go(h.serveNames)
	for _, address := range []string{closedHost + ":80", openHost + ":80", "[::1]:80", "127.0.0.1:80", openHost + ":8080"} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil && !strings.HasPrefix(address, openHost) && !strings.HasPrefix(address, closedHost) {
			continue // another server has it: it does not say REACHED, which only weakens one attack
		}
		if err != nil {
			h.close()
			return nil, fmt.Errorf("listen as the attacker's host: %w", err)
		}
		s := &http.Server{Handler: host(address), ReadHeaderTimeout: 5 * time.Second}
		h.servers = append(h.servers, s)
		h.wait.Go(func() { _ = s.Serve(l) }) // it ends when it is closed
	}
	return h, nil
}

// host answers as one of the web servers.
func host(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/private": "http://private.test/", "/literal": "http://" + closedHost + "/", "/metadata": "http://metadata.test/"}
		switch {
		case !strings.HasPrefix(address, openHost):
			_, _ = io.WriteString(w, "REACHED\n") // the client may be gone
		case to[r.URL.Path] != "":
			http.Redirect(w, r, to[r.URL.Path], http.StatusFound)
		default:
			_, _ = io.WriteString(w, "ALLOWED\n") // the client may be gone
		}
	}
}

func (h *hosts) close() {
	_ = h.name.Close() // nobody needs it any more
	for _, s := range h.servers {
		_ = s.Close() // nobody needs it any more
	}
	h.wait.Wait()
}

func (h *hosts) serveNames() {
	buf := make([]byte, 1500)
	for {
		n, from, err := h.name.ReadFromUDP(buf)
		if err != nil {
			return
		}
		if out, err := h.answer(buf[:n]); err == nil {
			_, _ = h.name.WriteToUDP(out, from) // who asks asks again
		}
	}
}

// answer resolves one name, by its table or, in every second answer, another way.
func (h *hosts) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
		for _, text := range h.addresses(name) {
			ip := net.ParseIP(text)
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			switch v4 := ip.To4(); {
			case q.Type == dnsmessage.TypeA && v4 != nil && !strings.Contains(text, ":"):
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte(v4)}})
			case q.Type == dnsmessage.TypeAAAA && strings.Contains(text, ":"):
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}})
			}
		}
	}
	return m.Pack()
}

func (h *hosts) addresses(name string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[name]++
	switch name {
	case "redirect.test":
		return []string{openHost}
	case "six.test":
		return []string{"::1"}
	case "mapped.test":
		return []string{"::ffff:" + closedHost}
	case "metadata.test":
		return []string{"169.254.169.254", closedHost}
	case "rebind.test": // first an open address where nothing listens, then the closed one
		if h.asked[name]%4 < 2 {
			return []string{"127.8.8.99"}
		}
	}
	return []string{closedHost}
}

// named is a program that starts another with the attacker's name server as this machine's.
func (w *world) named(binary string) (string, error) {
	text := fmt.Sprintf("#!/bin/sh\nexec unshare -m sh -c 'mount --bind %[1]s /etc/resolv.conf && mount --bind %[2]s /etc/hosts && exec %[3]s \"$@\"' sh \"$@\"\n",
		w.path("resolv.conf"), w.path("hosts"), binary)
	for name, content := range map[string]string{
		"resolv.conf": "nameserver " + closedHost + "\noptions timeout:2 attempts:1\n",
		"hosts":       "127.0.0.1 localhost\n::1 ip6-localhost\n", "yudai-named": text,
	} {
		if err := os.WriteFile(w.path(name), []byte(content), 0o755); err != nil { //nolint:gosec // everybody may read names
			return "", fmt.Errorf("write the attacker's names: %w", err)
		}
	}
	return w.path("yudai-named"), nil
}
