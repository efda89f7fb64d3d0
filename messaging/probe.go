package messaging

// Probe is an exchange and a key with which a service may publish, and to which
// no queue is bound. So a message with them shows whether the broker takes what
// the service publishes, and is never stored. The zero value is none.
type Probe struct{ Exchange, Key string }

// Probe returns the probe of a service; none, if it consumes nothing.
func (s System) Probe(service string) Probe {
	routes, err := s.routesOf(service)
	if err != nil || len(routes.Consumes) == 0 {
		return Probe{}
	}
	return Probe{s.RetryExchange(), RetryKey(0, s.Queue(service, routes.Consumes[0]))} // no delay is that short
}
