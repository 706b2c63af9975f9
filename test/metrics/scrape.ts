import { type IncomingMessage, ServerResponse } from 'node:http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createTelemetry, type Telemetry } from '../../src/otel/telemetry.ts';

/** A real SDK with the real Prometheus exporter, asked without a socket. */
export function createPrometheus() {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  return { provider, scrape: () => scrape(exporter) };
}

/** Telemetry for a whole service whose metrics a test scrapes. */
export function createMeasuredTelemetry() {
  const { provider, scrape } = createPrometheus();
  const meter = provider.getMeter('rdcp');
  const telemetry: Telemetry = {
    ...createTelemetry(),
    get meter() {
      return meter;
    },
  };
  return { telemetry, scrape };
}

/** What the exporter would answer to Prometheus. */
export function scrape(exporter: PrometheusExporter): Promise<string> {
  return new Promise((resolve) => {
    // The exporter reads nothing of the request.
    const request = { method: 'GET' } as IncomingMessage;
    const response = new ServerResponse(request);
    response.end = (text?: unknown) => {
      resolve(String(text));
      return response;
    };
    exporter.getMetricsRequestHandler(request, response);
  });
}

/** The samples of one metric, by the value of a label. */
export function samples(text: string, metric: string, label: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const match = /^(\w+)\{(.*)\} (\S+)/.exec(line);
    const value = match?.[1] === metric ? new RegExp(`\\b${label}="([^"]*)"`).exec(match[2] ?? '')?.[1] : undefined;
    if (value !== undefined) found[value] = Number(match?.[3]);
  }
  return found;
}
