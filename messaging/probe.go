package messaging

// ProbeKey is a key for [ExchangeRetry] that the service may use and to which
// no queue is bound. So a message with it shows whether the broker takes what
// the service publishes, and is never stored.
func ProbeKey(service string) string {
	for _, r := range routes() {
		if r.service == service {
			return RetryKey(0, QueueName(service, r.event)) // no delay is that short
		}
	}
	return ""
}
