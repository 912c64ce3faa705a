package model

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// family is a rule of the table: a shape of names whose one or two numbers are
// the version, and the version from which on a temperature is refused.
type family struct {
	shape        *regexp.Regexp
	major, minor int
}

// families is the table. OpenAI: GPT-5 and later reasoning models and the
// o-series refuse any temperature but 1. Anthropic: Opus 4.7 and everything
// numbered 4.7 or more refuses sampling parameters
// (platform.claude.com, migration guides of Opus 4.7 and Sonnet 5).
var families = []family{
	{regexp.MustCompile(`^gpt-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`), 5, 0},
	{regexp.MustCompile(`^o(\d)(?:-|$)`), 1, 0},
	{regexp.MustCompile(`^claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`), 4, 7},
	{regexp.MustCompile(`^claude-(\d{1,2})(?:-(\d{1,2}))?-[a-z]+(?:-|$)`), 4, 7},
}

// temperatureRule looks a provider's model name up. Names with a vendor in front
// ("anthropic/claude-opus-4.7") and dots for dashes are understood; what the
// table does not know accepts a temperature.
func temperatureRule(name string) solve.TemperatureRule {
	name = normal(name)
	if strings.HasPrefix(name, "gpt-") && strings.Contains(name, "-chat") {
		return solve.TemperatureAccepted // the chat variants do not reason
	}
	if strings.HasPrefix(name, "claude-mythos-preview") || strings.HasPrefix(name, "codex-") {
		return solve.TemperatureRefused
	}
	for _, f := range families {
		if major, minor, ok := version(f.shape, name); ok {
			if major > f.major || major == f.major && minor >= f.minor {
				return solve.TemperatureRefused
			}
			return solve.TemperatureAccepted
		}
	}
	return solve.TemperatureAccepted
}

// toolsNeedNoReasoning says whether OpenAI's chat completions refuse function
// tools of a model unless its reasoning is switched off: GPT-5.4 and later.
func toolsNeedNoReasoning(name string) bool {
	name = normal(name)
	major, minor, ok := version(families[0].shape, name)
	return ok && !strings.Contains(name, "-chat") && (major > 5 || major == 5 && minor >= 4)
}

func normal(name string) string {
	name = strings.ToLower(name[strings.LastIndex(name, "/")+1:])
	return strings.ReplaceAll(name, ".", "-")
}

func version(shape *regexp.Regexp, name string) (major, minor int, ok bool) {
	m := shape.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, false
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, 0, false
	}
	if len(m) > 2 && m[2] != "" {
		if minor, err = strconv.Atoi(m[2]); err != nil {
			return 0, 0, false
		}
	}
	return major, minor, true
}
