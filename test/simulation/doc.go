// Package simulation crashes the program at every durable boundary of a solve,
// and at pairs of them, in simulated time.
//
// Real are the engine, the GitHub writer, the webhook intake, the agent, git and
// the store's file; the emulator of GitHub is called in process, the sandboxes
// are the fake driver's and the model plays a script, all inside one bubble of
// testing/synctest. GitHub, the sandboxes, the store's file and the mirrors
// outlive a crash, as they do on a real machine; nothing else does.
//
// A boundary is everything that leaves something behind outside the process: a
// commit of the store, a file beside it, a changing request to GitHub, a sandbox
// opened, frozen or closed, a command in one, a paid answer of the model. At each
// the process dies just before it or just after it, without having seen its
// outcome, or is stopped as by a signal; then the next process starts on what is
// left, until the solve is settled and the invariants are looked at.
//
// The package has nothing but tests; docs/evidence/durability.md says how to run them.
package simulation
