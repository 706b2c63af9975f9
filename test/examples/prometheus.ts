import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/built.ts';
import { until } from '../support/until.ts';
import { start } from './child.ts';

export const FOLDER = join(ROOT, 'examples/observability');

/** One series of an answer: its labels and the newest value. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  query(expr: string): Promise<Sample[]>;
  /** The values of each series, one for every second since `start`. */
  queryRange(expr: string, start: Date): Promise<{ metric: Sample['metric']; values: number[] }[]>;
  labelValues(label: string, selector: string): Promise<string[]>;
  /** The loaded rules, as they were evaluated last. */
  rules(): Promise<{ name: string; type: 'recording' | 'alerting'; health: string }[]>;
  end(): Promise<unknown>;
}

/**
 * A real Prometheus that scrapes one process every second, under the job name `shop`.
 * @param more members of its configuration
 */
export async function startPrometheus(target: string, more: object = {}): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-prometheus-'));
  const config = join(directory, 'prometheus.yml');
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(FOLDER, 'rules/*.yml')],
      scrape_configs: [{ job_name: 'shop', static_configs: [{ targets: [target] }] }],
      ...more,
    }),
  );
  const child = await start(
    'prometheus',
    [`--config.file=${config}`, `--storage.tsdb.path=${join(directory, 'data')}`, '--web.listen-address=127.0.0.1:0'],
    { cwd: directory },
  );
  const end = async () => {
    await child.end();
    rmSync(directory, { recursive: true });
  };
  try {
    const address = await until(
      'Prometheus to be ready',
      () =>
        (/Server is ready/.test(child.output.stderr) || undefined) &&
        /msg="Listening on" address=(\S+)/.exec(child.output.stderr)?.[1],
    );
    const ask = async <T>(path: string, parameters: Record<string, string>): Promise<T> => {
      const response = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(parameters)}`);
      const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
      assert.equal(status, 'success', `${error}: ${JSON.stringify(parameters)}`);
      return data;
    };
    return {
      end,
      async query(expr) {
        type Answer = { result: { metric: Record<string, string>; value: [number, string] }[] };
        const { result } = await ask<Answer>('query', { query: expr });
        return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
      },
      async queryRange(expr, start) {
        type Answer = { result: { metric: Record<string, string>; values: [number, string][] }[] };
        const range = { start: start.toISOString(), end: new Date().toISOString(), step: '1s' };
        const { result } = await ask<Answer>('query_range', { query: expr, ...range });
        return result.map(({ metric, values }) => ({ metric, values: values.map(([, value]) => Number(value)) }));
      },
      async rules() {
        const { groups } = await ask<{ groups: { rules: Awaited<ReturnType<Prometheus['rules']>> }[] }>('rules', {});
        return groups.flatMap((group) => group.rules);
      },
      labelValues: (label, selector) => ask<string[]>(`label/${label}/values`, { 'match[]': selector }),
    };
  } catch (error) {
    await end();
    throw new Error(`Prometheus did not start: ${child.output.stderr}`, { cause: error });
  }
}
