import { connect, type Socket } from 'node:net';
import { parseAnswer, type RawAnswer } from './raw-http.ts';

interface Waiting {
  readonly request: string;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection that is kept for one request after the other, as text. It costs a fraction of what `node:http` does, which
 * counts where a test makes many thousands of them. Answers have a `Content-Length`, as this server's all do.
 */
export class KeptConnection {
  readonly #url: URL;
  #socket: Socket | undefined;
  /** Whether the socket has brought an answer already. */
  #used = false;
  #received = '';
  #waiting: Waiting | undefined;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** Sends a whole request and reads its answer. One at a time. */
  exchange(request: string): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { request, resolve, reject };
      this.#socket ??= this.#open();
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    this.#used = false;
    this.#received = '';
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('data', (chunk) => this.#take(String(chunk)));
    // Whatever went wrong, the connection is closed next.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#closed(socket));
    return socket;
  }

  /** A server may close a connection that it has kept long enough just when the next request comes (RFC 9112, 9.3.1). */
  #closed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (this.#used && this.#received === '') {
      this.#socket = this.#open();
      this.#socket.write(waiting.request);
    } else waiting.reject(new Error('the connection ended without an answer'));
  }

  #take(chunk: string): void {
    this.#received += chunk;
    const head = this.#received.indexOf('\r\n\r\n');
    const waiting = this.#waiting;
    if (head === -1 || waiting === undefined) return;
    const bodiless = waiting.request.startsWith('HEAD ');
    const length = bodiless ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1]);
    if (this.#received.length < head + 4 + length) return;
    const answer = parseAnswer(this.#received);
    this.#received = '';
    this.#used = true;
    this.#waiting = undefined;
    if (answer?.headers.get('connection') === 'close') {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    if (answer === undefined) waiting.reject(new Error('the answer is none'));
    else waiting.resolve(answer);
  }
}
