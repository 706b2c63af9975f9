import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createNoopMeter, type Meter } from '@opentelemetry/api';
import { KNOWN } from '../../src/assembly/register/environment.ts';
import { createInstruments } from '../../src/calls/metrics/instruments.ts';
import { DROP_REASONS } from '../../src/gate/drops.ts';
import * as semconv from '../../src/otel/semconv.ts';
import { CONNECTION_OPTIONS } from '../../src/tools/cli/connection.ts';
import { eventOf } from '../../src/trail/notify/event.ts';
import { AUDIT_ACTIONS, CONSOLE_PATHS, PATHS, SCOPES, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { ERROR_STATUS } from '../../src/wire/errors.ts';
import { ROOT } from '../support/built.ts';
import { codeIn, tableOf } from './tables.ts';

const sorted = (names: Iterable<string>) => [...names].sort();
const constants = (prefix: string) =>
  Object.entries(semconv).flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : []));

/** The instruments that are made, as a table has them. */
function instruments(): string[][] {
  const KINDS: Record<string, string> = {
    createCounter: 'counter',
    createObservableCounter: 'counter',
    createObservableGauge: 'gauge',
    createObservableUpDownCounter: 'up-down counter',
    createHistogram: 'histogram',
  };
  const made: string[][] = [];
  const meter = new Proxy(createNoopMeter(), {
    get: (target, method: keyof Meter & string) => {
      const kind = KINDS[method];
      if (kind === undefined) return Reflect.get(target, method).bind(target);
      return (name: string, { unit }: { unit?: string }) => {
        const series = `${name.replaceAll('.', '_')}${kind === 'counter' ? '_total' : ''}`;
        made.push([name, unit === undefined ? kind : `${kind}, \`${unit}\``, series]);
        return {};
      };
    },
  });
  createInstruments({
    telemetry: { meter },
    gate: { categories: () => [], droppedTotal: () => 0 },
    measurements: { callsTotal: () => 0, callsPerSecond: () => 0 },
    schedule: () => () => {},
  }).close();
  return made;
}

describe('the tables of docs/telemetry.md', () => {
  const METRICS = tableOf('docs/telemetry.md', '| metric |');

  it('have every metric with its kind, its unit and its name in Prometheus', () => {
    const documented = METRICS.map(([metric, kind = '', , series]) => [
      ...codeIn(metric),
      kind.split(': ')[0]!.replace(/ `delivered`.*/, ''),
      ...codeIn(series),
    ]);
    assert.deepEqual(documented.sort(), instruments().sort());
    assert.deepEqual(sorted(documented.map(([name = '']) => name)), sorted(constants('METRIC_')));
  });

  it('have every attribute, on things that there are', () => {
    const rows = tableOf('docs/telemetry.md', '| attribute | on |');
    const attributes = rows.flatMap(([names]) => codeIn(names));
    assert.deepEqual(sorted(attributes), sorted(constants('ATTR_')));
    const subjects = new Set([...constants('METRIC_'), ...constants('EVENT_'), 'category.span()']);
    for (const [, on] of rows) for (const name of codeIn(on)) assert.ok(subjects.has(name), name);
    const ofMetrics = METRICS.flatMap(([, , names]) => codeIn(names));
    for (const name of ofMetrics) assert.ok(attributes.includes(name) || name === 'metrics.tenantAttribute', name);
  });

  it('name both events', () => {
    const text = readFileSync(join(ROOT, 'docs/telemetry.md'), 'utf8');
    for (const event of constants('EVENT_')) assert.ok(text.includes(`\`${event}\``), event);
  });
});

describe('the tables of docs/endpoint.md', () => {
  it('have every error code with its status', () => {
    const documented = tableOf('docs/endpoint.md', '| `code` |').map(([code, status]) => [
      ...codeIn(code),
      Number(status),
    ]);
    assert.deepEqual(Object.fromEntries(documented), ERROR_STATUS);
    assert.equal(documented.length, Object.keys(ERROR_STATUS).length);
  });

  it('have every path', () => {
    const documented = tableOf('docs/endpoint.md', '| method and path |').flatMap(([paths]) => codeIn(paths));
    const paths = documented.map((path) => path.replace(/^(?:GET|POST) /, '').replace('…', '/rdcp/v1'));
    const { page, code, session } = CONSOLE_PATHS;
    const served = [...Object.values(PATHS), ...Object.values(TOKEN_PATHS), page, code, session];
    assert.deepEqual(sorted(new Set(paths)), sorted(served));
  });
});

for (const [document, heading, all] of [
  ['audit.md', 'action', AUDIT_ACTIONS],
  ['credentials.md', 'scope', SCOPES],
  ['debug-lines.md', '`rdcp.reason`', DROP_REASONS],
] as const) {
  it(`docs/${document} has every ${heading}`, () => {
    const documented = tableOf(`docs/${document}`, `| ${heading} |`).flatMap(([names]) => codeIn(names));
    assert.deepEqual(sorted(documented), sorted(all));
  });
}

