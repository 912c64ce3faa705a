// Package command holds the messages of Prime's command transport, generated from
// command.proto. The driver and the stub share them: the tests here and in sandbox/prime
// hold both to the recorded bytes of the vendor's own clients.
package command

//go:generate protoc -I ../../.. --go_out=../../.. --go_opt=paths=source_relative sandbox/prime/command/command.proto
