package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

var (
	mavenRegistries  = []string{"repo.maven.apache.org", "repo1.maven.org"}
	gradleRegistries = slices.Concat(mavenRegistries, []string{
		"plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org",
	})
)

// jvmProxy tells the Java programs about the proxy of the installation, which they do not read from the environment.
const jvmProxy = `p=${HTTPS_PROXY:-${https_proxy:-}}; if [ -n "$p" ]; then p=${p#*://}; p=${p%/}; ` +
	`o="-Dhttps.proxyHost=${p%:*} -Dhttps.proxyPort=${p##*:} -Dhttp.proxyHost=${p%:*} -Dhttp.proxyPort=${p##*:}"; ` +
	`export MAVEN_OPTS="$o" GRADLE_OPTS="$o"; fi; `

// detectMaven recognises Maven projects. The install runs the tests once: Maven fetches the
// plugins that run tests only then.
func detectMaven(r *repository) (Setup, bool) {
	mvn := r.wrapper("mvnw", "mvn")
	return Setup{
		Install: jvmProxy + mvn + " -B -q test -Dmaven.test.failure.ignore=true",
		Test: solve.TestCommand{
			Command: mvn + " -B -o test -Dmaven.test.failure.ignore=true", Plain: mvn + " test", Format: "junit",
			Report: "**/target/surefire-reports/TEST-*.xml", Source: "pom.xml",
		},
		Why: "pom.xml with tests",
	}, r.has("pom.xml") && r.any(jvmTest)
}

// detectGradle recognises Gradle projects. The install runs the tests, as for Maven.
func detectGradle(r *repository) (Setup, bool) {
	name, gradle := r.first("build.gradle.kts", "build.gradle"), r.wrapper("gradlew", "gradle")
	return Setup{
		Install: jvmProxy + gradle + " --no-daemon -q test --continue || " + gradle + " --no-daemon -q testClasses",
		Test: solve.TestCommand{
			Command: gradle + " --no-daemon --offline test --continue", Plain: gradle + " test", Format: "junit",
			Report: "**/build/test-results/**/TEST-*.xml", Source: name,
		},
		Why: name + " with tests",
	}, name != "" && r.any(jvmTest)
}

// wrapper is the command of the repository's own script, or of the installed program.
func (r *repository) wrapper(script, program string) string {
	if r.has(script) {
		return "sh ./" + script
	}
	return program
}

func jvmTest(p string) bool {
	code := slices.Contains([]string{".java", ".kt", ".scala", ".groovy"}, path.Ext(p))
	return code && strings.Contains("/"+p, "/src/test/")
}
