package judge

import "slices"

// The package registries that the install command of each kind of repository needs.
func goRegistry() []string     { return []string{"proxy.golang.org", "sum.golang.org"} }
func rustRegistry() []string   { return []string{"index.crates.io", "static.crates.io", "crates.io"} }
func pythonRegistry() []string { return []string{"pypi.org", "files.pythonhosted.org"} }
func nodeRegistry() []string   { return []string{"registry.npmjs.org", "registry.yarnpkg.com"} }
func mavenRegistry() []string  { return []string{"repo.maven.apache.org", "repo1.maven.org"} }

func gradleRegistry() []string {
	return append(mavenRegistry(), "plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org")
}

// Registries are all hosts that [Detect] can name: a repository that wants one open
// needs no more than a file of that kind.
func Registries() []string {
	return slices.Concat(goRegistry(), rustRegistry(), pythonRegistry(), nodeRegistry(), gradleRegistry())
}
