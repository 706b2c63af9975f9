import { isObject } from '../src/expectation.ts';
import { PATHS } from '../src/session.ts';
import { type Breakage, breaks, range } from './breakage.ts';
import { answering, changing, put, rewriting, status } from './fault-kinds.ts';
import { jsonReply } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { lacksKey, to } from './request-matchers.ts';

/** Categories that discovery lists with a custom one among them. */
const categories = (value: unknown) =>
  rewriting('discovery', (body) => (isObject(body) ? { ...body, categories: value } : body));
const CATEGORY = {
  name: 'HTTP_REQUESTS',
  description: '',
  enabled: false,
  temporary: false,
  metrics: { callsTotal: 0, callsPerSecond: 0 },
};

/** Faults of the well-known document. */
export const wellKnownFaults: readonly Breakage[] = [
  breaks('L1-WELL-01', status('wellKnown', 201)),
  breaks('L1-WELL-02', put('wellKnown', 'protocol', 'rdcp/1.1')),
  breaks('L1-WELL-03 L1-WELL-07', put('wellKnown', 'endpoints.discovery', 'discovery')),
  breaks('L1-WELL-04', put('wellKnown', 'endpoints.control', undefined)),
  breaks('L1-WELL-05', put('wellKnown', 'endpoints.status', 7)),
  breaks('L1-WELL-06', put('wellKnown', 'endpoints.health', null)),
  breaks('L1-WELL-07', put('wellKnown', 'endpoints.health', '/health')),
  breaks(`${range('L1-WELL-', 8, 9)}`, put('wellKnown', 'capabilities{}', 'yes')),
  breaks(`${range('L1-WELL-', 10, 11)}`, put('wellKnown', 'capabilities', undefined)),
  breaks('L1-WELL-12', put('wellKnown', 'security.level', 'medium')),
  breaks('L1-WELL-13', put('wellKnown', 'security.methods', ['api-key', 'password'])),
  breaks('L1-WELL-14 L1-AUTH-01', put('wellKnown', 'security.scopes', ['discovery', 'status', 'control', 'root'])),
  breaks('L1-WELL-15', put('wellKnown', 'security.required', 'true')),
  breaks('L1-WELL-16', put('wellKnown', 'security.keyRotation', undefined)),
  breaks('L1-WELL-17', put('wellKnown', 'security.tokenRefresh', 0)),
  breaks(
    'L1-WELL-18',
    answering((request) => to(PATHS.wellKnown)(request) && lacksKey(request), jsonReply(401, {})),
  ),
  breaks('L1-AUTH-02 L1-AUTH-22', put('wellKnown', 'security.methods', ['bearer'])),
  breaks('L1-EXT-01', put('wellKnown', 'security.extra', true)),
];

/** Faults of what is read. */
export const readingFaults: readonly Breakage[] = [
  breaks('L1-DISC-01 L1-AUTH-18', status('discovery', 500)),
  breaks('L1-DISC-02', put('discovery', 'protocol', undefined)),
  breaks('L1-DISC-03', put('discovery', 'timestamp', '2026-01-31T00:00:00Z')),
  breaks('L1-DISC-03', put('discovery', 'timestamp', '2026-02-30T00:00:00.000Z')),
  breaks('L1-DISC-04', put('discovery', 'timestamp', '2020-01-31T00:00:00.000Z')),
  breaks('L1-DISC-05', categories({})),
  breaks('L1-DISC-06', put('discovery', 'performance.totalCalls', -1)),
  breaks('L1-DISC-07', put('discovery', 'performance.callsPerSecond', '0')),
  breaks('L1-DISC-08 L1-DISC-10', put('discovery', 'performance.categoryBreakdown', { 'a b': 1 })),
  breaks('L1-DISC-09', put('discovery', 'performance.categoryBreakdown{}', null)),
  breaks('L1-CAT-01', categories([{ ...CATEGORY, name: 'http' }])),
  breaks('L1-CAT-02', put('discovery', 'categories[].description', undefined)),
  breaks('L1-CAT-03', put('discovery', 'categories[].enabled', 'no')),
  breaks('L1-CAT-04', put('discovery', 'categories[].temporary', null)),
  breaks('L1-CAT-05', put('discovery', 'categories[].metrics.callsTotal', -3)),
  breaks('L1-CAT-06', put('discovery', 'categories[].metrics', undefined)),
  breaks('L1-CAT-07', categories([CATEGORY, CATEGORY])),
  breaks('L1-EXT-02', put('discovery', 'categories[].level', 'info')),
  breaks('L1-EXT-03', categories([{ ...CATEGORY, name: 'X-BARE' }])),
  breaks(
    'L1-STAT-01',
    changing('status', (reply) => ({ ...reply, body: Buffer.from('up') })),
  ),
  breaks('L1-STAT-02', put('status', 'protocol', 'RDCP/1.0')),
  breaks('L1-STAT-03', put('status', 'timestamp', 1_700_000_000)),
  breaks('L1-STAT-04', put('status', 'enabled', undefined)),
  breaks('L1-STAT-05', put('status', 'categories', { 'not a name': true })),
  breaks('L1-STAT-06', put('status', 'categories{}', 'on')),
  breaks('L1-STAT-07', put('status', 'performance.totalCalls', '12')),
  breaks('L1-STAT-08', put('status', 'performance.callsPerSecond', undefined)),
  breaks('L1-STAT-09', put('status', 'performance.categoryBreakdown', {})),
  breaks('L1-STAT-10', put('status', 'categories.LEGACY', false)),
  breaks('L1-STAT-11', put('status', 'categories{}', true)),
  breaks('L1-EXT-04', put('status', 'uptime', 7)),
  breaks('L1-HEAL-01', status('health', 404)),
  breaks('L1-HEAL-02', put('health', 'protocol', 1)),
  breaks('L1-HEAL-03', put('health', 'timestamp', '2026-01-31T01:00:00.000+01:00')),
  breaks('L1-HEAL-04', put('health', 'status', '')),
  breaks('L1-HEAL-05', put('health', 'checks', 'all pass')),
  breaks('L1-HEAL-06', put('health', 'status', 'unhealthy')),
  breaks('L1-HREC-01', put('health', 'checks[].name', undefined)),
  breaks('L1-HREC-02', put('health', 'checks[].status', true)),
  breaks('L1-HREC-03', put('health', 'checks[].duration', 12)),
  breaks('L1-EXT-05', put('health', 'checks[].output', 'ok')),
  breaks(`L1-METR-01`, put('metrics', 'calls.value', '0')),
  breaks(`L1-METR-02`, put('metrics', 'calls.unit', 'calls')),
  breaks(`L1-METR-03`, put('metrics', 'calls.measured', undefined)),
  breaks(`L1-METR-04`, put('metrics', 'calls.timestamp', 'now')),
  breaks(`L1-METR-05`, put('metrics', 'ref_note', undefined)),
  breaks(`L1-METR-06`, put('metrics', 'protocol', undefined)),
  breaks(`L1-METR-07`, put('metrics', 'calls.value', -1)),
  breaks('L1-AUDT-01', put('audit', 'protocol', undefined)),
  breaks('L1-AUDT-02', put('audit', 'log[].at', 'today')),
  breaks('L1-AUDT-03', put('audit', 'log[].what', 'change')),
  breaks('L1-AUDT-04', put('audit', 'log[].user', undefined)),
  breaks('L1-AUDT-05', put('audit', 'log[].credential', KEYS.main)),
];
