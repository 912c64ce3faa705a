package patch_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
)

func TestIsTestFile(t *testing.T) {
	t.Parallel()
	for _, p := range strings.Fields(`
		a_test.go pkg/testdata/in.txt
		test_a.py a_test.py app/tests.py conftest.py tests/helpers.py pkg/tests/__init__.py
		a.test.js a.spec.ts a.test.mjs a.cy.tsx __tests__/a.js web/__snapshots__/a.js.snap x.snap e2e/login.ts spec/a_spec.js
		tests/it.rs src/parser/tests.rs src/a_test.rs
		src/test/java/A.java ATest.java ATests.java AIT.java TestA.java UserSpec.scala ATest.kt
		spec/models/user_spec.rb test/user_test.rb test_user.rb spec/spec_helper.rb spec/factories/a.rb
		tests/Unit/UserTest.php UserTest.php a.phpt
		Shop.Tests/Cart.cs CartTests.cs src/Shop.UnitTests/x.txt
		fixtures/a.json pkg/snapshots/a.txt TESTS/A.TXT
		testutil/a.go internal/testenv/env.go pkg/internal/testing/x.go src/test-utils/render.tsx testutils.py testHelpers.js test_support/a.rb golden/a.txt`) {
		if !patch.IsTestFile(p) {
			t.Errorf("%s is a test", p)
		}
	}
	for _, p := range strings.Fields(`
		a.go test.go testing/x.go latest.go contest.py attest.py testimony.py latest/a.py
		a.js test.js.md latest.ts spec/openapi.yaml spec/v1.json spec.md
		src/lib.rs Testimonial.java Contest.java Latest.java Test.java Audit.java user.rb Contest.php
		Manifest.cs tester/a.go src/main/java/A.java README.md .github/workflows/test.yml internal/latest/a.go testutility/a.go testlib`) {
		if patch.IsTestFile(p) {
			t.Errorf("%s is no test", p)
		}
	}
}

func TestIsTestConfig(t *testing.T) {
	t.Parallel()
	for _, p := range strings.Fields(`
		pytest.ini .pytest.toml pytest.toml src/setupTests.ts conftest.py sub/conftest.py tox.ini setup.cfg noxfile.py jest.config.js jest.config.mjs jest.setup.ts
		vitest.config.ts .mocharc.json .mocharc .nycrc karma.conf.js playwright.config.ts cypress.config.js phpunit.xml
		phpunit.xml.dist .rspec testng.xml x/ci.runsettings`) {
		if !patch.IsTestConfig(p) {
			t.Errorf("%s is test configuration", p)
		}
	}
	for _, p := range strings.Fields(`package.json pyproject.toml Makefile go.mod config.js jest.js .eslintrc setup.py .config.js jestconfig.md`) {
		if patch.IsTestConfig(p) {
			t.Errorf("%s is no test configuration", p)
		}
	}
}
