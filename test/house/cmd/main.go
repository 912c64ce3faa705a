// Command cmd prints what package house measures; `make house` runs it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/yudai-dev/yudai/test/house"
)

func main() {
	dir := flag.String("dir", ".", "the root of the source tree")
	flag.Parse()
	tree, err := house.Measure(*dir)
	if err == nil {
		err = tree.Print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}
