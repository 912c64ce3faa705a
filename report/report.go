// Package report writes every text about a solve that people read: comments, check runs,
// the pull request, the scorecard, the output of the console. All of them are made from a [View].
package report
