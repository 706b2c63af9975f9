// In a process of its own: it patches loggers.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { LEVELS, LOGGERS, type LoggerKind } from './loggers.ts';

/** A function of `util.debuglog` that the application has kept is Node's own from then on. */
const STAYS_OURS = ([name]: readonly [string, unknown]) => name !== 'util.debuglog';
const KINDS = Object.entries<LoggerKind>(LOGGERS);
const messagesOf = (lines: readonly unknown[]) =>
  lines.map((line) => /said (\w+)/.exec(inspect(line, { depth: 9 }))?.[1]);

describe('after the adoption a logger does what it does by itself, and when that begins again what was switched meanwhile', () => {
  for (const [name, kind] of KINDS.filter(STAYS_OURS)) {
    it(name, async (t) => {
      for (const own of new Set([kind.own[0]!, kind.own.at(-1)!])) {
        const { bench, category, methods, written, isEnabled } = await kind.adopt(t, { level: own });
        const say = () => {
          for (const level of LEVELS) methods()[level]?.(`said ${level}`);
          const lines = [written(), bench.records.splice(0)].map(messagesOf);
          return [...lines, LEVELS.filter((level) => level in methods() && isEnabled?.(level) === true)];
        };
        const native = say();
        const switches = {
          on: () => bench.turn(category, true),
          'at info': () => bench.turn(category, true, 'info'),
          off: () => bench.turn(category, false),
        };
        const expected = Object.entries(switches).map(([state, turn]) => {
          turn();
          return { state, turn, said: say() };
        });
        assert.ok(new Set(expected.map(({ said }) => String(said))).size > 1);
        for (const { state, turn, said } of expected) {
          bench.leave();
          turn();
          const before = bench.counted(category);
          assert.deepEqual([say(), bench.counted(category)], [native, before]);
          bench.rejoin();
          assert.deepEqual(say(), said, `${own}, ${state}`);
        }
        bench.leave();
        assert.deepEqual([say(), bench.warnings], [native, []]);
      }
    });
  }
});

describe('an adoption that ends in the middle of a line', () => {
  for (const [name, { own, adopt }] of KINDS) {
    it(name, async (t) => {
      let ended = false;
      const { bench, category, methods, written } = await adopt(t, {
        level: own.includes('info') ? 'info' : own.at(-1),
        onWrite: () => {
          if (ended) return;
          ended = true;
          bench.leave();
          methods().debug?.('said after');
          methods().info?.('said i');
        },
      });
      bench.turn(category, true);
      ended = false;
      methods().debug?.('said d');
      methods().debug?.('said dropped');
      // The callbacks of nested writes take several turns.
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      const lines = messagesOf([...written(), ...bench.records.splice(0)]);
      // debug and util.debuglog write by our outputs, which end no adoption.
      const expected = ended ? ['d', ...('info' in methods() ? ['i'] : [])] : ['d', 'dropped'];
      assert.deepEqual(lines, expected);
      assert.deepEqual([bench.warnings, bench.errors], [[], []]);
    });
  }
});
