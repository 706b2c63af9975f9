// What the public types promise. Compiled by `npm run check` against the declarations of the build, and never run.

import { expectTypeOf } from 'expect-type';
import {
  type Category,
  createRdcp,
  debugLane,
  type ErrorCode,
  isRdcpError,
  type LogProcessor,
  type Rdcp,
  type RdcpConfig,
  type RdcpError,
  RdcpInstrumentation,
  type Scope,
  type StateStore,
} from 'opentelemetry-instrumentation-rdcp';
import { category, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';
import {
  type AuditEntry,
  type ControlAction,
  type ControlResponse,
  createRdcpClient,
  type RdcpClient,
  type RdcpResponseError,
  SCOPES,
} from 'opentelemetry-instrumentation-rdcp/client';
import { createPostgresStore } from 'opentelemetry-instrumentation-rdcp/postgres';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
import { Pool } from 'pg';

// A category: the function is called with what it returns, and a promise of attributes is refused.
expectTypeOf(category).parameter(0).toBeString();
expectTypeOf(category).returns.toEqualTypeOf<Category>();
expectTypeOf(category('A').enabled).toBeBoolean();
expectTypeOf(category('A').debug('m', { any: new Date(), nested: { error: new Error() } })).toBeVoid();
expectTypeOf(category('A').debug('m', () => ({ plan: [1] }))).toBeVoid();
interface Order {
  readonly placed: Date;
}
expectTypeOf(category('A').debug('m', { placed: new Date() } as Order)).toBeVoid();
expectTypeOf(category('A').span('work', () => 1)).toBeNumber();
expectTypeOf(category('A').span('work', async () => 'a')).resolves.toBeString();
expectTypeOf(runWithTenant('acme', () => [1])).toEqualTypeOf<number[]>();
// @ts-expect-error attributes are needed at once
category('A').debug('m', async () => ({}));
// @ts-expect-error a function with a parameter would never get it
category('A').debug('m', (value: string) => ({ value }));

// A remote control takes every option or none, and no other.
expectTypeOf(createRdcp).parameter(0).toEqualTypeOf<RdcpConfig | undefined>();
expectTypeOf(createRdcp).returns.toEqualTypeOf<Rdcp>();
expectTypeOf(createRdcp).toBeCallableWith();
expectTypeOf<Awaited<ReturnType<Rdcp['listen']>>['url']>().toBeString();
expectTypeOf<RdcpConfig['store']>().extract<object>().toEqualTypeOf<StateStore>();
// @ts-expect-error an unknown option is an error
createRdcp({ sever: {} });
// @ts-expect-error a group has no other option either
createRdcp({ server: { prot: 1 } });
// @ts-expect-error there is no such scope
createRdcp({ security: { apiKeys: [{ id: 'k', hash: 'h', clientId: 'c', scopes: ['root'] }] } });

expectTypeOf(new RdcpInstrumentation({ enabled: false, server: false }).rdcp).toEqualTypeOf<Rdcp>();
expectTypeOf(debugLane).returns.toEqualTypeOf<LogProcessor>();

// Values of the protocol are literals, so that a switch over them is checked.
expectTypeOf<Scope>().toEqualTypeOf<'discovery' | 'status' | 'control' | 'tail' | 'alerts' | 'admin'>();
expectTypeOf(SCOPES[0]).toEqualTypeOf<'discovery'>();
expectTypeOf<ControlAction>().toEqualTypeOf<'enable' | 'disable' | 'toggle' | 'reset' | 'status'>();

// An error is known by its code.
const caught: unknown = undefined;
if (isRdcpError(caught)) expectTypeOf(caught).toEqualTypeOf<RdcpError>();
expectTypeOf<RdcpError['code']>().toEqualTypeOf<ErrorCode>();
expectTypeOf<'RDCP_CONFIG_INVALID'>().toExtend<ErrorCode>();
expectTypeOf<RdcpResponseError>().toExtend<RdcpError>();

// The client answers with what the endpoint sends.
const client = createRdcpClient({ baseUrl: 'http://127.0.0.1:9465', apiKey: 'k' });
expectTypeOf(client).toEqualTypeOf<RdcpClient>();
expectTypeOf(client.enable).returns.resolves.toEqualTypeOf<ControlResponse>();
expectTypeOf(client.enable).toBeCallableWith(['A', 'B'], { duration: '15m', reason: 'why' });
expectTypeOf(client.auditEntries()).toEqualTypeOf<AsyncGenerator<AuditEntry, void, undefined>>();
// @ts-expect-error the address is needed
createRdcpClient({});

// A store is made of either a URL or a client.
expectTypeOf(createRedisStore({ url: 'redis://127.0.0.1' })).toEqualTypeOf<StateStore>();
// @ts-expect-error neither
createRedisStore({ prefix: 'shop:' });
// And of either a URL or a pool.
expectTypeOf(createPostgresStore({ url: 'postgres://127.0.0.1' })).toEqualTypeOf<StateStore>();
expectTypeOf(createPostgresStore({ pool: new Pool(), schema: 'shop' })).toEqualTypeOf<StateStore>();
// @ts-expect-error neither
createPostgresStore({ schema: 'shop' });
