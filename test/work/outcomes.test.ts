import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { HttpRequests } from '../../src/calls/work/http-requests.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { type PieceOfWork, WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import { summaryOf } from '../../src/calls/work/summary.ts';
import { followUncaught } from '../../src/calls/work/uncaught.ts';
import { WorkContext } from '../../src/gate/work.ts';
import { until } from '../support/until.ts';
import { listen, serve } from './following.ts';

/** Follows outcomes; the clock stands still unless a test moves it. */
function following(t: TestContext) {
  const time = { now: 0 };
  const host = new EventEmitter();
  const context = new WorkContext();
  const outcomes = new WorkOutcomes(
    context,
    new HttpRequests(context),
    { monotonic: () => time.now },
    host as unknown as NodeJS.Process,
  );
  const ended: PieceOfWork[] = [];
  const stop = outcomes.watch({
    ended: (piece) => void ended.push(piece),
  });
  t.after(stop);
  const summaries = () =>
    ended.map((piece) => `${piece.failure === undefined ? 'ok' : 'failed'}: ${summaryOf(piece.facts, (text) => text)}`);
  return { time, host, context, outcomes, ended, summaries, stop };
}

describe('an HTTP request', () => {
  it('fails with a status of 500 or more, or when its connection closes before the answer', async (t) => {
    const { summaries } = following(t);
    let closed = 0;
    const url = await serve(t, (request, response) => {
      response.on('close', () => closed++);
      if (request.url === '/hangs') return;
      response.statusCode = Number(request.url!.slice(1, 4));
      response.end();
    });
    for (const path of ['/200', '/404', '/500?token=secret', '/503']) await fetch(url + path);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('POST /hangs HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'connect');
    await turn();
    socket.destroy();
    await until('the last one is closed', () => closed === 5);
    await turn();
    assert.deepEqual(summaries(), [
      'ok: GET /200 200 after 0 ms',
      'ok: GET /404 404 after 0 ms',
      'failed: GET /500 500 after 0 ms',
      'failed: GET /503 503 after 0 ms',
      'failed: POST /hangs closed before the answer after 0 ms',
    ]);
  });

  it('fails the same way over HTTP/2', async (t) => {
    const { summaries } = following(t);
    const server = createHttp2Server((request, response) => {
      if (request.url === '/hangs') request.stream.close(2);
      else {
        response.statusCode = Number(request.url.slice(1));
        response.end('answer');
      }
    });
    t.after(() => server.close());
    const session = connectHttp2(`http://127.0.0.1:${await listen(server as never)}`);
    t.after(() => session.destroy());
    for (const path of ['/200', '/500', '/hangs']) {
      const stream = session.request({ ':path': path });
      stream.on('error', () => {}).resume();
      await new Promise((resolve) => stream.on('close', resolve));
    }
    await until('all have ended', () => summaries().length === 3);
    assert.deepEqual(summaries(), [
      'ok: GET /200 200 after 0 ms',
      'failed: GET /500 500 after 0 ms',
      'failed: GET /hangs closed before the answer after 0 ms',
    ]);
  });

  it('fails with an error that is reported in it, and is named by its type', async (t) => {
    const { context, summaries, time } = following(t);
    const url = await serve(t, async (_request, response) => {
      await turn();
      time.now += 1234;
      context.run({ 'user.id': '42' }, () => context.fail(new TypeError('secret')));
      context.fail(new RangeError('later'));
      response.end();
    });
    await (await fetch(url)).text();
    await until('it has ended', () => summaries().length === 1);
    assert.deepEqual(summaries(), ['failed: GET / 200 after 1.2 s, TypeError']);
  });
});

it('two control planes in a process see each request as the same piece of work, by one more listener for its end', async (t) => {
  const context = new WorkContext();
  const listeners: number[] = [];
  const url = await serve(t, (_request, response) => {
    listeners.push(response.listenerCount('close'));
    response.end();
  });
  await fetch(url);
  const ended = [0, 1].map(() => {
    const pieces: PieceOfWork[] = [];
    t.after(new WorkFollower(context).outcomes.watch({ ended: (piece) => void pieces.push(piece) }));
    return pieces;
  });
  await fetch(url);
  await until('both have seen the end', () => ended.every(({ length }) => length === 1));
  assert.equal(ended[0]![0], ended[1]![0]);
  assert.equal(listeners[1], listeners[0]! + 1);
});

describe('named work', () => {
  it('ends with its function or promise, and fails when that throws or rejects', async (t) => {
    const { context, summaries } = following(t);
    const broken = () => {
      throw new SyntaxError();
    };
    assert.equal(
      context.runNamed('sync', () => 7),
      7,
    );
    assert.throws(() => context.runNamed('throws', broken), SyntaxError);
    assert.equal(await context.runNamed('async', () => turn(8)), 8);
    await assert.rejects(
      context.runNamed('rejects', () => turn().then(broken)),
      SyntaxError,
    );
    assert.deepEqual(summaries(), [
      'ok: sync done after 0 ms',
      'failed: throws failed after 0 ms, SyntaxError',
      'ok: async done after 0 ms',
      'failed: rejects failed after 0 ms, SyntaxError',
    ]);
  });

  it('inside other work succeeds or fails by itself', (t) => {
    const { context, ended, summaries } = following(t);
    context.runNamed('outer', () => {
      context.runNamed('inner', () => context.fail(new Error()));
    });
    assert.deepEqual(summaries(), ['failed: inner failed after 0 ms, Error', 'ok: outer done after 0 ms']);
    assert.equal(ended[0]!.around, ended[1]);
  });

  it('does not fail by an error that comes after its end', async (t) => {
    const { context, ended, outcomes } = following(t);
    const late = Promise.withResolvers<void>();
    const after = context.runNamed('short', () => {
      return { wait: late.promise.then(() => [context.fail(new Error()), outcomes.current()]) };
    });
    late.resolve();
    assert.equal((await after.wait)[1], undefined);
    assert.equal(ended[0]!.failure, undefined);
  });
});

it('a timer that a request has left behind fails no other request', async (t) => {
  const { context, summaries } = following(t);
  let ticks = 0;
  const url = await serve(t, async (incoming, response) => {
    if (incoming.url === '/starts') {
      const timer = setInterval(() => {
        context.fail(new Error('of the timer'));
        ticks++;
      }, 1);
      t.after(() => clearInterval(timer));
    } else {
      const before = ticks;
      await until('the timer has run', () => ticks > before);
    }
    response.end();
  });
  await fetch(`${url}/starts`);
  await until('the first request has ended', () => summaries().length === 1);
  await fetch(`${url}/other`);
  await until('the second has', () => summaries().length === 2);
  assert.match(summaries()[1]!, /^ok: GET \/other /);
});

it('an uncaught error fails the work in which it happened', (t) => {
  const { context, host, outcomes } = following(t);
  context.runNamed('job', () => {
    host.emit('uncaughtExceptionMonitor', new TypeError(), 'uncaughtException');
    assert.ok(outcomes.current()?.failure?.error instanceof TypeError);
  });
  host.emit('uncaughtExceptionMonitor', new TypeError(), 'unhandledRejection');
});

it('nothing is followed once the last listener has left', async (t) => {
  const { context, host, outcomes, ended, stop } = following(t);
  stop();
  assert.deepEqual(host.eventNames(), []);
  assert.equal(context.observer, undefined);
  const url = await serve(t, (_request, response) => void response.end(String(outcomes.current())));
  assert.equal(await (await fetch(url)).text(), 'undefined');
  context.runNamed('job', () => context.fail(new Error()));
  assert.deepEqual(ended, []);
});

function followingUncaught() {
  const host = new EventEmitter();
  const seen: unknown[] = [];
  const follow = () => followUncaught(host as unknown as NodeJS.Process, (error) => void seen.push(error));
  return { host, seen, follow };
}

it('rejections are seen while the application listens for them, and only then is there a listener', () => {
  const { host, seen, follow } = followingUncaught();
  const rejections = () => host.listenerCount('unhandledRejection');
  follow();
  assert.equal(rejections(), 0, 'a listener would keep the process alive');
  const own = () => undefined;
  host.on('unhandledRejection', own).on('unhandledRejection', own);
  host.emit('unhandledRejection', 'first');
  host.off('unhandledRejection', own);
  host.emit('unhandledRejection', 'second');
  host.off('unhandledRejection', own);
  assert.equal(rejections(), 0);
  host.once('unhandledRejection', own);
  host.emit('unhandledRejection', 'third');
  assert.equal(rejections(), 0);
  host.on('unhandledRejection', own).removeAllListeners('unhandledRejection');
  assert.equal(rejections(), 0);
  assert.deepEqual(seen, ['first', 'second', 'third']);
});

it('a listener that the application has already is found', () => {
  const { host, seen, follow } = followingUncaught();
  host.on('unhandledRejection', () => undefined);
  const unfollow = follow();
  host.emit('unhandledRejection', 'rejected');
  unfollow();
  host.emit('unhandledRejection', 'later');
  assert.deepEqual(seen, ['rejected']);
  assert.deepEqual(host.eventNames(), ['unhandledRejection']);
});

it('several that follow do not keep each other listening', () => {
  const { host, follow } = followingUncaught();
  const unfollow = [follow(), follow()];
  const own = () => undefined;
  host.on('unhandledRejection', own);
  assert.equal(host.listenerCount('unhandledRejection'), 3);
  host.off('unhandledRejection', own);
  assert.equal(host.listenerCount('unhandledRejection'), 0);
  for (const end of unfollow) end();
  assert.deepEqual(host.eventNames(), []);
});
