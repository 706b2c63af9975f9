import { expectAt, expectOk } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, isObject, type JsonObject, show, skip } from '../expectation.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { capability, needCapability } from '../subject.ts';
import { BOOLEAN, NUMBER, oneOf, TIMESTAMP } from '../value-types.ts';

const UNIT = oneOf('percent', 'bytes', 'per_second', 'count', 'milliseconds');

const metrics = evidence(async (session) => {
  const answer = await session.get(PATHS.metrics);
  if (answer.status === 404) skip('the server has no metrics endpoint');
  return answer;
});

/** Every metric representation in the body, wherever it stands: the shape around them is not specified. */
export function findMetrics(body: unknown): readonly JsonObject[] {
  if (Array.isArray(body)) return body.flatMap(findMetrics);
  if (!isObject(body)) return [];
  return 'value' in body || 'measured' in body ? [body] : Object.values(body).flatMap(findMetrics);
}

async function everyMetric(session: Session): Promise<readonly JsonObject[]> {
  const found = findMetrics((await metrics(session)).body);
  if (found.length === 0) skip('the metrics endpoint reports no metric');
  return found;
}

function eachMetric(rule: (metric: JsonObject) => void): Row[3] {
  return async (session) => (await everyMetric(session)).forEach(rule);
}

export const metricsChecks = [
  ...section(1, 'Metric representation', [
    ['L1-METR-01', 'MUST', 'value is a number', eachMetric((metric) => expectAt(metric, 'value', NUMBER))],
    ['L1-METR-02', 'MUST', 'unit is a standard unit', eachMetric((metric) => expectAt(metric, 'unit', UNIT))],
    ['L1-METR-03', 'MUST', 'measured is a boolean', eachMetric((metric) => expectAt(metric, 'measured', BOOLEAN))],
    [
      'L1-METR-04',
      'MUST',
      'timestamp is UTC with milliseconds and Z',
      eachMetric((metric) => expectAt(metric, 'timestamp', TIMESTAMP)),
    ],
    [
      'L1-METR-05',
      'MUST',
      'An answer with metrics that are not measured says that they are estimated',
      async (s) => {
        if ((await everyMetric(s)).every(({ measured }) => measured === true)) skip('all metrics are measured');
        const { text } = await metrics(s);
        expect(/estimat|placeholder|approximat/i.test(text), 'a word on estimates in the answer', text.slice(0, 200));
      },
    ],
  ]),
  ...section(1, 'GET /rdcp/v1/metrics', [
    [
      'L1-METR-06',
      'MUST',
      'The metrics body carries protocol rdcp/1.0',
      async (s) => expectAt(expectOk(await metrics(s)), 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-METR-07',
      'MUST',
      'A counter is not negative',
      eachMetric((metric) => {
        if (metric.unit !== 'count' && metric.unit !== 'per_second') return;
        expect(Number(metric.value) >= 0, 'a count or rate from 0 up', show(metric));
      }),
    ],
  ]),
  ...section(2, 'GET /rdcp/v1/metrics', [
    [
      'L2-METR-01',
      'SHOULD',
      'A server that advertises performance metrics serves them',
      async (s) => {
        await needCapability(s, 'performanceMetrics');
        expectOk(await s.get(PATHS.metrics));
      },
    ],
    [
      'L2-METR-02',
      'MUST',
      'The metrics endpoint reports at least one metric',
      async (s) => {
        await needCapability(s, 'performanceMetrics');
        const found = findMetrics(expectOk(await metrics(s)));
        expect(found.length > 0, 'a metric representation', 'none');
      },
    ],
  ]),
  ...section(3, 'Metric representation', [
    [
      'L3-METR-01',
      'MUST',
      'Every metric is measured, none is estimated',
      async (s) => {
        if (!(await capability(s, 'performanceMetrics'))) skip('the server does not advertise performanceMetrics');
        const estimated = (await everyMetric(s)).find(({ measured }) => measured !== true);
        expect(estimated === undefined, 'measured true', show(estimated));
      },
    ],
  ]),
];
