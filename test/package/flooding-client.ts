// The clients of a service: keep every connection busy until a message to stop, then say how many requests were answered.

import { Agent, get } from 'node:http';

const [port, connections] = process.argv.slice(2).map(Number) as [number, number];
const agent = new Agent({ keepAlive: true, maxSockets: connections });
let stopped = false;
let answered = 0;

function request(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  get({ port, agent, host: '127.0.0.1' }, (response) => {
    if (response.statusCode === 200) answered += 1;
    response.resume().on('end', resolve);
  }).on('error', reject);
  return promise;
}

async function connection(): Promise<void> {
  while (!stopped) await request();
}

process.once('message', () => {
  stopped = true;
});
await Promise.all(Array.from({ length: connections }, connection));
agent.destroy();
process.send!({ answered });
process.disconnect();
