// A service whose own login also opens its remote control: npm run example:own-login.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { guide } from './guide.ts';
import { createLogin, type User } from './login.ts';

const GREETINGS = category('GREETINGS', { description: 'Every greeting: who was greeted' });
const FOLDER = '.rdcp/own-login';
const USERS: readonly User[] = [
  { name: 'ada', role: 'developer' },
  { name: 'ben', role: 'support' },
];
/** What the roles of this service mean to its remote control. */
const SCOPES = { developer: ['discovery', 'status', 'control'], support: ['status'] } as const;

const login = createLogin();
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
for (const user of USERS) writeFileSync(`${FOLDER}/${user.name}.password`, login.register(user), { mode: 0o600 });

const rdcp = createRdcp({
  // No port of its own: it is mounted below, where the cookies of this service come.
  server: false,
  security: {
    level: 'standard',
    // This function is all there is to it. Without a session it answers nothing, and the request is refused.
    authenticate: (request) => {
      const session = login.sessionOf(request);
      if (session === undefined) return undefined;
      return {
        valid: true,
        method: 'bearer',
        userId: session.user.name,
        scopes: [...SCOPES[session.user.role]],
        sessionId: session.id,
        expiresAt: new Date(session.expiresAt).toISOString(),
      };
    },
  },
});
const control = rdcp.callback();

const server = createServer((req, res) => {
  control(req, res, async () => {
    if (req.method === 'POST' && req.url === '/login') {
      const form = new URLSearchParams(await text(req));
      const cookie = login.logIn(form.get('name') ?? '', form.get('password') ?? '');
      if (cookie !== undefined) res.setHeader('Set-Cookie', cookie);
      res.writeHead(cookie === undefined ? 403 : 200).end();
      return;
    }
    const name = login.sessionOf(req)?.user.name ?? 'stranger';
    GREETINGS.debug('greeted', { 'user.id': name });
    res.end(`Hello, ${name}\n`);
  });
});
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(guide(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, FOLDER));
});

const stop = () => {
  server.close();
  server.closeIdleConnections();
  void rdcp.close();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
