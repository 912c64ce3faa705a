//go:build race

package simulation_test

// thin is by how much fewer cases are played by default: the race detector makes each ten times slower.
const thin = 8
