// Package envd is the wire of the daemon in a sandbox of E2B: messages, services and
// their clients, generated from the two .proto files beside it, which are our own
// transcription of the protocol. The driver and the stub share them: the recorded
// traffic of the real daemon (test/e2bsim/testdata) is replayed to both, so that a
// misreading that both have shows.
package envd

//go:generate protoc --go_out=. --go_opt=paths=source_relative --connect-go_out=. --connect-go_opt=paths=source_relative,package_suffix= process.proto filesystem.proto
