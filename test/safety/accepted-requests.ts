// Loaded into a process with --import: notes the id of every request that its HTTP servers were given, at once and
// durably, in the file that RDCP_ACCEPTED_REQUESTS names.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';

subscribe('http.server.request.start', (message) => {
  const id = (message as { request: IncomingMessage }).request.headers['x-rdcp-request-id'];
  if (id !== undefined) appendFileSync(process.env.RDCP_ACCEPTED_REQUESTS as string, `${id}\n`);
});
