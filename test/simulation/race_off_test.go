//go:build !race

package simulation_test

// thin is by how much fewer cases are played by default.
const thin = 1
