// Package rabbitmqtest has what tests of the driver, and of systems on it, share:
// virtual hosts of a RabbitMQ that is there already, with a proxy before it that
// can fail. It needs the broker's address and its management API, and no more:
//
//   - MESSAGING_TEST_RABBITMQ_URL: amqp://USER:PASSWORD@HOST:PORT/ with an
//     administrator. Without it these tests are skipped, and say so.
//   - MESSAGING_TEST_RABBITMQ_MANAGEMENT_URL: http://USER:PASSWORD@HOST:PORT; by
//     default port 15672 of the same host, as the same user.
//   - MESSAGING_TEST_REQUIRE=1: without a broker they fail instead.
//
// Each test has a virtual host of its own, which it deletes, and users of its own.
package rabbitmqtest
