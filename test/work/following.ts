import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { TestContext } from 'node:test';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { WorkContext } from '../../src/gate/work.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import type { Match } from '../../src/wire/target.ts';
import { serve as started } from '../support/serve.ts';

/** Work of this process, of which some is followed. */
export function workOf(t: TestContext, match: Match, redact: readonly string[] = []) {
  const context = new WorkContext();
  const matching = new WorkFollower(context, createRedaction(redact)).matching<true>();
  const end = matching.add(match, true);
  t.after(end);
  const matches = () => matching.current().length > 0;
  return { context, matches, within: (attributes: object) => context.run(attributes as never, matches), end };
}

/** Returns the port. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Returns the base URL of a service. */
export const serve = async (t: TestContext, listener: RequestListener): Promise<string> =>
  (await started(t, listener)).url;
