// What a ticket costs a request of a service that accepts tickets of others: one that was seen before, one that is new, one that
// is forged, one that is forged among too many.

import { generateKeyPairSync } from 'node:crypto';
import { type Candidate, internals, ns, publish, time, verdict } from './measurement.ts';

const { issueTicket, parseConfig, openTickets, systemClock } = await internals();

const ISSUER = 'https://orders.example';
/** More than a reader remembers, so that in turn each is new. */
const TICKETS = 2500;

const pair = () => generateKeyPairSync('ed25519');
const { privateKey, publicKey } = pair();
const tickets = (key = privateKey) => {
  const signer = { issuer: ISSUER, audience: 'rdcp', current: () => ({ key, header: { alg: 'EdDSA', kid: 'k1' } }) };
  const now = Date.now();
  const about = { categories: ['DATABASE', 'HTTP_CLIENT'], expiresAt: now + 3_600_000 };
  return Array.from(
    { length: TICKETS },
    (_, at) => issueTicket({ ...about, id: `activation-${at}` }, now, signer).value,
  );
};

/** @param monotonic by which wrong signatures are counted in each second */
function reader(monotonic = systemClock.monotonic) {
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const { security } = parseConfig({ security: { tickets: { issuers: [{ issuer: ISSUER, publicKey: pem }] } } });
  const condition = { begin() {}, end() {} };
  return openTickets(security.tickets!, {
    clock: { now: systemClock.now, monotonic },
    delay: () => () => {},
    conditions: { watch: () => condition },
    ownIssuer: undefined,
    refused: () => {},
  }).reader;
}

function inTurn(values: readonly string[], read: (value: string) => unknown, isValid: boolean) {
  let next = 0;
  return () => {
    next = next === values.length - 1 ? 0 : next + 1;
    if ((read(values[next]!) !== undefined) !== isValid) throw new Error('a ticket was taken for another kind');
  };
}

const valid = tickets();
const forged = tickets(pair().privateKey);
const [seen, first] = [reader(), reader()];
const flooded = reader(() => 0);
let second = 0;
const unlimited = reader(() => {
  second += 1000;
  return second;
});

const SEEN = 'a ticket that was seen before';
const NEW = 'a ticket that is new, signed with Ed25519';
const FORGED = 'a forged ticket';
const FLOOD = 'a forged ticket among more than 100 in a second';

const candidates: Candidate[] = [
  { name: SEEN, call: inTurn(valid.slice(0, 100), (value) => seen.read(value), true) },
  { name: NEW, call: inTurn(valid, (value) => first.read(value), true) },
  { name: FORGED, call: inTurn(forged, (value) => unlimited.read(value), false) },
  { name: FLOOD, call: inTurn(forged, (value) => flooded.read(value), false) },
];

const timings = await time(candidates);
const within = (name: string, microseconds: number) => {
  const { p50 } = timings.find((timing) => timing.name === name)!;
  return verdict(name, `<= ${microseconds} µs`, ns(p50), p50 <= microseconds * 1000, p50);
};
publish({ timings, verdicts: [within(SEEN, 1), within(NEW, 200), within(FORGED, 50), within(FLOOD, 50)] });
