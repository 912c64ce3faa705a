package patch

import (
	"path"
	"slices"
	"strings"
)

// names are files that have a meaning for other programs, all in lower case.
type names struct {
	dirs     []string // a part of the path is one of them: a directory, or a link to one
	files    []string // the last part is, or matches
	wholes   []string // the whole path matches
	suffixes []string
}

// fold is a path as file systems of macOS and Windows compare it: case does not count, nor do forms of a letter like ſ of s.
func fold(p string) string { return strings.ToLower(strings.ToUpper(p)) }

// named says whether a path has one of the names.
func named(n names) func(string) bool {
	return func(p string) bool {
		p = fold(p)
		base := path.Base(p)
		match := func(pattern, text string) bool { ok, _ := path.Match(pattern, text); return ok }
		return slices.ContainsFunc(n.dirs, func(d string) bool { return strings.Contains("/"+p+"/", "/"+d+"/") }) ||
			slices.ContainsFunc(n.files, func(f string) bool { return match(f, base) }) ||
			slices.ContainsFunc(n.wholes, func(w string) bool { return match(w, p) }) ||
			slices.ContainsFunc(n.suffixes, func(s string) bool { return strings.HasSuffix(base, s) })
	}
}

// inDir says whether a path lies in a directory at the root, or is a link in its place.
func inDir(p, dir string) bool { return strings.HasPrefix(fold(p)+"/", dir+"/") }

// isCodeOwners knows the three places in which GitHub looks.
func isCodeOwners(p string) bool {
	return named(names{wholes: []string{"codeowners", ".github/codeowners", "docs/codeowners"}})(p)
}

func isVendored(p string) bool {
	return named(names{
		dirs: []string{
			"vendor", "_vendor", "third_party", "third-party", "node_modules", "dist", "bower_components", "generated", "__generated__",
		},
		suffixes: []string{
			".pb.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2_grpc.py", "_generated.go", ".gen.go", ".gen.ts", ".g.dart", ".g.cs",
			".min.js", ".min.css", ".bundle.js", ".js.map", ".css.map",
		},
	})(p)
}

// isInstruction says whether coding agents read the file as orders.
func isInstruction(p string) bool {
	return named(names{
		dirs: []string{
			".claude", ".cursor", ".codex", ".gemini", ".windsurf", ".clinerules", ".opencode", ".junie", ".roo", ".kiro", ".amazonq",
			".continue", ".agents", ".augment",
		},
		files: []string{
			"claude.md", "claude.local.md", "agents.md", "agents.override.md", "agent.md", "gemini.md", "copilot-instructions.md", "warp.md",
			".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".aider*", ".mcp.json", "opencode.json*",
		},
	})(p) || inDir(p, ".github/instructions") || inDir(p, ".github/prompts") || inDir(p, ".github/agents")
}

func ciFiles() names {
	return names{
		dirs: []string{".circleci", ".buildkite", ".woodpecker", ".gitlab", ".forgejo", ".gitea", ".teamcity"},
		files: []string{
			".gitlab-ci.yml", ".travis.yml", "jenkinsfile", "azure-pipelines*.yml", "bitbucket-pipelines.yml", ".appveyor.yml", "appveyor.yml",
			".drone.yml", ".cirrus.yml", "cloudbuild.y*ml", ".woodpecker.yml", "codefresh.yml", "buildspec.yml",
		},
	}
}

func autoRunFiles() names {
	return names{
		dirs: []string{".husky", ".vscode", ".devcontainer", ".idea", ".githooks", ".git-hooks", ".lefthook", ".zed", ".fleet", ".nova"},
		files: []string{
			".devcontainer.json", ".envrc", "lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json", ".lefthook*", ".huskyrc*",
			".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".overcommit.yml", ".lintstagedrc*", "lint-staged.config.*", ".gitpod.yml",
			".gitpod.dockerfile", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", "mise*.toml", ".mise*.toml",
			"*.code-workspace", "*.sublime-project", "sitecustomize.py", "usercustomize.py",
		},
	}
}

func registryFiles() names {
	return names{
		dirs: []string{".cargo", ".mvn", ".bundle", ".yarn"},
		files: []string{
			".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", "pip.conf", "pip.ini", ".pypirc", "uv.toml", "nuget.config",
			".gemrc", "auth.json", "init.gradle", "init.gradle.kts", "gradle-wrapper.properties", "gradlew*", "mvnw*",
			"pnpm-workspace.yaml", "poetry.toml", ".bowerrc",
		},
	}
}

func buildFiles() names {
	return names{
		dirs: []string{"buildsrc"},
		files: []string{
			"makefile", "gnumakefile", "*.mk", "cmakelists.txt", "*.cmake", "meson.build", "meson_options.txt", "configure.ac", "build",
			"build.bazel", "workspace", "workspace.bazel", "module.bazel", ".bazelrc", "build.gradle*", "settings.gradle*", "gradle.properties",
			"pom.xml", "build.xml", "*.sbt", "build.rs", "build.zig", "setup.py", "pyproject.toml", "hatch.toml", "package.json", "cargo.toml",
			"go.mod", "go.work", "composer.json", "gemfile", "*.gemspec", "*.csproj", "*.fsproj", "*.sln", "*.props", "*.targets", "tsconfig*.json",
			"webpack.config.*", "vite.config.*", "rollup.config.*", "esbuild.config.*", "babel.config.*", ".babelrc*", "next.config.*",
			"turbo.json", "nx.json", "gulpfile.*", "gruntfile.*", "dockerfile*", "*.dockerfile", "docker-compose*.y*ml", "compose.y*ml",
			"pipfile", "justfile", "taskfile.y*ml", "rakefile", "deno.json*", "flake.nix", "default.nix", "shell.nix",
			"rust-toolchain", "rust-toolchain.toml", "environment*.y*ml", "pubspec.yaml", "package.swift", "mix.exs", "pixi.toml",
			"pylock*.toml", "conda-lock.yml", "directory.build.rsp",
		},
	}
}
