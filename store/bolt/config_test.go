package bolt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/store/bolt"
)

func TestConfigReportsEveryBadValue(t *testing.T) {
	t.Parallel()
	problems := func(c bolt.Config) (keys []string) {
		c.Validate(func(key, problem string) {
			if problem == "" {
				t.Errorf("%s: no text", key)
			}
			keys = append(keys, key)
		})
		return keys
	}
	if got := problems(bolt.DefaultConfig()); len(got) > 0 {
		t.Errorf("the defaults are refused: %v", got)
	}
	bad := bolt.Config{BatchDelay: time.Minute, KeepDeliveries: time.Hour, KeepLogs: time.Minute}
	if got := problems(bad); !slices.Equal(got, []string{"path", "batch_delay", "keep_deliveries", "keep_logs"}) {
		t.Errorf("reported %v", got)
	}
}
