// A service that survives its uncaught errors, if its first argument says so. It is told by message which to make, and answers
// with its debug lines.

import { createRdcp } from 'opentelemetry-instrumentation-rdcp';

const rdcp = createRdcp({
  server: false,
  announce: false,
  alerts: [{ name: 'crashes', when: { uncaught: true }, enable: ['ORDERS'], for: '1m' }],
  emit: { to: ({ message }) => process.send?.(message) },
});
const orders = rdcp.category('ORDERS');

if (process.argv[2] === 'survives') {
  process.on('uncaughtException', () => {}).on('unhandledRejection', () => {});
}
const ERRORS: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new TypeError('broken');
  },
  rejects: () => void Promise.reject(new RangeError('broken')),
};
process.on('message', (way: string) => setImmediate(ERRORS[way]!));
process.once('disconnect', () => process.exit());
setInterval(() => orders.debug('an order'), 50);
process.send?.('ready');
