// Package patch reads the patch of a candidate and decides whether it may be published.
// Patches come out of a sandbox, so they are hostile input.
package patch
