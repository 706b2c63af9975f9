import type { HealthCheckRecord, HealthResponse } from '../../../wire/messages.ts';
import { connection, now } from '../page.ts';
import { Badge, type Tone } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { roughSpan } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { Table } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';

const REFRESH_MS = 5000;

const OF_STATUS: Readonly<Record<HealthResponse['status'], readonly [Tone, string, string]>> = {
  healthy: ['good', 'Healthy', 'Every check passes.'],
  degraded: ['warning', 'Degraded', 'The service works, but some of its parts do not.'],
  unhealthy: ['error', 'Unhealthy', 'A check of the application fails. The endpoint answers 503 to probes.'],
};
const OF_CHECK: Readonly<Record<HealthCheckRecord['status'], Tone>> = { pass: 'good', warn: 'warning', fail: 'error' };
const ORDER: readonly HealthCheckRecord['status'][] = ['fail', 'warn', 'pass'];

export function HealthView() {
  const { value, problem, isLoading, at, refresh } = usePolled((signal) => connection.client.health({ signal }), {
    everyMs: REFRESH_MS,
  });
  if (value === undefined) return problem ? <Notice problem={problem} onRetry={refresh} /> : <Loading what="health" />;
  const [tone, title, text] = OF_STATUS[value.status];
  const checks = value.checks.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  const sinces = checks.flatMap(({ otelrdcp_since: since }) => (since === undefined ? [] : [since]));
  const since = sinces.sort()[0];
  return (
    <div class="stack">
      <header class="bar">
        <h2>
          <Badge tone={tone}>{title}</Badge>
        </h2>
        <p>
          {text}{' '}
          {since !== undefined && (
            <>
              Since <Time at={since} />, {roughSpan(now.value - Date.parse(since))}.
            </>
          )}
        </p>
        <Button busy={isLoading} onClick={refresh}>
          Check now
        </Button>
        <span class="muted">{at !== undefined && <Ago at={at} />}</span>
      </header>
      {problem && <Notice problem={problem} onRetry={refresh} />}
      {checks.length === 0 ? (
        <Empty title="This credential may not see the checks" />
      ) : (
        <Table
          label="Checks"
          items={checks}
          keyOf={({ name }) => name}
          columns={{
            Check: ({ name }) => <Text value={name} />,
            State: ({ status }) => <Badge tone={OF_CHECK[status]}>{status}</Badge>,
            Why: ({ otelrdcp_reason: reason = '' }) => <Text value={reason} most={1000} />,
            'For how long': ({ otelrdcp_since: since }) =>
              since !== undefined && (
                <>
                  since <Time at={since} />
                </>
              ),
            Took: ({ duration }) => duration,
          }}
        />
      )}
      {value.otelrdcp_emit && (
        <p>
          Debug lines: <strong>{value.otelrdcp_emit.to}</strong>, <Text value={value.otelrdcp_emit.reason} most={500} />
        </p>
      )}
    </div>
  );
}
