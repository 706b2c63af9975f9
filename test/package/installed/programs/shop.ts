// The service that commands are tried on: it orders from itself, of each kind of customer in turn.

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { category, runWithAttributes, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';
import { pino } from 'pino';

const { CATEGORIES = '', APP_PORT } = process.env;
const categories = CATEGORIES.split(' ').map((name) => category(name, { description: `steps of ${name}` }));
const chatty = pino({ name: 'chatty' }, pino.destination('/dev/null'));

/** The path names the customer: 13 fails, 14 waits. */
createServer((request, response) => {
  const customer = Number(request.url?.slice(1));
  runWithTenant('acme', () =>
    runWithAttributes({ 'user.id': `${customer}` }, async () => {
      for (const each of categories) each.debug('order placed', { customer, rows: 2 });
      chatty.info('order placed');
      if (customer === 14) await sleep(150);
      response.writeHead(customer === 13 ? 500 : 200).end();
    }),
  );
}).listen(Number(APP_PORT), '127.0.0.1');

for (;;) {
  for (const customer of [41, 42, 13, 14]) await fetch(`http://127.0.0.1:${APP_PORT}/${customer}`);
  await sleep(100);
}
