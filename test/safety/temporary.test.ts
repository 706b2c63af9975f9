import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertExpiredOnce, assertOffSince, enableFor, goesOnAfterRestart, host, passed } from './temporary.ts';

const HOUR = 3_600_000;

describe('a temporary control of a real process never outlives its time', { concurrency: true }, () => {
  goesOnAfterRestart('SIGKILL');

  it('ends in the other processes when the one that set it was killed, stopped or has another clock', async (t) => {
    const here = host(t);
    const [killed, stopped, behind, ahead] = await Promise.all([
      here.start(),
      here.start(),
      here.start(-HOUR),
      here.start(HOUR),
    ]);
    const end = await enableFor(killed, 3);
    await killed.kill();
    stopped.child.kill('SIGSTOP');
    await passed(end);
    for (const service of [behind, ahead]) {
      assert.equal((await service.states()).DATABASE, false);
      await assertOffSince(service, end);
    }
    stopped.child.kill('SIGCONT');
    assert.equal((await stopped.states()).DATABASE, false);
    await assertOffSince(stopped, end);
    await assertExpiredOnce(behind);
  });
});
