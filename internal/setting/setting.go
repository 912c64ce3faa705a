// Package setting checks the values of a section of config.yml.
package setting

import (
	"errors"
	"fmt"
)

// Report is told of a bad value by its key inside the section.
type Report func(key, problem string)

// Unless reports a problem unless the value is fine.
func (r Report) Unless(fine bool, key, problem string) {
	if !fine {
		r(key, problem)
	}
}

// Price checks a price in US dollars; the bound catches a slip of the hand.
func (r Report) Price(key string, usd float64) {
	r.Unless(usd >= 0 && usd <= 1000, key, "must be 0 to 1000 US dollars") // false for NaN
}

// Join makes one error of all problems of a section, each with its key.
func Join(section string, validate func(report Report)) error {
	var problems []error
	validate(func(key, problem string) { problems = append(problems, fmt.Errorf("%s%s %s", section, key, problem)) })
	return errors.Join(problems...)
}
