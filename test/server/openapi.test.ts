import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ServerSentEventParser } from '../../src/tools/client/server-sent-events.ts';
import { CONSOLE_PATHS, PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { ANY_CATEGORY_NAME } from '../../src/wire/names.ts';
import { DURATION_SCHEMA } from '../../src/wire/time.ts';
import { built } from '../support/built.ts';
import { CATEGORIES } from '../support/categories.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { send as ask, KEYS, RECORDS, type TestServer } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { ACCESS_TOKEN, askToken, exchangeKey, operator, post, startTokenServer, tokenSettings } from './tokens.ts';

// biome-ignore lint/suspicious/noExplicitAny: a JSON document, read as the tests need it
type Json = any;

interface Whole extends Pick<TestServer, 'url' | 'request'> {
  /** What the service says of its own faults. */
  readonly problems: () => readonly string[];
}

/** A service that has every endpoint. */
async function startWhole(t: TestContext): Promise<Whole> {
  const folder = newFolder(t);
  const signingKeyFile = join(folder, 'signing.pem');
  writeFileSync(signingKeyFile, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { secret: _, ...settings } = tokenSettings;
  const many = 1_000_000;
  const { url, lines, infos } = await startService(t, {
    console: true,
    alerts: [{ name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['HTTP'], for: '15m' }],
    store: `sqlite:${join(folder, 'state.db')}`,
    categories: Object.fromEntries(CATEGORIES.map((name) => [name, {}])),
    security: { level: 'standard', apiKeys: RECORDS, tokens: { ...settings, signingKeyFile } },
    limits: { controlPerMinute: many, readPerMinute: many, anonymousPerMinute: many, maxConnectionsPerAddress: 500 },
    controls: { maxDuration: '3650d', maxTemporaryPerTenant: many },
  });
  return {
    url,
    problems: () => lines.filter((line) => !infos.includes(line)),
    request: (path, request) => ask(url + path, request),
  };
}

const documentOf = async (server: Pick<TestServer, 'request'>): Promise<Json> =>
  (await server.request<Json>(PATHS.openapi, { key: 'discovery' })).body;

test('the document is valid OpenAPI 3.1, and says of each operation what it does and takes', async () => {
  const document: Json = JSON.parse(readFileSync(built('openapi.json'), 'utf8'));
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  const operations: Json[] = Object.values<Json>(document.paths).flatMap((methods) => Object.values(methods));
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  for (const { operationId, summary, responses, parameters } of operations) {
    assert.ok(summary.length > 10, operationId);
    assert.ok(responses[200] !== undefined && responses.default !== undefined, operationId);
    for (const { $ref, description } of parameters) assert.ok($ref ?? description, operationId);
  }
  // Every schema is referred to, and what is referred to is there.
  const referred = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(referred)].sort(), Object.keys(document.components.schemas).sort());
  for (const [name, { description, anyOf }] of Object.entries<Json>(document.components.schemas)) {
    assert.ok(description ?? anyOf, `${name} has a description`);
  }
});

test('a server has the document of its own endpoints, for those who may discover', async (t) => {
  const whole = await startWhole(t);
  const all = Object.keys((await documentOf(whole)).paths);
  const { code, session } = CONSOLE_PATHS;
  assert.deepEqual(all.sort(), [...Object.values(PATHS), ...Object.values(TOKEN_PATHS), code, session].sort());
  const { body: known } = await whole.request<Json>(PATHS.wellKnown);
  for (const path of Object.values<string>({ ...known.endpoints, ...known.otelrdcp_endpoints })) {
    assert.ok(all.includes(path), path);
  }
  const small = await startTokenServer(
    t,
    { level: 'basic', tokens: undefined },
    { config: { console: false, tail: false } },
  );
  const few = Object.keys((await documentOf(small)).paths);
  const { tail: _tail, failures: _failures, alerts: _alerts, ...paths } = PATHS;
  assert.deepEqual(few.sort(), Object.values(paths).sort());
  assert.equal((await whole.request(PATHS.openapi, { key: 'status' })).status, 403);
  assert.equal((await whole.request(PATHS.openapi)).status, 401);
});

/** Every object of the schemas takes the members that it names, and no other: what is answered beyond is not documented. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const own = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const names = own.type === 'object' && own.properties !== undefined && own.additionalProperties === undefined;
  return names ? { ...own, additionalProperties: false } : own;
}

interface Operation {
  readonly path: string;
  readonly method: 'get' | 'post';
  readonly operation: Json;
  /** Whether a body or query is as documented. */
  readonly takes: ValidateFunction;
  readonly input: Json;
  /** @throws where the answer is not as documented */
  assertAnswer(status: number, mediaType: string, body: unknown): void;
}

