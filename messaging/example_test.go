package messaging_test

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
)

// The events of a shop of two services. Stock reserves what an order wants, and
// takes it back when the card is declined.
type (
	Placed    struct{ order }
	Reserved  struct{ order }
	Cancelled struct{ order }
	Returned  struct{ order }
	order     struct{ Order string }
)

func (o order) Key() string     { return o.Order }
func (o order) Validate() error { return nil } // an empty key is refused anyway

func shop() messaging.System {
	return messaging.System{Prefix: "example", Services: []messaging.Service{
		{Name: "orders", Routes: messaging.Routes{Publishes: []string{"Placed", "Cancelled"}, Consumes: []string{"Reserved", "Returned"}}},
		{Name: "stock", Routes: messaging.Routes{Publishes: []string{"Reserved", "Returned"}, Consumes: []string{"Placed", "Cancelled"}}},
	}}
}

// sell runs both services and one order, and returns when nothing is left to do.
func sell(ctx context.Context, broker func(service string) messaging.Broker) error {
	if err := broker("orders").Declare(ctx, shop().Topology(), messaging.TopologyDeclare); err != nil {
		return err
	}
	ctx, done := context.WithCancel(ctx)
	defer done()
	var running errgroup.Group
	serve := func(service string, handlers ...messaging.Handler) *messaging.Publisher {
		p, err := messaging.NewPublisher(broker(service), shop(), service, messaging.Instruments{})
		c, wrong := messaging.NewConsumer(broker(service), p, messaging.ConsumerConfig{}, messaging.Instruments{}, handlers...)
		if err := errors.Join(err, wrong); err != nil {
			panic(err)
		}
		running.Go(func() error { return c.Run(ctx) })
		return p
	}
	serve("stock",
		messaging.On(func(_ context.Context, e Placed) ([]messaging.Event, error) {
			fmt.Println("stock is reserved for", e.Order)
			return []messaging.Event{Reserved(e)}, nil
		}), messaging.On(func(_ context.Context, e Cancelled) ([]messaging.Event, error) {
			fmt.Println("stock is returned by", e.Order)
			return []messaging.Event{Returned(e)}, nil
		}))
	orders := serve("orders",
		messaging.On(func(_ context.Context, e Reserved) ([]messaging.Event, error) {
			fmt.Println("the card is declined for", e.Order)
			return []messaging.Event{Cancelled(e)}, nil
		}), messaging.On(func(context.Context, Returned) ([]messaging.Event, error) {
			done()
			return nil, nil
		}))
	return errors.Join(orders.Publish(ctx, Placed{order{"order-1"}}), running.Wait())
}

func Example() {
	server := inproc.New(inproc.Options{})
	fmt.Println(sell(context.Background(), func(service string) messaging.Broker { return server.Connect(service) }))
	// Output:
	// stock is reserved for order-1
	// the card is declined for order-1
	// stock is returned by order-1
	// <nil>
}
