import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const PATH = '/metrics';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** An exporter that answers requests but opens no port. */
interface MetricsHandler {
  getMetricsRequestHandler(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * Opens the port for Prometheus, and gives the address to scrape. The exporter's own server would keep the process alive
 * for as long as a scraper holds its connection open, and cannot let the system choose a port.
 */
export function servePrometheus(exporter: MetricsHandler, { host, port }: Address): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url?.split('?', 1)[0] === PATH) exporter.getMetricsRequestHandler(request, response);
    else response.writeHead(404).end();
  });
  server.on('connection', (socket) => socket.unref());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve(metricsUrl({ host, port: typeof address === 'object' && address !== null ? address.port : port }));
    });
    server.unref();
  });
}

export function metricsUrl({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${PATH}`;
}
