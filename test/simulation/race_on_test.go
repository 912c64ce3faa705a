//go:build race

package simulation_test

// raceThin is by how much fewer cases are played by default: the race detector makes each ten times slower.
const raceThin = 8
