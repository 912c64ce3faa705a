package main

import "time"

// playUsers does what people do next, and what the operator does with deliveries that
// were not acknowledged: GitHub does not send them again by itself.
func (e *episode) playUsers() error {
	if e.proc.Address() == "" || !e.proc.Running() {
		return nil
	}
	if e.started.IsZero() {
		if err := e.trigger(); err != nil {
			return err
		}
	}
	if err := e.finishScene(); err != nil {
		return err
	}
	known := map[string]bool{}
	list := e.hub.Deliveries(e.app)
	for _, d := range list {
		known[d.GUID] = known[d.GUID] || !d.Done || d.Status < 300
	}
	for _, d := range list {
		if wanted := d.Action == "labeled" || d.Event == "issue_comment" && d.Action == "created"; wanted && !known[d.GUID] && !e.redone[d.ID] {
			e.redone[d.ID], known[d.GUID] = true, true
			if err := e.hub.Redeliver(e.app, d.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// trigger asks for the solve.
func (e *episode) trigger() error {
	e.started = time.Now()
	if e.point.scene == sceneComment {
		_, err := e.hub.Comment(e.repo.FullName(), e.issue, user, "/yudai solve")
		return err
	}
	return e.hub.Label(e.repo.FullName(), e.issue, user, "yudai:solve")
}

// finishScene plays the rest of the scene while the runs work.
func (e *episode) finishScene() error {
	text := map[string]string{sceneComment: "/yudai status", sceneCancel: "/yudai cancel"}[e.point.scene]
	if text == "" || e.acted > 0 || e.provider.asked() < 2 {
		return nil
	}
	e.acted++
	_, err := e.hub.Comment(e.repo.FullName(), e.issue, user, text)
	return err
}