function operationsOf(document: Json): Operation[] {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'api:', components: { schemas: closed(document.components.schemas) } });
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (schema: Json) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"api:#/components');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate;
  };
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    (['get', 'post'] as const)
      .filter((method) => methods[method] !== undefined)
      .map((method): Operation => {
        const operation = methods[method];
        const query = operation.parameters.filter((parameter: Json) => parameter.in === 'query');
        const [content] = Object.values<Json>(operation.requestBody?.content ?? {});
        const input = content?.schema ?? {
          type: 'object',
          properties: Object.fromEntries(query.map(({ name, schema }: Json) => [name, schema])),
          required: query.filter(({ required }: Json) => required).map(({ name }: Json) => name),
          additionalProperties: false,
        };
        return {
          path,
          method,
          operation,
          input,
          takes: validatorOf(input),
          assertAnswer(status, mediaType, body) {
            const named = operation.responses[status] ?? operation.responses.default;
            const response = named.$ref ? document.components.responses[named.$ref.split('/').at(-1)] : named;
            const described = response.content[mediaType];
            assert.ok(described !== undefined, `${operation.operationId}: ${status} as ${mediaType}`);
            const validate = validatorOf(described['x-event'] ?? described.schema);
            const problem = () => `${operation.operationId} ${status}: ${JSON.stringify([validate.errors, body])}`;
            assert.ok(validate(body), problem());
          },
        };
      }),
  );
}

/** What a request for tokens holds that is granted. */
const OF_A_CLIENT: Readonly<Record<string, string>> = {
  ...operator,
  subject_token: KEYS.operator,
  subject_token_type: ACCESS_TOKEN,
  token: KEYS.operator,
};

/** Values that a schema takes, but for what several members together must hold. */
function valuesOf(schema: Json): fc.Arbitrary<unknown> {
  const { type, pattern, minLength = 0, maxLength = 60, minimum = -1e9, maximum = 1e9 } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  // Categories that there are: of other names the answer is 404.
  if (pattern === ANY_CATEGORY_NAME.source || pattern === '^[A-Z][A-Z0-9_,-]*$') return fc.constantFrom(...CATEGORIES);
  if (JSON.stringify(schema.anyOf) === JSON.stringify(DURATION_SCHEMA.anyOf)) {
    return fc.oneof(fc.integer({ min: 1, max: 86_400 }), fc.stringMatching(/^0?[1-9]\d{0,2}[smhd]$/));
  }
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valuesOf));
  if (schema.format === 'date-time')
    return fc.date({ noInvalidDate: true, max: new Date(4e12) }).map((date) => date.toISOString());
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer' || type === 'number')
    return fc.integer({ min: Math.max(minimum, -1e9), max: Math.min(maximum, 1e9) });
  if (type === 'array') {
    return fc.uniqueArray(valuesOf(schema.items), { minLength: schema.minItems ?? 0, maxLength: 3 });
  }
  if (type === 'object') {
    const { where, ...properties } = schema.properties ?? {};
    const members = Object.entries<Json>(properties).map(([name, of]) => [
      name,
      name in OF_A_CLIENT ? fc.oneof(fc.constant(OF_A_CLIENT[name]), valuesOf(of)) : valuesOf(of),
    ]);
    if (where !== undefined) members.push(['where', fc.constantFrom('message == "x"', 'duration > 5')]);
    if (schema.propertyNames !== undefined) {
      return fc.dictionary(fc.constantFrom('user.id', 'http.route'), fc.stringMatching(/^[a-z/]{1,9}\*?$/), {
        minKeys: 1,
        noNullPrototype: true,
      });
    }
    return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [], noNullPrototype: true });
  }
  if (pattern !== undefined && !pattern.includes('\\P')) return fc.stringMatching(new RegExp(pattern, 'u'));
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) });
}

/** The same with one thing wrong. */
function spoilt(value: Json): fc.Arbitrary<unknown> {
  const names = Object.keys(value);
  return fc.oneof(
    fc.string({ minLength: 1 }).map((name) => ({ ...value, [name]: 1 })),
    fc.constantFrom(...names, 'options').chain((name) => fc.jsonValue().map((wrong) => ({ ...value, [name]: wrong }))),
    fc.constantFrom(...names, 'x').map((name) => ({ ...value, [name]: undefined })),
  );
}

const FORM = 'application/x-www-form-urlencoded';
const isForm = ({ operation }: Operation) => operation.requestBody?.content[FORM] !== undefined;

