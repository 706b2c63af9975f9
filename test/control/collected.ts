import type { TestContext } from 'node:test';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse } from '../../src/wire/messages.ts';
import { send as ask, RECORDS, type TestRequest } from '../support/server.ts';
import { startService } from '../support/service.ts';

/** A service with one category, whose lines and notices are collected. */
export async function startCollected(
  t: TestContext,
  name: string,
  { keys = [], ...config }: Omit<RdcpConfig, 'security'> & { readonly keys?: readonly ApiKeyRecord[] } = {},
) {
  const { rdcp, url, ...written } = await startService(t, { ...config, security: { apiKeys: [...RECORDS, ...keys] } });
  const request = <Body>(path: string, options: TestRequest = {}) =>
    ask<Body>(url + path, { key: 'admin', ...options });
  const control = async <Body = ControlResponse>(action: string, options: object = {}, rest: TestRequest = {}) =>
    request<Body>(PATHS.control, { method: 'POST', body: { action, categories: name, options }, ...rest });
  const discovered = async (rest: TestRequest = {}) => (await request<DiscoveryResponse>(PATHS.discovery, rest)).body;
  /** What discovery says of a category, by default that of the service. */
  const shown = async (rest: TestRequest = {}, of = name) =>
    (await discovered(rest)).categories.find((each) => each.name === of);
  return {
    rdcp,
    category: rdcp.category(name),
    lines: written.records,
    notices: written.infos,
    request,
    control,
    discovered,
    shown,
  };
}
