// Package envd is the wire of the daemon in a sandbox of E2B: messages and
// services, generated from the two .proto files beside it, which are our own
// transcription of the protocol. Only the stub speaks it; the driver has a client
// of its own, so that the two do not share one misreading.
package envd

//go:generate protoc --go_out=. --go_opt=paths=source_relative --connect-go_out=. --connect-go_opt=paths=source_relative,package_suffix= process.proto filesystem.proto
