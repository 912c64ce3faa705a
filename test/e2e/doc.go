// Package e2e plays whole scenarios against the whole program: real webhooks
// from the emulator, a real git server, real sandboxes, a scripted model, and
// processes that are killed and followed by others. It holds tests only.
package e2e
