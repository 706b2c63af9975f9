/** One alert of a notification, as Alertmanager writes it. */
export interface TestAlert {
  readonly status?: 'firing' | 'resolved';
  readonly labels?: Readonly<Record<string, string>>;
  readonly startsAt?: number;
}

/** A notification as Alertmanager 0.25 sends it. */
export function notification(alerts: readonly TestAlert[], changes: object = {}): object {
  const all = alerts.map(({ status = 'firing', labels = {}, startsAt = 0 }) => ({
    status,
    labels: { alertname: 'HighErrorRate', job: 'shop', ...labels },
    annotations: { summary: 'orders fail' },
    startsAt: new Date(startsAt).toISOString(),
    endsAt: status === 'firing' ? '0001-01-01T00:00:00Z' : new Date(startsAt + 60_000).toISOString(),
    generatorURL: 'http://prometheus:9090/graph?g0.expr=errors&g0.tab=1',
    fingerprint: 'c6eadffa33fcdf37',
  }));
  return {
    receiver: 'rdcp',
    status: all.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    alerts: all,
    groupLabels: { alertname: 'HighErrorRate' },
    commonLabels: { alertname: 'HighErrorRate', job: 'shop' },
    commonAnnotations: { summary: 'orders fail' },
    externalURL: 'http://alertmanager:9093',
    version: '4',
    groupKey: '{}:{alertname="HighErrorRate"}',
    truncatedAlerts: 0,
    ...changes,
  };
}
