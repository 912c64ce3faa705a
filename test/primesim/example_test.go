package primesim_test

import (
	"fmt"
	"net/http"

	"github.com/yudai-dev/yudai/test/primesim"
)

// The second command of every sandbox breaks after its first frame, and the create
// is done, but its answer lost. What the client under test leaves behind is counted.
func Example() {
	s, err := primesim.New(primesim.Options{Concurrent: 16})
	if err != nil {
		return
	}
	defer s.Close()
	s.Inject(primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Nth: 2, Frames: 1})
	s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallCreate})
	s.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: http.StatusTooManyRequests, On: primesim.AnyControl, Nth: 5, Count: 3})

	// here a client works with s.URL() and primesim.DefaultKey

	fmt.Println(s.Billed(), s.Stored(), s.Calls(primesim.CallCreate), s.Starts())
}
