import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { inFull } from '../support/tiers.ts';
import { assertExpiredOnce, assertOffSince, enableFor, endsThoughClockJumps, host, passed } from './temporary.ts';

describe('a temporary control of a real process never outlives its time', { concurrency: 4 }, () => {
  inFull('has ended when a process goes on that was stopped over its end', async (t) => {
    const here = host(t);
    const service = await here.start();
    const end = await enableFor(service, 1);
    service.child.kill('SIGSTOP');
    await passed(end + 500);
    service.child.kill('SIGCONT');
    assert.equal((await service.states()).DATABASE, false);
    await assertOffSince(service, end);
    await assertExpiredOnce(service);
  });

  endsThoughClockJumps(['an hour back']);
});
