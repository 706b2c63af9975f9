import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultTextMapGetter, propagation, ROOT_CONTEXT, type TextMapPropagator } from '@opentelemetry/api';
import { ticketIn } from '../../src/access/tickets/ticket.ts';
import { loadPackageOf } from '../../src/assembly/register/otel-packages.ts';
import fc from '../support/fast-check.ts';

const { W3CBaggagePropagator }: { W3CBaggagePropagator: new () => TextMapPropagator } = loadPackageOf(
  '@opentelemetry/sdk-node',
  '@opentelemetry/core',
);
const propagator = new W3CBaggagePropagator();

function asPropagated(baggage: string): string | undefined {
  const context = propagator.extract(ROOT_CONTEXT, { baggage }, defaultTextMapGetter);
  return propagation.getBaggage(context)?.getEntry('rdcp.debug')?.value;
}

for (const [what, baggage, expected] of [
  ['alone', 'rdcp.debug=abc', 'abc'],
  ['among others, with spaces and properties', 'user.id=42 , rdcp.debug = a.b-c_d ;ttl=3, x=y', 'a.b-c_d'],
  ['percent-encoded', 'rdcp%2Edebug=a%2Eb%3D', 'a.b='],
  ['doubled: the last one counts', 'rdcp.debug=first,rdcp.debug=last', 'last'],
  ['malformed in one place', 'rdcp.debug=good,rdcp.debug=%E0%A4%A', 'good'],
  ['with no value', 'rdcp.debug=,rdcp.debug', undefined],
  ['with another name', 'rdcp.debugger=a,xrdcp.debug=b,__proto__=c', undefined],
  ['longer than an entry may be', `rdcp.debug=${'a'.repeat(4096)}`, undefined],
  ['at the end of 8 KiB', `${'a=1,'.repeat(100)}x=${'b'.repeat(4000)},y=${'b'.repeat(3000)},rdcp.debug=abc`, 'abc'],
] as const) {
  test(`the ticket of a baggage header is found ${what}`, () => {
    assert.equal(ticketIn(baggage), expected);
    assert.equal(asPropagated(baggage), expected, 'as by the propagator');
  });
}

test('a header longer than 8 KiB is not read', () => {
  assert.equal(ticketIn(`rdcp.debug=abc,x=${'y'.repeat(8192)}`), undefined);
});

test('a header is read as the propagator reads it', () => {
  const name = fc.constantFrom('rdcp.debug', 'rdcp%2edebug', ' rdcp.debug ', 'other', '%', '');
  const value = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('a%20b', '%zz', ' c ', '', '%'));
  const entry = fc.tuple(name, fc.constantFrom('=', ' = ', ';', ''), value).map((parts) => parts.join(''));
  const header = fc.array(entry, { maxLength: 6 }).map((entries) => entries.join(','));
  fc.assert(fc.property(header, (text) => ticketIn(text) === asPropagated(text)));
});