/** Sends an input; of a stream, reads what comes first. */
async function send(server: Whole, sent: Operation, input: Json) {
  const { path, method, operation } = sent;
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  // What a JSON body holds need not be text.
  const pairs = () => new URLSearchParams(given.map(([name, value]) => [name, `${value}`])).toString();
  const query = method === 'get' && given.length > 0 ? `?${pairs()}` : '';
  const response = await fetch(server.url + path + query, {
    method: method.toUpperCase(),
    headers: {
      ...(!isForm(sent) && { 'X-RDCP-API-Key': KEYS.admin }),
      ...(operation.requestBody && { 'Content-Type': isForm(sent) ? FORM : 'application/json' }),
    },
    ...(operation.requestBody && { body: isForm(sent) ? pairs() : JSON.stringify(input) }),
  });
  const mediaType = response.headers.get('content-type')?.split(';')[0] ?? '';
  if (mediaType !== 'text/event-stream') {
    const text = await response.text();
    assert.ok(!Object.values(KEYS).some((key) => text.includes(key)), 'no credential is shown');
    return { status: response.status, mediaType, body: JSON.parse(text) };
  }
  const [reader, parser, decoder] = [response.body!.getReader(), new ServerSentEventParser(), new TextDecoder()];
  for (;;) {
    const { value } = await reader.read();
    const [first] = parser.read(decoder.decode(value, { stream: true }));
    if (first === undefined) continue;
    await reader.cancel();
    const { event, id, data } = first as Json;
    const body = {
      event,
      data: JSON.parse(data),
      ...(id !== undefined && operation.operationId === 'watch' && { id }),
    };
    return { status: response.status, mediaType, body };
  }
}

/** Whose input is a credential: one that is made up is refused, as documented. */
const CREDENTIALS = ['redeemConsoleCode', 'approve', 'issueToken', 'revokeToken'];
/** Refusals of inputs that are documented, by the state or the configuration of the server. */
const ALLOWED = ['cursor', 'duration', 'past', 'since'].map((field) => `RDCP_MALFORMED_REQUEST ${field}`);

inBoth('every operation takes what its document says and no other, and all answers are as documented', async (t) => {
  const server = await startWhole(t);
  for (const operation of operationsOf(await documentOf(server))) {
    const { operationId } = operation.operation;
    const hasInput = Object.keys(operation.input.properties).length > 0;
    // A forecast takes its time; one of more than a minute is refused.
    const shorten = (input: Json) => (operationId === 'forecast' ? { ...input, duration: 1 } : input);
    const times = operationId === 'forecast' ? 3 : hasInput ? runs(250) : 3;
    const valid = valuesOf(operation.input)
      .map(shorten)
      .filter((input) => operation.takes(input));
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(valid, async (input) => {
        const { status, mediaType, body } = await send(server, operation, input);
        operation.assertAnswer(status, mediaType, body);
        if (status === 200) accepted += 1;
        else if (CREDENTIALS.includes(operationId)) assert.ok(status < 500);
        else {
          const { code, details } = body.error;
          const refusal = `${code} ${details?.field}`;
          const allowed = ALLOWED.includes(refusal) || /^RDCP_MALFORMED_REQUEST (?:filter|target|when)/.test(refusal);
          assert.ok(status < 500 && allowed, `${operationId}: ${JSON.stringify([input, body])}`);
        }
      }),
      { numRuns: times },
    );
    if (!CREDENTIALS.includes(operationId)) assert.ok(accepted > 0, operationId);
    if (!hasInput) continue;
    const invalid = valid.chain(spoilt).filter((input) => !operation.takes(JSON.parse(JSON.stringify(input))));
    if (operation.method === 'get') continue;
    await fc.assert(
      fc.asyncProperty(invalid, async (input) => {
        const { status, mediaType, body } = await send(server, operation, input);
        operation.assertAnswer(status, mediaType, body);
        // What is wrong as it is may be right as the text that a form makes of it.
        const isRefused = status >= 400 || isForm(operation);
        assert.ok(isRefused && status < 500, `${operationId}: ${status} for ${JSON.stringify(input)}`);
      }),
      { numRuns: runs(250) },
    );
  }
  assert.deepEqual(server.problems(), []);
});

test('the answers to good credentials are as documented too', async (t) => {
  const server = await startWhole(t);
  const operations = operationsOf(await documentOf(server));
  const assertAnswer = (path: string, { status, body }: { status: number; body: unknown }) => {
    assert.equal(status, 200);
    operations.find((operation) => operation.path === path)?.assertAnswer(200, 'application/json', body);
  };
  const exchanged = await exchangeKey(server, 'operator');
  assertAnswer(TOKEN_PATHS.token, exchanged);
  const { access_token: token, refresh_token } = exchanged.body;
  assertAnswer(TOKEN_PATHS.token, await askToken(server, { grant_type: 'refresh_token', refresh_token }));
  assertAnswer(TOKEN_PATHS.revoke, await post(server, TOKEN_PATHS.revoke, { token }));
  const { body } = await server.request<Json>(CONSOLE_PATHS.code, { method: 'POST', key: 'operator' });
  const redeemed = await server.request(CONSOLE_PATHS.session, { method: 'POST', body: { code: body.code } });
  assertAnswer(CONSOLE_PATHS.session, redeemed);
});
