// Package command holds the messages of the stub's command transport, generated
// from command.proto. Its tests hold the generated code to the bytes of the
// official client.
package command

//go:generate protoc -I ../../.. --go_out=../../.. --go_opt=paths=source_relative sandbox/prime/command/command.proto
