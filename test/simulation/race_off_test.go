//go:build !race

package simulation_test

// raceThin is by how much fewer cases are played by default.
const raceThin = 1
