package handlers

// Wanted says whether a delivery of an event may ask for something. Its payload
// decides; of all others nobody needs to read one.
func Wanted(event, action string) bool {
	switch event + "." + action {
	case "issues.labeled", "issues.assigned", "issues.unlabeled", "issues.closed", "issues.deleted", "issues.transferred",
		"issue_comment.created", "issue_comment.deleted",
		"check_run.requested_action", "check_run.rerequested", "check_suite.rerequested",
		"pull_request_review.submitted", "pull_request.closed", "pull_request.reopened",
		"installation.deleted", "installation.suspend", "installation.unsuspend", "installation.new_permissions_accepted",
		"installation_repositories.removed":
		return true
	}
	return false
}
