import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import {
  createServer,
  get,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { ListenOptions } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { followCluster } from '../../control/cluster/following.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { createHostCheck, hostNameOf } from '../../wire/net/hosts.ts';
import { unrefTimeout } from '../../wire/time/clock.ts';

const PATH = '/metrics';

interface Address {
  readonly host: string;
  readonly port: number;
}

export type ServedMetrics = ReturnType<typeof servePrometheus>;

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** Longest wait of a scrape for another process of the cluster, in milliseconds. */
const PATIENCE_MS = 1000;

const FOREIGN_HOST = 'This host name is not allowed: add it to server.allowedHosts if scrapers should use it\n';

/** The socket of each process, in the folder of its cluster. */
const SOCKET = /^metrics-(\d+)\.sock$/;
/** Windows has named pipes, which are in no folder: an empty file stands for each. */
const IS_WINDOWS = process.platform === 'win32';

/**
 * Opens the port for Prometheus. The exporter's own server is not used: it keeps the process alive while a scraper is
 * connected, and cannot let the system choose a port.
 *
 * In a cluster one process has the port, or the workers share it. A scrape returns the metrics of all processes: each one
 * listens on a socket in the cluster's folder, where the others fetch its metrics.
 */
export function servePrometheus(
  exporter: { getMetricsRequestHandler(request: IncomingMessage, response: ServerResponse): void },
  { host, port, allowedHosts }: Address & { readonly allowedHosts: readonly string[] },
) {
  const serves = createHostCheck({ host, allowedHosts });
  const answerAlone: RequestListener = (request, response) => exporter.getMetricsRequestHandler(request, response);
  const cluster = followCluster({ failed: () => {}, delay: unrefTimeout });
  let removeSocket = () => {};
  cluster.onJoined(() => void answerOthers().catch(notAnswering));

  async function answerOthers(): Promise<void> {
    const { folder } = cluster;
    if (folder === undefined) return;
    const name = `metrics-${process.pid}.sock`;
    removeSocket = () => rmSync(join(folder.path, name), { force: true });
    // That of a process that was killed, and had the same id.
    removeSocket();
    await listening(answerAlone, { path: socketOf(folder.path, name), exclusive: true });
    if (IS_WINDOWS) folder.put(name);
  }

  async function answerForAll(folder: string, response: ServerResponse): Promise<void> {
    const texts = await Promise.all(
      readdirSync(folder).map(async (name) => {
        const pid = SOCKET.exec(name)?.[1];
        return [Number(pid), pid === undefined ? '' : await ask(socketOf(folder, name)).catch(() => '')] as const;
      }),
    );
    response.writeHead(200, { 'Content-Type': CONTENT_TYPE }).end(mergeExpositions(new Map(texts)));
  }

  const answer: RequestListener = (request, response) => {
    if (!isForUs(request, serves)) response.writeHead(403, { 'Content-Type': 'text/plain' }).end(FOREIGN_HOST);
    else if (request.url?.split('?', 1)[0] !== PATH) response.writeHead(404).end();
    else if (cluster.folder === undefined) answerAlone(request, response);
    else answerForAll(cluster.folder.path, response).catch(() => response.writeHead(500).end());
  };

  const own = answerOthers().catch(notAnswering);
  const served = cluster.listen('metrics', `${host}:${port}`, async () => {
    await own;
    const address = await listening(answer, { host, port });
    return { url: metricsUrl({ host, port: typeof address === 'object' && address !== null ? address.port : port }) };
  });
  return {
    /** The address to scrape; rejects if the port cannot be opened. */
    listening: served,
    leave(): void {
      removeSocket();
      cluster.close();
    },
  };
}

/** The host check of the control endpoint. HTTP/1.0 has no `Host` and is allowed: the check is about browsers, which do not use it. */
function isForUs(
  { headers, httpVersion, socket }: IncomingMessage,
  serves: ReturnType<typeof createHostCheck>,
): boolean {
  if (headers.host === undefined) return httpVersion === '1.0';
  const name = hostNameOf(headers.host);
  return name !== undefined && serves(name, socket);
}

/** A scrape then returns the metrics of the other processes only. */
function notAnswering(error: unknown): void {
  diagnostics.error('rdcp: scrapes of the cluster lack the metrics of this process', error);
}

/** Starts a server. Neither it nor its connections keep the process alive. */
function listening(answer: RequestListener, options: ListenOptions): Promise<ReturnType<Server['address']>> {
  const server = createServer(answer);
  server.on('connection', (socket) => socket.unref());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => resolve(server.address()));
    server.unref();
  });
}

function socketOf(folder: string, name: string): string {
  return IS_WINDOWS ? `\\\\.\\pipe\\${folder}\\${name}` : join(folder, name);
}

async function ask(socketPath: string): Promise<string> {
  const request = get({ socketPath, path: PATH, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return text(response);
}

export function metricsUrl({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${PATH}`;
}

interface Family {
  readonly comments: readonly string[];
  readonly samples: string[];
}

const PROCESS_LABEL = 'process_pid';

/**
 * Merges the metrics of several processes, in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * Each sample gets the label `process_pid`, unless it has one.
 */
export function mergeExpositions(texts: ReadonlyMap<number, string>): string {
  const families = new Map<string, Family>();
  for (const [pid, text] of texts) {
    let comments: string[] = [];
    let family: Family | undefined;
    for (const line of text.split('\n')) {
      if (line.startsWith('#')) {
        comments.push(line);
        family = undefined;
      } else if (line !== '') {
        family ??= familyOf(families, comments, line);
        family.samples.push(labelled(line, pid));
        comments = [];
      }
    }
  }
  return [...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples, '']).join('\n');
}

/** The format requires the lines of a metric to be one group, which starts with its comments: `# HELP name …`. */
function familyOf(families: Map<string, Family>, comments: readonly string[], sample: string): Family {
  const name = comments.length > 0 ? comments[0]?.split(' ', 3)[2] : sample.split(/[{ ]/, 1)[0];
  const known = families.get(name ?? '');
  if (known !== undefined) return known;
  const family = { comments, samples: [] };
  families.set(name ?? '', family);
  return family;
}

function labelled(sample: string, pid: number): string {
  const name = /^[^{ ]+/.exec(sample)?.[0] ?? '';
  const rest = sample.slice(name.length);
  const label = `${PROCESS_LABEL}="${pid}"`;
  if (!rest.startsWith('{')) return `${name}{${label}}${rest}`;
  if (new RegExp(`[{,]${PROCESS_LABEL}="`).test(rest)) return sample;
  return `${name}{${label}${rest.startsWith('{}') ? '' : ','}${rest.slice(1)}`;
}
