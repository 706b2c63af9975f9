// A category that is off, beside what people use today, and beside the gates that were tried and rejected.
//
// What a call costs is its loop less the empty loop. `do_not_optimize` is itself a store, as dear as the check, so calls
// whose result must be kept alive have an empty loop with that store of their own. The store also keeps V8 from merging
// the checks of two turns: for all it knows, it may have changed what the check reads.

import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { debuglog } from 'node:util';
import createDebug from 'debug';
import { do_not_optimize } from 'mitata';
import pino from 'pino';
import winston from 'winston';
import { type Candidate, compare, internals, ns, publish, time, verdict } from './measurement.ts';
import { rejectedGates } from './rejected-gates.ts';

const { GateCore } = await internals();

let emitted = 0;
let next = 0;
const gate = new GateCore();
const category = gate.category('CHECKOUT');
const onBefore = gate.category('ON_BEFORE');
const many = Array.from({ length: 64 }, (_, index) => gate.category(`C${index}`));
const attachment = gate.attach({
  sink: {
    emit: (_category, message) => {
      emitted += message.length;
    },
    span: (_category, _name, fn) => fn(),
  },
  maxCategories: 4096,
  registered: () => undefined,
  failed: (_category, error) => {
    throw error;
  },
});

const EMPTY = 'empty loop';
const EMPTY_KEPT = 'empty loop, a constant kept';
const EMPTY_TURN = 'empty loop, one of 64 kept';
const ENABLED = '.enabled, kept';
const DEBUG = ".debug('m', { a: 1 })";

const debugOff = createDebug('checkout');
const pinoOff = pino({ level: 'info' }, pino.destination({ dest: '/dev/null', sync: true }));
const winstonOff = winston.createLogger({ level: 'info', transports: [new winston.transports.Console()] });
const debuglogOff = debuglog('checkout');
const channelOff = channel('checkout');

const ours: Candidate[] = [
  { name: EMPTY, call: () => {} },
  { name: EMPTY_KEPT, call: () => do_not_optimize(false) },
  { name: ENABLED, call: () => do_not_optimize(category.enabled) },
  { name: DEBUG, call: () => category.debug('m', { a: 1 }) },
  { name: ".debug('m', () => ({ a: next }))", call: () => category.debug('m', () => ({ a: next })) },
  { name: EMPTY_TURN, call: () => do_not_optimize(many[next++ & 63]) },
  {
    name: '.debug of 64 categories in turn',
    call: () => {
      const one = many[next++ & 63]!;
      do_not_optimize(one);
      one.debug('m', { a: 1 });
    },
  },
];

const peers: Candidate[] = [
  { name: 'debug', call: () => debugOff('m', { a: 1 }) },
  { name: 'pino', call: () => pinoOff.debug({ a: 1 }, 'm') },
  { name: 'winston', call: () => void winstonOff.debug('m', { a: 1 }) },
  { name: 'util.debuglog', call: () => debuglogOff('m', { a: 1 }) },
  { name: 'diagnostics_channel hasSubscribers, kept', call: () => do_not_optimize(channelOff.hasSubscribers) },
];

const timings = await time([...ours, ...peers, ...rejectedGates(new AsyncLocalStorage())]);

// Last, because it changes what V8 has learnt of `debug`: once any category was on, a call may lead somewhere, and an
// attribute object written in the call is really made.
attachment.setBase(1, true);
for (let i = 0; i < 1e6; i++) onBefore.debug('m', { a: i });
attachment.setBase(1, false);
do_not_optimize(emitted);
const attributes = { a: 1 };
const afterwards = await time([
  {
    name: ".debug('m', { a: 1 }), in a process where a category was on",
    call: () => category.debug('m', { a: 1 }),
  },
  {
    name: ".debug('m', attributes), in a process where a category was on",
    call: () => category.debug('m', attributes),
  },
]);

const above = (name: string, empty: string) => compare(timings, [name, empty], (one, other) => one - other);
const slower = (name: string) =>
  compare(timings, [name, DEBUG, EMPTY], (peer, debug, empty) => (peer - empty) / (debug - empty));

publish({
  timings: [...timings, ...afterwards],
  verdicts: [
    ...[above(ENABLED, EMPTY_KEPT), above(DEBUG, EMPTY)].map((cost, at) =>
      verdict(`off: ${[ENABLED, DEBUG][at]}`, '<= 0.5 ns above the empty loop', ns(cost), cost <= 0.5, cost),
    ),
    ...[['debug', 20] as const, ['pino', 8] as const, ['winston', 1000] as const].map(([name, times]) =>
      verdict(
        `off: ${name} beside ${DEBUG}`,
        `>= ${times} times slower`,
        `${slower(name).toFixed(0)} times`,
        slower(name) >= times,
        slower(name),
      ),
    ),
  ],
});
