import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { portOf } from '../support/listening.ts';

/** The parts of OTLP/JSON that tests look at. */
interface ExportedLogs {
  readonly resourceLogs?: readonly {
    readonly scopeLogs?: readonly {
      readonly scope?: { readonly name?: string; readonly version?: string };
      readonly schemaUrl?: string;
      readonly logRecords?: readonly {
        readonly timeUnixNano?: string;
        readonly traceId?: string;
        readonly body?: Attribute['value'];
        readonly eventName?: string;
        readonly severityNumber?: number;
        readonly attributes?: readonly Attribute[];
      }[];
    }[];
  }[];
}

interface ExportedSpans {
  readonly resourceSpans?: readonly {
    readonly scopeSpans?: readonly { readonly spans?: readonly { readonly name: string }[] }[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

export interface ReceivedRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly traceId: string | undefined;
  readonly body: string | undefined;
  readonly scope: { readonly name?: string; readonly version?: string; readonly schemaUrl?: string | undefined };
  readonly eventName: string | undefined;
  readonly severityNumber: number | undefined;
  readonly attributes: Record<string, string | number | undefined>;
}

/** A collector that keeps the log records and spans that it receives over OTLP/HTTP, and takes its time to answer. */
export async function openReceiver(t: TestContext, { delayMs = 0 } = {}) {
  const records: ReceivedRecord[] = [];
  const spans: string[] = [];
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    paths.push(request.url ?? '');
    if (request.url === '/v1/logs') records.push(...recordsOf(JSON.parse(body) as ExportedLogs));
    if (request.url === '/v1/traces') spans.push(...spanNamesOf(JSON.parse(body) as ExportedSpans));
    if (delayMs > 0) await sleep(delayMs);
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  const url = `http://127.0.0.1:${await portOf(t, server)}`;
  return {
    /** Every path that something was sent to. */
    paths,
    /** The names of the spans, in the order of arrival. */
    spans: () => spans,
    records: () => records,
    /** How many records of a severity have arrived. */
    ofSeverity: (severity: number) => records.filter(({ severityNumber }) => severityNumber === severity).length,
    /** The action of every audit record, in the order of arrival; a checkpoint by its event's name. */
    audit: () =>
      records
        .filter(({ eventName }) => eventName?.startsWith('rdcp.audit'))
        .map(({ eventName, attributes }) => attributes['rdcp.action'] ?? eventName),
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      // So that nothing arrives unless it is flushed.
      OTEL_BLRP_SCHEDULE_DELAY: '600000',
      OTEL_METRIC_EXPORT_INTERVAL: '600000',
    },
  };
}

function spanNamesOf({ resourceSpans = [] }: ExportedSpans): string[] {
  return resourceSpans
    .flatMap(({ scopeSpans = [] }) => scopeSpans)
    .flatMap(({ spans = [] }) => spans)
    .map(({ name }) => name);
}

function recordsOf({ resourceLogs = [] }: ExportedLogs): ReceivedRecord[] {
  return resourceLogs
    .flatMap(({ scopeLogs = [] }) => scopeLogs)
    .flatMap(({ logRecords = [], scope, schemaUrl }) => logRecords.map((record) => ({ ...record, scope, schemaUrl })))
    .map(({ eventName, severityNumber, timeUnixNano, traceId, body, scope, schemaUrl, attributes = [] }) => ({
      time: Math.round(Number(timeUnixNano) / 1_000_000),
      traceId,
      body: body?.stringValue,
      scope: { ...scope, schemaUrl },
      eventName,
      severityNumber,
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [key, value.stringValue ?? (value.intValue && Number(value.intValue))]),
      ),
    }));
}
