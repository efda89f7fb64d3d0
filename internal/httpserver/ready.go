package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// readyLimit is how long a part may take to say that it works.
const readyLimit = 2 * time.Second

func ready(checks []Check) echo.HandlerFunc {
	return func(c echo.Context) error {
		if failing := runChecks(c.Request().Context(), checks); len(failing) > 0 {
			names := make([]string, len(failing))
			for i, f := range failing {
				names[i] = f.Field
			}
			return &Problem{
				Type: TypeNotReady, Title: "Not ready", Status: http.StatusServiceUnavailable,
				Detail: "not working: " + strings.Join(names, ", "), Errors: failing,
			}
		}
		return c.JSON(http.StatusOK, map[string]string{"status": "ready"})
	}
}

// runChecks runs all checks at once and returns those that failed, in order. A
// check that does not return in time fails; it is not waited for.
func runChecks(ctx context.Context, checks []Check) []FieldError {
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("no answer within %s", readyLimit))
	defer cancel()
	results := make([]chan error, len(checks))
	for i, check := range checks {
		results[i] = make(chan error, 1)
		go func() { results[i] <- runCheck(ctx, check) }()
	}
	var failing []FieldError
	for i, check := range checks {
		var err error
		select {
		case err = <-results[i]:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			failing = append(failing, FieldError{Field: check.Name, Detail: err.Error()})
		}
	}
	return failing
}

func runCheck(ctx context.Context, c Check) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return c.Check(ctx)
}
