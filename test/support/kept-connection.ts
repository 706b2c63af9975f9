import { connect, type Socket } from 'node:net';
import { parseAnswer, type RawAnswer } from './raw-http.ts';

/**
 * A connection that is kept for one request after the other, as text. It costs a fraction of what `node:http` does, which
 * counts where a test makes a hundred thousand of them. Answers have a `Content-Length`, as this server's all do.
 */
export class KeptConnection {
  readonly #url: URL;
  #socket: Socket | undefined;
  #received = '';
  #waiting:
    | {
        readonly bodiless: boolean;
        readonly resolve: (answer: RawAnswer) => void;
        readonly reject: (error: Error) => void;
      }
    | undefined;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** Sends a whole request and reads its answer. One at a time. */
  exchange(request: string): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { bodiless: request.startsWith('HEAD '), resolve, reject };
      this.#open().write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('data', (chunk) => this.#take(String(chunk)));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => {
      this.#socket = undefined;
      this.#waiting?.reject(new Error('the connection ended without an answer'));
    });
    this.#socket = socket;
    return socket;
  }

  #take(chunk: string): void {
    this.#received += chunk;
    const head = this.#received.indexOf('\r\n\r\n');
    const waiting = this.#waiting;
    if (head === -1 || waiting === undefined) return;
    const length = waiting.bodiless ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1]);
    if (this.#received.length < head + 4 + length) return;
    const answer = parseAnswer(this.#received);
    this.#received = '';
    this.#waiting = undefined;
    if (answer?.headers.get('connection') === 'close') {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    if (answer === undefined) waiting.reject(new Error('the answer is none'));
    else waiting.resolve(answer);
  }
}