it('docs/notifications.md has every event', () => {
  const outcomes = ['success', 'failed', 'denied'] as const;
  const sent = AUDIT_ACTIONS.flatMap((action) =>
    ['budget', undefined].flatMap((reason) =>
      outcomes.map((outcome) => eventOf({ action, outcome, reason } as Parameters<typeof eventOf>[0])),
    ),
  );
  const documented = tableOf('docs/notifications.md', '| event | is sent').flatMap(([event]) => codeIn(event));
  const events = new Set(['failure.recorded', ...sent.filter((event) => event !== undefined)]);
  assert.deepEqual(sorted(documented), sorted(events));
});

describe('the tables of docs/tail.md', () => {
  const source = readFileSync(join(ROOT, 'src/wire/streams.ts'), 'utf8');
  /** The events of a union, each with the fields of its data that are declared there. */
  const eventsOf = (union: string) => {
    const [, text = ''] = new RegExp(`type ${union} =([^]*?);\\n(?:\\n|$)`).exec(source) ?? [];
    return [...text.matchAll(/event: '(\w+)'; readonly data: (\w+)/g)].map(([, event = '', type = '']) => {
      const [, body = ''] = new RegExp(`interface ${type} [^{]*\\{\\n([^]*?)\\n\\}`).exec(source) ?? [];
      return { event, fields: [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, field = '']) => field) };
    });
  };
  const documented = (union: string, heading: string) => {
    const rows = tableOf('docs/tail.md', '| event | data |', heading);
    assert.deepEqual(
      sorted(rows.flatMap(([event]) => codeIn(event))),
      sorted(eventsOf(union).map(({ event }) => event)),
    );
    return new Map(rows.map(([event, data]) => [codeIn(event)[0], codeIn(data).map((code) => code.split(':')[0])]));
  };

  it('have every event of a tail with its fields', () => {
    const rows = documented('TailEvent', '## Read the lines');
    for (const { event, fields } of eventsOf('TailEvent')) {
      assert.ok(fields.length > 0, event);
      for (const field of fields) assert.ok(rows.get(event)?.includes(field), `${event}: ${field}`);
    }
  });

  it('have every event of the state with its own fields', () => {
    const rows = documented('StateEvent', '## Watch the state');
    const own = { fleet: ['members'], rates: ['callsPerSecond', 'categories'], snapshot: ['revision', 'fleet'] };
    for (const [event, fields] of Object.entries(own)) {
      for (const field of fields) assert.ok(rows.get(event)?.includes(field), `${event}: ${field}`);
    }
  });
});

describe('the environment variables of docs/services.md', () => {
  const documented = tableOf('docs/services.md', '| variable |').flatMap(([names]) => codeIn(names));

  it('are all that this package has of its own', () => {
    assert.deepEqual(sorted(documented.filter((name) => name.startsWith('RDCP_'))), sorted(KNOWN));
  });

  it('are all that the source reads', () => {
    const OF_NODE = ['NODE_ENV', 'NODE_OPTIONS'];
    const source = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
    const named = source.flatMap((text) => [
      ...[...text.matchAll(/\b(?:env|env\?)\.([A-Z][A-Z_]+)\b/g)].map(([, name = '']) => name),
      ...[...text.matchAll(/['`](OTEL_[A-Z_]+)['`]/g)].map(([, name = '']) => name),
      ...[...text.matchAll(/'(RDCP_(?:CONFIG|HOST|PORT|STORE|URL|PROFILE|(?:SERVER_)?API_KEY|API_KEYS_FILE))'/g)].map(
        ([, name = '']) => name,
      ),
    ]);
    const OWN_CATEGORY = 'OTEL_DIAG';
    const read = new Set(named.filter((name) => ![...OF_NODE, OWN_CATEGORY].includes(name)));
    for (const name of read) assert.ok(documented.includes(name), `${name} is read, and not documented`);
    const everything = source.join('\n');
    const signals = /^OTEL_(?:EXPORTER_OTLP_)?(?:LOGS|METRICS|TRACES)_(?:EXPORTER|ENDPOINT)$/;
    for (const name of documented) {
      assert.ok(everything.includes(name) || signals.test(name), `${name} is documented, and not read`);
    }
  });
});

it('the options of every command name the variables that they replace', () => {
  const documented = tableOf('docs/services.md', '| variable |').flatMap(([names]) => codeIn(names));
  const named = Object.values(CONNECTION_OPTIONS).flatMap(({ help }) => help.match(/\bRDCP_[A-Z_]+/g) ?? []);
  assert.ok(named.length > 3);
  for (const name of named) assert.ok(documented.includes(name), name);
});
