import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/built.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly items?: readonly unknown[] };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** TypeScript's language server (LSP), as an editor talks to it. */
export interface LanguageServer {
  /** The text that the editor shows when the pointer rests on a place, lines and characters counted from 0. */
  hover(file: string, line: number, character: number): Promise<string>;
  close(): Promise<void>;
}

/** Starts the server for a folder. */
export async function startLanguageServer(folder: string): Promise<LanguageServer> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const child = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { cwd: folder });
  const connection = connect(child);
  const rootUri = pathToFileURL(folder).href;
  await connection.request('initialize', {
    processId: process.pid,
    rootUri,
    capabilities: { textDocument: { hover: { contentFormat: ['markdown'] } } },
    workspaceFolders: [{ uri: rootUri, name: 'consumer' }],
  });
  connection.send({ method: 'initialized', params: {} });
  const opened = new Set<string>();
  return {
    async hover(file, line, character) {
      const uri = pathToFileURL(file).href;
      if (!opened.has(uri)) {
        opened.add(uri);
        const textDocument = { uri, languageId: 'typescript', version: 1, text: readFileSync(file, 'utf8') };
        connection.send({ method: 'textDocument/didOpen', params: { textDocument } });
      }
      const position = { line, character };
      const shown = await connection.request('textDocument/hover', { textDocument: { uri }, position });
      return (shown as { contents?: { value?: string } } | null)?.contents?.value ?? '';
    },
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    },
  };
}

function connect(child: ChildProcessWithoutNullStreams) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let received = Buffer.alloc(0);

  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const take = ({ id, method, params, result, error }: Message) => {
    // The server asks for settings, and for nothing that an editor without any could not answer.
    if (method !== undefined) {
      if (id !== undefined) send({ id, result: params?.items?.map(() => null) ?? null });
      return;
    }
    const request = waiting.get(id ?? 0);
    if (error === undefined) request?.resolve(result);
    else request?.reject(new Error(error.message));
  };
  child.stdout.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const [header, length] = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/i.exec(received.toString('latin1')) ?? [];
      const end = (header?.length ?? 0) + Number(length);
      if (header === undefined || received.length < end) return;
      const message = received.subarray(header.length, end).toString();
      received = received.subarray(end);
      take(JSON.parse(message));
    }
  });
  child.stderr.resume();
  child.once('exit', (code) => {
    for (const request of waiting.values()) request.reject(new Error(`the language server ended with ${code}`));
  });
  return {
    send,
    request(method: string, params: unknown): Promise<unknown> {
      lastId += 1;
      const request = Promise.withResolvers<unknown>();
      waiting.set(lastId, request);
      send({ id: lastId, method, params });
      return request.promise;
    },
  };
}
