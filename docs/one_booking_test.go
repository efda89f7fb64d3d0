// Package docs tests what the documents say about the code.
package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOneBooking fails when a file or a function that the walk names is no longer there.
func TestOneBooking(t *testing.T) {
	text, err := os.ReadFile("one-booking.md")
	if err != nil {
		t.Fatal(err)
	}
	named, problems := check(string(text), "..")
	for _, p := range problems {
		t.Error(p)
	}
	if named < 25 {
		t.Errorf("only %d functions are named: is the walk read as it is written?", named)
	}
}

// The check can fail.
func TestOneBookingNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"`docs/one_booking_test.go` `check`":                         "",
		"`docs/one_booking_test.go`\n  `(parsed).has`":               "",
		"`docs/nowhere.go` `check`":                                  "no such file",
		"`docs/one_booking_test.go` `nothing`":                       "has no nothing",
		"`docs/one_booking_test.go` `has`":                           "has no has",
		"`docs/one_booking_test.go` `(*parsed).has`":                 "has no (*parsed).has",
		"`docs/one_booking_test.go` is a file":                       "names no function",
		"as in `(*Service).book`":                                    "names no file",
		"`docs/one_booking_test.go` `check`, then `(*Service).book`": "names no file",
	} {
		_, problems := check(text, "..")
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var (
	code     = regexp.MustCompile("`([^`\n]+)`")
	funcName = regexp.MustCompile(`^(\(\*?\w+\)\.)?\w+$`)
)

// check reads pairs of code words: a file, and a function in it. It returns how
// many there are, and what is wrong with them. A method needs a file before it.
func check(text, root string) (named int, problems []string) {
	words := code.FindAllStringSubmatchIndex(text, -1)
	for i := 0; i < len(words); i++ {
		word := text[words[i][2]:words[i][3]]
		if strings.HasPrefix(word, "(") {
			problems = append(problems, word+" names no file")
		}
		if !strings.HasSuffix(word, ".go") {
			continue
		}
		if i+1 == len(words) || strings.TrimSpace(text[words[i][1]:words[i+1][0]]) != "" {
			problems = append(problems, word+" names no function")
			continue
		}
		i++
		named++
		function := text[words[i][2]:words[i][3]]
		file, err := parse(filepath.Join(root, filepath.FromSlash(word)))
		switch {
		case err != nil:
			problems = append(problems, err.Error())
		case !funcName.MatchString(function) || !file.has(function):
			problems = append(problems, word+" has no "+function)
		}
	}
	return named, problems
}

// parsed are the functions of a file, as the walk writes them.
type parsed map[string]bool

func (p parsed) has(function string) bool { return p[function] }

func parse(path string) (parsed, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	functions := make(parsed)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = fmt.Sprintf("(%s).%s", receiver(f.Recv.List[0].Type), name)
		}
		functions[name] = true
	}
	return functions, nil
}

// receiver is the type of a method, without type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
